@testable import ChimeCore

/// What timers hold, and what holds timers: targets, named handlers, limits; timers that release themselves.
extension Scenario {
  static let objects: [Scenario] =
    [Queue.Kind.virtual, .host, .precise, .serial, .concurrent].flatMap { kind in
      [
        Scenario("release of a target beside a tick, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let counted = Counted()
          let target = makeTarget(counted)
          let timer = TimerLog(world, queue) { _ in
            world.expect(counted.ends == 0, "the destructor was called while a callback had the object")
          }
          timer.target = target
          world.add(timer)
          _ = timer.create(millisecond, every: millisecond)
          world.thread("holder") {
            // It does not say whether a callback runs.
            _ = world.call("release of the target") {
              timer.stopping { TimerTarget.release(target) == .ok ? .running : .invalidHandle }
            }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          world.expect(timer.ref?.state == .cancelled, "a timer whose target has gone was not cancelled")
          world.expect(counted.ends == 1, "\(counted.ends) destructors of a target")
        },
        Scenario("create beside release of its target, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let counted = Counted()
          let target = makeTarget(counted)
          let timer = TimerLog(world, queue, nil)
          timer.target = target
          world.add(timer)
          world.thread("creator") {
            let status = world.call("create") { timer.create(millisecond) }
            world.expect(status == .ok || status == .targetGone, "create answered \(status.rawValue)")
          }
          world.thread("holder") { _ = world.call("release of the target") { TimerTarget.release(target) } }
          world.race()
          world.expect(
            !timer.wasCreated || timer.ref?.state == .cancelled || timer.ref?.state == .finished,
            "a timer whose target has gone was not cancelled")
          world.expect(counted.ends == 1, "\(counted.ends) destructors of a target")
        },
        Scenario("a timer that releases itself beside cancel, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let timer = TimerLog(world, queue, nil)
          timer.releasesItself = true
          world.add(timer)
          _ = timer.create(millisecond)
          world.thread("canceller") {
            _ = world.call("cancel") { timer.stopping { timer.ref?.cancel() ?? .invalidHandle } }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
        },
        Scenario("named handlers beside a tick, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let counted = Counted()
          let timer = world.timer(queue, after: millisecond, every: millisecond)
          let context = Context(Unmanaged.passUnretained(counted).toOpaque())
          let handler = TickFunction { _, context in Counted.of(context).calls += 1 }
          let finalizer = ContextFunction { Counted.of($0).ends += 1 }
          var added = 0
          world.thread("adder") {
            for _ in 0..<2 {
              let status = world.call("add_handler") {
                timer.ref?.addHandler("key", handler, context, finalizer) ?? .invalidHandle
              }
              if !status.isFailure { added += 1 }
            }
          }
          world.thread("remover") {
            _ = world.call("remove_handler") { timer.ref?.removeHandler("key") ?? .invalidHandle }
            _ = world.call("release") { timer.stopping { timer.ref?.release() ?? .invalidHandle } }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          queue.end()
          for coroutine in world.scheduler.coroutines where coroutine.isDaemon { world.scheduler.join([coroutine]) }
          world.expect(counted.ends == added, "\(counted.ends) finalizers of \(added) named handlers")
        },
        Scenario("two creators at the limit of timers, \(kind.rawValue)") { world in
          let queue = world.queue(kind, limit: 2)
          let first = world.timer(queue, after: millisecond)
          var made = 0
          for name in ["creator", "second creator"] {
            world.thread(name) {
              let log = TimerLog(world, queue, nil)
              world.add(log)
              let status = world.call("create") { log.create(millisecond) }
              world.expect(status == .ok || status == .limit, "create answered \(status.rawValue)")
              if status == .ok { made += 1 }
            }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          world.expect(made == 1, "\(made) timers were made where there was room for one")
          _ = first
        },
        Scenario("statistics and dump beside the end of the \(kind.rawValue) queue", repeats: false) { world in
          let queue = world.queue(kind)
          let timer = world.timer(queue, after: millisecond)
          world.thread("asker") {
            _ = world.call("statistics") { QueueCore.statistics(queue.id)?.timers }
            _ = world.call("dump") { QueueCore.dump(queue.id)?.count }
          }
          world.thread("ender") {
            _ = world.call("release") { timer.stopping { QueueCore.release(queue.id) } }
            let next = world.call("create") { world.queue(.virtual) }
            world.timer(next, after: millisecond)
          }
          world.race()
        },
      ]
    } + [
      Scenario("sync of two threads beside a handler, precise") { world in sync(world, world.queue(.precise)) },
      Scenario("sync of two threads beside a handler, serial") { world in sync(world, world.queue(.serial)) },
    ]

  private static func makeTarget(_ counted: Counted) -> UInt64 {
    let context = Context(Unmanaged.passUnretained(counted).toOpaque())
    return try! TimerTarget.make(context, ContextFunction { Counted.of($0).ends += 1 }).get()
  }

  /// Two deadlines' time, on whatever thread the queue's callbacks run.
  private static func drive(_ world: World, _ queue: Queue) {
    for i in 1...2 {
      let time = Scheduler.start + Int64(i) * millisecond + 1000
      if queue.kind != .virtual { world.sleep(until: time) }
      _ = world.call("drive") { queue.drive(time) }
    }
  }

  private static func sync(_ world: World, _ queue: Queue) {
    world.timer(queue, after: 1, every: millisecond)
    for timeout in [Int64.max, millisecond] {
      world.thread("syncer") {
        for _ in 0..<2 {
          var ran = false
          let status = world.call("sync") {
            QueueCore.sync(queue.id, timeout: timeout) {
              queue.exclusively { world.scheduler.step("in the function", "", 0) }
              ran = true
            }
          }
          world.expect(ran == (status == .ok), "sync answered \(status.rawValue), its function ran: \(ran)")
        }
      }
    }
    world.race()
  }
}

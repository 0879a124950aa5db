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
          let timer = world.log(queue, target: target) { _ in
            world.expect(counted.ends == 0, "the destructor was called while a callback had the object")
          }
          _ = timer.create(millisecond, every: millisecond)
          // It does not say whether a callback runs.
          world.thread(calls: "release of the target") {
            timer.stopping { TimerTarget.release(target) == .ok ? .running : .invalidHandle }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          world.expect(timer.ref?.state == .cancelled, "a timer whose target has gone was not cancelled")
          world.expect(counted.ends == 1, "\(counted.ends) destructors of a target")
        },
        Scenario("create beside release of its target, \(kind.rawValue)") { world in
          let counted = Counted()
          let target = makeTarget(counted)
          let timer = world.log(world.queue(kind), target: target)
          world.thread("creator") { world.call("create", answers: .ok, .targetGone) { timer.create(millisecond) } }
          world.thread(calls: "release of the target") { TimerTarget.release(target) }
          world.race()
          world.expect(
            !timer.wasCreated || timer.ref?.state == .cancelled || timer.ref?.state == .finished,
            "a timer whose target has gone was not cancelled")
          world.expect(counted.ends == 1, "\(counted.ends) destructors of a target")
        },
        Scenario("a timer that releases itself beside cancel and restart, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let timer = world.log(queue)
          timer.releasesItself = true
          _ = timer.create(millisecond)
          world.thread(calls: "cancel", on: timer) { ref in timer.stopping { ref.cancel() } }
          world.thread(calls: "restart", on: timer) { ref in timer.starting { ref.restart(Schedule(first: 0)) } }
          world.thread("driver") { drive(world, queue) }
        },
        Scenario("named handlers beside a tick, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let counted = Counted()
          let timer = world.timer(queue, after: millisecond, every: millisecond)
          let handler = TickFunction { _, context in Counted.of(context).calls += 1 }
          var added = 0
          world.thread("adder") {
            for _ in 0..<2 {
              let status = world.call("add_handler", on: timer) {
                $0.addHandler("key", handler, counted.context, Counted.end)
              }
              if !status.isFailure { added += 1 }
            }
          }
          world.thread("remover") {
            world.call("remove_handler", on: timer) { $0.removeHandler("key") }
            world.call("release", on: timer) { ref in timer.stopping { ref.release() } }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          queue.end()
          world.joinWorkers()
          world.expect(counted.ends == added, "\(counted.ends) finalizers of \(added) named handlers")
        },
        Scenario("two creators at the limit of timers, \(kind.rawValue)") { world in
          let queue = world.queue(kind, limit: 2)
          world.timer(queue, after: millisecond)
          let timers = [world.log(queue), world.log(queue)]
          for timer in timers {
            world.thread("creator") { world.call("create", answers: .ok, .limit) { timer.create(millisecond) } }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          let made = timers.count(where: \.wasCreated)
          world.expect(made == 1, "\(made) timers were made where there was room for one")
        },
        Scenario("statistics and dump beside the end of the \(kind.rawValue) queue") { world in
          let queue = world.queue(kind)
          let timer = world.timer(queue, after: millisecond)
          world.thread("asker") {
            world.call("statistics") { QueueCore.statistics(queue.id)?.timers }
            world.call("dump") {
              var text = unsafe TextWriter(nil, capacity: 0)
              return QueueCore.dump(queue.id, into: &text)
            }
          }
          world.thread("ender") {
            world.call("release") { timer.stopping { QueueCore.release(queue.id) } }
            let next = world.call("create") { world.queue(.virtual) }
            world.timer(next, after: millisecond)
          }
        },
      ]
    }
    + [Queue.Kind.precise, .serial].map { kind in
      Scenario("sync of two threads beside a handler, \(kind.rawValue)") { world in
        let queue = world.queue(kind)
        world.timer(queue, after: 1, every: millisecond)
        for timeout in [Int64.max, millisecond] {
          world.thread("syncer") { for _ in 0..<2 { queue.sync(timeout: timeout) } }
        }
      }
    }

  static func makeTarget(_ counted: Counted) -> UInt64 {
    try! TimerTarget.make(counted.context, Counted.end)
  }

  /// Two deadlines' time, on whatever thread the queue's callbacks run.
  private static func drive(_ world: World, _ queue: Queue) {
    for i in 1...2 {
      let time = Scheduler.start + Int64(i) * millisecond + 1000
      if queue.kind != .virtual { world.sleep(until: time) }
      world.call("drive") { queue.drive(time) }
    }
  }
}

@testable import ChimeCore

/// What timers hold, and what holds timers: targets, named handlers, limits; timers that release themselves.
extension Scenario {
  static let objects: [Scenario] =
    [Queue.Kind.virtual, .host, .precise, .serial, .concurrent].flatMap { kind in
      [
        // P8c
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
            timer.stopping { TimerTarget.releaseReference(target) == .ok ? .running : .invalidHandle }
          }
          world.thread("driver") { drive(world, queue) }
          world.race()
          world.expect(timer.ref?.state == .cancelled, "a timer whose target has gone was not cancelled")
          world.expect(counted.ends == 1, "\(counted.ends) destructors of a target")
        },
        // P8b
        Scenario("create beside release of its target, \(kind.rawValue)") { world in
          let counted = Counted()
          let target = makeTarget(counted)
          let timer = world.log(world.queue(kind), target: target)
          world.thread("creator") { world.call("create", answers: .ok, .targetGone) { timer.create(millisecond) } }
          world.thread(calls: "release of the target") { TimerTarget.releaseReference(target) }
          world.race()
          world.expect(
            !timer.wasCreated || timer.ref?.state == .cancelled || timer.ref?.state == .finished,
            "a timer whose target has gone was not cancelled")
          world.expect(counted.ends == 1, "\(counted.ends) destructors of a target")
        },
        // P4e
        Scenario("a timer that releases itself beside cancel and restart, \(kind.rawValue)") { world in
          let queue = world.queue(kind)
          let timer = world.log(queue)
          timer.releasesItself = true
          _ = timer.create(millisecond)
          world.thread(calls: "cancel", on: timer) { ref in timer.stopping { ref.cancel() } }
          world.thread(calls: "restart", on: timer) { ref in timer.starting { ref.restart(Schedule(first: 0)) } }
          world.thread("driver") { drive(world, queue) }
        },
        // P30
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
        // P14j
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
        // P7
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
    + [
      // P7, P14k
      Scenario("an object found by its id beside its removal, and the next one's", preemptions: 2) { world in
        let counted = Counted()
        let id = try! Held.table.add(Held(counted))
        world.thread("finder") {
          for _ in 0..<2 {
            let found = Held.table.find(id)
            world.expect(found == nil || found?.counted === counted, "an id names another's object")
            world.expect(found == nil || counted.ends == 0, "an object has gone that was found by its id")
          }
        }
        world.thread("remover") {
          world.expect(Held.table.remove(id) != nil, "an object cannot be removed")
          world.expect(Held.table.find(id) == nil, "a removed object is found")
          let next = try! Held.table.add(Held(Counted()))
          world.expect(Held.table.find(next) != nil && Held.table.remove(next) != nil, "an object is not found")
        }
        world.race()
        world.expect(counted.ends == 1 && Held.table.remove(id) == nil, "\(counted.ends) ends of an object")
      }
    ]
    + [Queue.Kind.precise, .serial].map { kind in
      Scenario("sync of two threads beside a handler, \(kind.rawValue)") { world in
        let queue = world.queue(kind)
        world.timer(queue, after: 1, every: millisecond)
        for timeout in [Int64.max, millisecond] {
          world.thread("syncer") { for _ in 0..<2 { queue.sync(timeout: timeout) } }
        }
      }
    }

  /// Values that vanish, unless their time begins anew: reset, acquire, expiry, release and the queue's end beside one
  /// another. [3]
  static let expiring: [Scenario] = [Queue.Kind.virtual, .host, .serial].flatMap { kind in
    [
      // P29
      Scenario("resets of an expiring value by two threads, \(kind.rawValue)") { world in
        let value = ExpiringLog(world, world.queue(kind), 5 * millisecond)
        for lifetime in [millisecond, 2 * millisecond] {
          world.thread("resetter") { for i in 0..<2 as Range<Int64> { value.reset(lifetime + i * 100) } }
        }
        world.race()
        drive(world, value.queue, until: value.latest)
        value.expectExpiry()
      },
      // P29
      Scenario("a reset and an acquire beside the expiry of a value, \(kind.rawValue)") { world in
        let value = ExpiringLog(world, world.queue(kind), millisecond)
        world.thread("resetter") { for _ in 0..<2 { value.reset(millisecond) } }
        world.thread("getter") { value.useOnce() }
        world.thread("driver") { drive(world, value.queue) }
        world.race()
        drive(world, value.queue, until: value.latest)
        value.expectExpiry()
      },
      // P29
      Scenario("a reset and an acquire beside expiry and release of a value, \(kind.rawValue)") { world in
        let value = ExpiringLog(world, world.queue(kind), millisecond)
        world.thread("resetter") { value.reset(2 * millisecond) }
        world.thread("getter") { value.useOnce() }
        world.thread("releaser") { value.release() }
        world.thread("driver") { drive(world, value.queue) }
        world.race()
        value.expectEnd()
      },
      // P29
      Scenario("a reset and an acquire beside the end of the value's queue, \(kind.rawValue)") { world in
        let value = ExpiringLog(world, world.queue(kind), millisecond)
        world.thread("resetter") { value.reset(2 * millisecond) }
        world.thread("getter") { value.useOnce() }
        world.thread(calls: "release of the queue") { QueueCore.release(value.queue.id) }
        world.race()
        value.queue.end()
        world.joinWorkers()
        value.expectEnd()
        value.release()
      },
    ]
  }

  /// A tick ends, and its queue's other ticks come, beside a thread that changes its timer, or what it calls, and stands still
  /// (P4e, P29, P30).
  static let endsBesideChanges: [Scenario] = [Queue.Kind.host, .serial, .concurrent, .precise, .loop].flatMap { kind in
    [
      // P4e
      standing("the end of a tick of a timer that releases itself", kind) { world, queue, inside in
        let timer = world.timer(queue, after: millisecond, releasesItself: true) { _ in inside() }
        return (
          { _ = timer.ref?.setBackground(true) },
          { world.expect(timer.finalized == 1, "a timer that is over has not released itself") }
        )
      },
      // P4e
      standing("the end of a tick whose interval counts from then", kind) { world, queue, inside in
        var returned: Int64 = 0
        let timer = world.timer(queue, after: nil) { _ in
          inside()
          returned = world.scheduler.clock
        }
        let spaced = Schedule(first: millisecond, interval: 40 * millisecond, missedPolicy: .delay)
        _ = timer.ref?.activate(spaced)
        return (
          { _ = timer.ref?.setBackground(true) },
          {
            let late = (timer.ref?.nextDeadline ?? 0) - returned - 40 * millisecond
            world.expect((0...10_000).contains(late), "an interval counts from \(late) ns after its callback's end")
          }
        )
      },
      // P30
      standing("a tick of a timer with added handlers", kind) { world, queue, inside in
        let (counted, later) = (Counted(), Counted())
        for counted in [counted, later] { _ = Unmanaged.passRetained(counted) }
        let handler = TickFunction { _, context in Counted.of(context).calls += 1 }
        let timer = world.timer(queue, after: millisecond, every: 40 * millisecond) { _ in inside() }
        let status = timer.ref?.addHandler("key", handler, counted.context, Counted.end)
        world.expect(status == .ok, "add_handler answered \(String(describing: status))")
        var calls = 0
        return (
          {
            _ = timer.ref?.removeHandler("key")
            calls = counted.calls
            _ = timer.ref?.addHandler("key", handler, later.context, Counted.end)
          },
          {
            world.expect(counted.calls == calls, "a handler that was removed is called")
            world.expect(counted.ends == 1, "\(counted.ends) finalizers of a handler that was removed")
          }
        )
      },
      // P29
      standing("the expiry of a value", kind) { world, queue, inside in
        let counted = Counted()
        _ = Unmanaged.passRetained(counted)
        let id = try! Expiring.make(counted.context, Counted.end, lifetime: millisecond, on: queue.id)
        world.timer(queue, after: millisecond / 2, finalizer: false) { _ in inside() }
        return (
          {
            if (try? Expiring.acquire(id)) ?? nil != nil { _ = Expiring.yield(id) }
            _ = Expiring.reset(id, lifetime: millisecond)
          },
          {
            world.expect(counted.ends == 1, "\(counted.ends) finalizers of a value that is over")
            _ = Expiring.release(id)
          }
        )
      },
    ]
  }

  /// - Parameter make: makes what ticks at 1 ms, and gives a change of it, by a thread that stands still, and a look at it at
  ///   the end. What it gets is called inside a callback, in which the change begins.
  private static func standing(
    _ name: String, _ kind: Queue.Kind,
    _ make: @escaping (World, Queue, @escaping () -> Void) -> (change: () -> Void, look: () -> Void)
  ) -> Scenario {
    Scenario("\(name) beside a change that stands still, \(kind.rawValue)") { world in
      world.scheduler.jumpsLeft = 0
      let queue = world.queue(kind)
      let end = Scheduler.start + 20 * millisecond
      let begins = WakeUp()
      let (change, look) = make(world, queue) {
        begins.signal()
        world.sleep(until: world.scheduler.clock + millisecond / 4)
      }
      for time in [2, 4] as [Int64] {
        world.timer(queue, after: time * millisecond, finalizer: false) { _ in
          world.expect(world.scheduler.clock < end, "a tick waits for a change that stands still")
        }
      }
      world.thread("changer", heldUpUntil: end, within: 48) {
        begins.wait()
        world.call("change") { change() }
      }
      if kind.isDriven {
        world.thread("driver") {
          for i in 1...24 as ClosedRange<Int64> {
            world.sleep(until: Scheduler.start + i * millisecond + 1000)
            world.call("drive") { queue.drive(Scheduler.start + i * millisecond + 1000) }
          }
        }
      } else {
        world.thread("host") { world.sleep(until: end + 4 * millisecond) }
      }
      world.race()
      look()
    }
  }

  private static func drive(_ world: World, _ queue: Queue, until time: Int64) {
    if queue.kind != .virtual { world.sleep(until: time + 10_000) }
    world.expect(queue.drive(time + 10_000) == .ok, "the queue cannot be driven")
    if !queue.kind.isDriven { world.sleep(until: world.scheduler.clock + 10_000) }
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

/// An object in a table of ids, whose end is counted.
private final class Held: @unchecked Sendable {
  static let table = HandleTable<Held>(.expiring)
  let counted: Counted
  init(_ counted: Counted) { self.counted = counted }
  deinit { counted.ends += 1 }
}

/// One expiring value of a scenario: it ends once, not while it is held, and not before the last reset that took effect says.
private final class ExpiringLog {
  private struct Reset {
    /// The earliest end that it can have set; and which of all begins and ends of calls its own were.
    let time: Int64
    let begun: Int
    var returned = Int.max
  }

  let world: World
  let queue: Queue
  private var id: UInt64 = 0
  private let value = Counted()
  private var expiries = 0
  private var isReleased = false
  private var expired: Int64?
  /// Those under way, and those that took effect.
  private var resets: [Reset] = []
  private var events = 0
  /// When its time is over, whichever was the last.
  private(set) var latest: Int64 = 0

  private var now: Int64 { QueueCore.steadyNow(queue.id) ?? 0 }

  init(_ world: World, _ queue: Queue, _ lifetime: Int64) {
    (self.world, self.queue) = (world, queue)
    id = try! Expiring.make(value.context, Counted.end, lifetime: lifetime, on: queue.id)
    latest = now + lifetime
    let handler = TickFunction { _, context in
      Unmanaged<ExpiringLog>.fromOpaque(context!).takeUnretainedValue().expire()
    }
    let status = Expiring.onExpiry(id, handler, Context(Unmanaged.passUnretained(self).toOpaque()), nil)
    world.expect(status == .ok, "on_expiry answered \(status.rawValue)")
  }

  func reset(_ lifetime: Int64) {
    // Reading the clock, others may go on.
    let time = now + lifetime
    events += 1
    let reset = Reset(time: time, begun: events)
    resets.append(reset)
    let status = world.call("reset", answers: .ok, .ignored, .invalidHandle) {
      Expiring.reset(id, lifetime: lifetime)
    }
    let end = now + lifetime
    events += 1
    let index = resets.firstIndex { $0.begun == reset.begun }!
    if status != .ok {
      resets.remove(at: index)
    } else {
      resets[index].returned = events
      latest = max(latest, end)
      // Beside no other reset, which may have set an earlier end.
      let isAlone = !resets.contains { $0.begun != reset.begun && $0.returned > reset.begun }
      if isAlone, let expired {
        world.expect(expired >= time, "a value has vanished before a reset that took effect says")
      }
    }
  }

  func useOnce() {
    let found = world.call("acquire") { (try? Expiring.acquire(id)) ?? nil }
    if found == nil { return }
    world.expect(value.ends == 0, "a value was acquired after its finalizer")
    world.scheduler.step("in the use of the value", "", 0)
    world.expect(value.ends == 0, "the finalizer of a value that is held")
    world.call("yield", answers: .ok) { Expiring.yield(id) }
  }

  func release() {
    isReleased = world.call("release of the value", answers: .ok, .running) { Expiring.release(id) } == .ok
  }

  private func expire() {
    expiries += 1
    world.expect(!isReleased, "an expiry after the release")
    world.expect(value.ends == 0, "an expiry after the finalizer")
    // One that is under way may have set nothing yet; and the queue may have been released meanwhile.
    guard let now = QueueCore.steadyNow(queue.id) else { return }
    expired = now
    if resets.contains(where: { $0.returned == .max }) { return }
    let last = resets.filter { reset in !resets.contains { $0.begun > reset.returned } }
    let time = last.map(\.time).min() ?? .min
    world.expect(now >= time, "a value has vanished \(time - now) ns before its time")
  }

  /// Its time is over: it is let go of, rather than only not given any more.
  func expectExpiry() {
    let found = (try? Expiring.acquire(id)) ?? nil
    world.expect(found == nil, "a value is there when its time is over")
    world.expect(expiries == 1, "\(expiries) expiries of a value")
    expectEnd()
    release()
  }

  func expectEnd() { world.expect(value.ends == 1, "\(value.ends) finalizers of a value") }
}

@testable import ChimeCore

/// What is used again and what ends, beside calls with the ids of before: slots, control blocks, queues.
extension Scenario {
  // MARK: Slots and control blocks that are used again

  /// [10]
  static let stale: [Scenario] =
    ([
      ("cancel", { TimerRef.cancel($0) }),
      ("release", { TimerRef.release($0) }),
      ("postpone", { TimerRef.postpone($0, until: Scheduler.start + 11 * second) }),
    ] as [(String, (UInt64) -> Status)]).map { name, late in
      // P3c, P4b, P14e, P14g
      Scenario("a stale \(name) while its slot is used again", preemptions: 1) { world in
        let queue = world.queue(.virtual)
        let timer = world.timer(queue, after: 10 * second, finalizer: false)
        let id = timer.id
        var last = timer
        world.thread(calls: name) { late(id) }
        world.thread("churn") {
          // The first gives the thread slots of its own, behind which the released one is used again.
          for number in 0..<100 {
            if number == 1 { _ = TimerRef.release(id) }
            if number > 0 { _ = TimerRef.release(last.id) }
            last = TimerLog(world, queue, nil)
            last.hasFinalizer = false
            world.expect(last.create(10 * second) == .ok, "create failed")
            if last.ref?.slot.index == timer.ref?.slot.index { return }
          }
        }
        world.race()
        let due = last.ref?.nextDeadline
        world.expect(
          last.ref?.state == .running && due == Scheduler.start + 10 * second,
          "a call with a stale id has changed another timer")
      }
    } + [
      // P7, P14b, P14g
      Scenario("jump of a queue that ends while its control block is used again", preemptions: 2) { world in
        let queue = world.queue(.virtual)
        var other: Queue?
        world.thread(calls: "jump") { QueueCore.jump(queue.id, by: second) }
        world.thread("ender") { other = world.replace(queue, by: .virtual) }
        world.race()
        world.expect(
          other?.core.control.virtualNow == Scheduler.start, "a call with a stale id has moved another queue")
      },
      // P7c
      Scenario("last callbacks of a queue on the pool, and of timers whose handlers run", preemptions: 1) { world in
        let queue = world.queue(.concurrent)
        for _ in 0..<3 { world.timer(queue, after: millisecond, every: millisecond) }
        world.thread("releaser") {
          world.sleep(until: Scheduler.start + millisecond)
          _ = world.call("release") { QueueCore.release(queue.id) }
        }
      },
      // P7c
      Scenario("last callbacks of a queue with a thread of its own", preemptions: 1) { world in
        let queue = world.queue(.precise)
        for _ in 0..<3 { world.timer(queue, after: millisecond) }
        world.thread("releaser") { _ = world.call("release") { QueueCore.release(queue.id) } }
      },
      // P10
      Scenario("a host that is refused beside the end of a timer") { world in
        let queue = world.queue(.host)
        world.timer(queue, after: millisecond)
        let later = Context(Unmanaged.passUnretained(world).toOpaque())
        let finalizer = ContextFunction { context in
          let world = Unmanaged<World>.fromOpaque(context!).takeUnretainedValue()
          world.sleep(until: Scheduler.start + 2 * millisecond)
          for _ in 0..<200 { world.scheduler.giveWay(1) }
        }
        let options = TimerOptions(handler: TickFunction { _, _ in }, context: later, finalizer: finalizer)
        var ending: UInt64 = 0
        world.expect(TimerRef.create(on: queue.id, options, nil, out: &ending) == .ok, "no timer")
        var (before, isRefused) = (0, false)
        let settings = { world.scheduler.files.settings[queue.core.control.hostFile] ?? 0 }
        world.thread(calls: "release") { TimerRef(ending)!.release() }
        world.thread("driver") {
          world.sleep(until: Scheduler.start + 2 * millisecond)
          before = settings()
          let status = Status.of { () throws(Status) in
            _ = try QueueCore.process(queue.id, most: .max)
            return .ok
          }
          isRefused = status == .busy
        }
        world.race()
        world.expect(!isRefused || settings() > before, "a host that was refused is not woken")
      },
      // P7c
      Scenario("a release that is held up beside its queue's last pass and the next queue") { world in
        let queue = world.queue(.precise)
        var timer: TimerLog?
        world.thread("releaser", heldUpUntil: Scheduler.start + millisecond, within: 16) {
          _ = world.call("release") { QueueCore.release(queue.id) }
        }
        world.thread("another") {
          // Its pass may be the one that ends the queue.
          _ = world.call("async") { QueueCore.async(queue.id, ContextFunction { _ in }, .none, nil) }
          while !queue.core.closing.isOver { world.scheduler.giveWay(1) }
          timer = world.timer(world.queue(.virtual), after: second)
        }
        world.race()
        world.expect(timer?.ref?.state == .running, "the release of a queue has released a timer of the next one")
      },
    ]

  static let creations: [Scenario] = ([nil, 0] as [Int64?]).map { delay in
    // P8, P14g
    Scenario(
      "\(delay == nil ? "an idle" : "a direct") creation on a queue that ends while its control block is used again",
      preemptions: 2
    ) { world in
      let queue = world.queue(.host)
      var other: Queue?
      let late = world.log(queue, finalizer: false)
      // So that the next one is the short form, on a slot that was used before and is in the inbox.
      for _ in 0...ThreadCache.filled {
        let first = world.log(queue, finalizer: false)
        _ = first.create(millisecond)
        _ = first.ref?.release()
      }
      world.thread("ender") {
        other = world.replace(queue, by: .host)
        world.call("process") { other?.drive() }
      }
      world.race { _ = world.call("create") { late.create(delay) } }
      _ = other?.drive()
      world.expect(late.ticks == 0 && late.ref?.state == nil, "a timer of a queue that has ended lives on another")
    }
  }

  /// A claim, or the end of its callback, beside what ends the timer (P4).
  static let claims: [Scenario] =
    [
      ("cancel", { $0.cancel() }),
      ("release", { $0.release() }),
      ("a postponement to never", { TimerRef.postpone($0.id, until: .max) }),
    ].flatMap { (name: String, end: @escaping (TimerRef) -> Status) in
      // With a finalizer a timer has a side record, and is claimed by way of a writer; without, by one swap.
      [("", false), (" of a timer with a finalizer", true)].map { whose, hasFinalizer in
        // P4
        Scenario("a tick beside \(name)\(whose)", preemptions: 2) { world in
          let queue = world.queue(.virtual)
          let timer = world.timer(queue, after: 10, finalizer: hasFinalizer)
          world.thread(calls: "advance") { queue.drive(Scheduler.start + 20) }
          world.thread(calls: name, on: timer) { ref in timer.stopping { end(ref) } }
        }
      }
    } + [
      // P4
      Scenario("a tick beside a postponement to never on the wall clock", preemptions: 2) { world in
        let queue = world.queue(.host, isWall: true)
        let timer = world.timer(queue, after: 10, finalizer: false)
        world.thread("driver") {
          world.sleep(until: Scheduler.start + 20)
          world.call("process") { queue.drive() }
        }
        world.thread("postponer") {
          world.sleep(until: Scheduler.start + 20)
          world.call("postpone", on: timer) { ref in timer.stopping { TimerRef.postpone(ref.id, until: .max) } }
        }
      }
    ]

  // MARK: The end of a queue

  static let closing: [Scenario] = Queue.Kind.allCases.filter { $0 != .records }.flatMap { kind in
    [
      // P1e, P7b
      Scenario("async beside release of the \(kind.rawValue) queue") { world in
        let queue = world.queue(kind)
        var accepted = 0
        let counted = Counted()
        world.thread("caller") {
          for _ in 0..<2 {
            let status = world.call("async") {
              QueueCore.async(
                queue.id, ContextFunction { Counted.of($0).calls += 1 }, counted.context, Counted.end)
            }
            if status == .ok { accepted += 1 }
          }
        }
        world.thread(calls: "release") { QueueCore.release(queue.id) }
        world.race()
        queue.end()
        world.joinWorkers()
        world.expect(counted.ends == accepted, "\(counted.ends) finalizers of \(accepted) functions")
        world.expect(counted.calls <= accepted, "a function was called twice")
      },
      // P6b, P10
      Scenario("two shutdowns of the \(kind.rawValue) queue") { world in
        let queue = world.queue(kind)
        world.timer(queue, after: 1, every: millisecond)
        let ends = world.timer(queue, after: millisecond, callbacks: true)
        for name in ["first", "second"] {
          world.thread(name) {
            world.call("shutdown", answers: .ok, .ignored) { QueueCore.shutdown(queue.id, timeout: .max) }
            world.expect(ends.finalized == 1, "shutdown has answered, and a finalizer is left")
          }
        }
        world.thread(calls: "drive") { queue.drive(Scheduler.start + millisecond) }
      },
      // P7b
      Scenario("release of a timer beside shutdown of the \(kind.rawValue) queue") { world in
        let queue = world.queue(kind)
        let timer = world.timer(queue, after: millisecond, callbacks: true)
        world.thread("releaser") {
          // It ends the timer, or the timer has ended with its queue: never is it an id that names nothing.
          world.call("release", answers: .ok, .running, .ignored, .ignoredRunning) {
            timer.stopping { timer.ref.map { TimerRef.release($0.id) } ?? .invalidHandle }
          }
        }
        world.thread(calls: "shutdown") { QueueCore.shutdown(queue.id, timeout: .max) }
      },
    ]
  }
}

/// What functions, finalizers and destructors count.
final class Counted {
  var calls = 0
  var ends = 0
  static let end = ContextFunction { of($0).ends += 1 }
  var context: Context { Context(Unmanaged.passUnretained(self).toOpaque()) }
  static func of(_ pointer: UnsafeMutableRawPointer?) -> Counted {
    Unmanaged<Counted>.fromOpaque(pointer!).takeUnretainedValue()
  }
}

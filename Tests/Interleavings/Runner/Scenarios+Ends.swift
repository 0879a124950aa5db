@testable import ChimeCore

/// What is used again and what ends, beside calls with the ids of before: slots, control blocks, queues.
extension Scenario {
  // MARK: Slots and control blocks that are used again

  static let stale: [Scenario] =
    ["cancel", "release", "postpone"].map { name in
      Scenario("a stale \(name) while its slot is used again", preemptions: 1) { world in
        Seam.generationMask = 0xF
        let queue = world.queue(.virtual)
        let timer = world.timer(queue, after: 10 * second, finalizer: false)
        let id = timer.id
        var last = timer
        world.thread("late") {
          _ = world.call(name) {
            switch name {
            case "cancel": TimerRef.cancel(id)
            case "release": TimerRef.release(id)
            default: TimerRef.postpone(id, until: Scheduler.start + 11 * second)
            }
          }
        }
        world.thread("churn") {
          _ = TimerRef.release(id)
          // After eight timers in one slot its generation is what it was.
          for _ in 0..<8 {
            if last !== timer { _ = last.ref?.release() }
            last = TimerLog(world, queue, nil)
            last.hasFinalizer = false
            world.expect(last.create(10 * second) == .ok, "create failed")
          }
        }
        world.race()
        let due = last.ref?.nextDeadline
        world.expect(
          last.ref?.state == .running && due == Scheduler.start + 10 * second,
          "a call with a stale id has changed another timer")
      }
    } + [
      Scenario("jump of a queue that ends while its control block is used again", preemptions: 2) { world in
        let queue = world.queue(.virtual)
        var other: Queue?
        world.thread("late") { _ = world.call("jump") { QueueCore.jump(queue.id, by: second) } }
        world.thread("ender") {
          _ = world.call("release") { QueueCore.release(queue.id) }
          other = world.call("create") { world.queue(.virtual) }
        }
        world.race()
        world.expect(
          other?.core.control.virtualNow == Scheduler.start, "a call with a stale id has moved another queue")
      },
      Scenario("a creation on a queue that ends while its control block is used again", preemptions: 2) { world in
        let queue = world.queue(.host)
        var other: Queue?
        let first = TimerLog(world, queue, nil)
        let late = TimerLog(world, queue, nil)
        for log in [first, late] {
          log.hasFinalizer = false
          world.add(log)
        }
        world.thread("late") {
          // So that the next one is the short form, on a slot that is in the inbox.
          _ = world.call("create") { first.create(millisecond) }
          _ = world.call("release") { first.ref?.release() ?? .invalidHandle }
          _ = world.call("create") { late.create(0) }
        }
        world.thread("ender") {
          _ = world.call("release") { QueueCore.release(queue.id) }
          other = world.call("create") { world.queue(.host) }
          _ = world.call("process") { other?.drive() ?? .ok }
        }
        world.race()
        _ = other?.drive()
        world.expect(late.ticks == 0 && late.ref?.state == nil, "a timer of a queue that has ended lives on another")
      },
    ]

  // MARK: The end of a queue

  static let closing: [Scenario] = Queue.Kind.allCases.filter { $0 != .records }.flatMap { kind in
    [
      Scenario("create beside release of the \(kind.rawValue) queue") { world in
        let queue = world.queue(kind)
        for name in ["creator", "second creator"] {
          world.thread(name) {
            for after in [nil, millisecond] as [Int64?] {
              let log = TimerLog(world, queue, nil)
              log.hasFinalizer = name == "creator"
              world.add(log)
              _ = world.call("create") { log.create(after) }
            }
          }
        }
        world.thread("ender") { _ = world.call("release") { QueueCore.release(queue.id) } }
        world.race()
      },
      Scenario("async beside release of the \(kind.rawValue) queue") { world in
        let queue = world.queue(kind)
        var accepted = 0
        let counted = Counted()
        let context = Context(Unmanaged.passUnretained(counted).toOpaque())
        world.thread("caller") {
          for _ in 0..<2 {
            let status = world.call("async") {
              QueueCore.async(
                queue.id, ContextFunction { Counted.of($0).calls += 1 }, context,
                ContextFunction { Counted.of($0).ends += 1 })
            }
            if status == .ok { accepted += 1 }
          }
        }
        world.thread("ender") { _ = world.call("release") { QueueCore.release(queue.id) } }
        world.race()
        queue.end()
        for coroutine in world.scheduler.coroutines where coroutine.isDaemon { world.scheduler.join([coroutine]) }
        world.expect(counted.ends == accepted, "\(counted.ends) finalizers of \(accepted) functions")
        world.expect(counted.calls <= accepted, "a function was called twice")
      },
      Scenario("two shutdowns of the \(kind.rawValue) queue") { world in
        let queue = world.queue(kind)
        world.timer(queue, after: 1, every: millisecond)
        world.timer(queue, after: millisecond, callbacks: true)
        for _ in 0..<2 {
          world.thread("ender") { _ = world.call("shutdown") { QueueCore.shutdown(queue.id, timeout: .max) } }
        }
        world.thread("driver") { _ = world.call("drive") { queue.drive(Scheduler.start + millisecond) } }
        world.race()
      },
    ]
  }
}

/// What a function of `async` counts.
final class Counted {
  var calls = 0
  var ends = 0
  static func of(_ pointer: UnsafeMutableRawPointer?) -> Counted {
    Unmanaged<Counted>.fromOpaque(pointer!).takeUnretainedValue()
  }
}

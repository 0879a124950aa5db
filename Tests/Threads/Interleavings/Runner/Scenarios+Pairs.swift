@testable import ChimeCore

/// Two threads with one call each, every pair of calls, on a timer in each state, on every kind of queue; and whoever
/// drives the queue beside them. [2]
extension Scenario {
  /// A call on a timer or its queue.
  private struct Call {
    let name: String
    let body: (World, Queue, TimerLog) -> Void

    init<Result>(_ name: String, _ body: @escaping (World, Queue, TimerLog) -> Result) {
      self.name = name
      self.body = { world, queue, timer in _ = world.call(name) { body(world, queue, timer) } }
    }

    static func on(_ name: String, _ body: @escaping (TimerRef) -> Status) -> Call {
      Call(name) { _, _, timer in timer.ref.map(body) }
    }

    static func stopping(_ name: String, ends: Bool = true, _ body: @escaping (TimerRef) -> Status) -> Call {
      Call(name) { _, _, timer in timer.stopping(ends: ends) { timer.ref.map(body) ?? .invalidHandle } }
    }

    static func starting(_ name: String, _ body: @escaping (TimerRef) -> Status) -> Call {
      Call(name) { _, _, timer in timer.starting { timer.ref.map(body) ?? .invalidHandle } }
    }

    static let all: [Call] = [
      stopping("cancel") { $0.cancel() },
      Call("cancel_and_wait") { _, queue, timer in
        // A tick that was taken as a record ends when the host comes again.
        let timeout = queue.kind == .records ? millisecond : .max
        return timer.stopping(waits: true) { timer.ref?.cancelAndWait(timeout: timeout) ?? .invalidHandle }
      },
      stopping("suspend", ends: false) { $0.suspend() },
      stopping("release") { $0.release() },
      starting("activate") { $0.activate(Schedule(first: millisecond)) },
      starting("restart") { $0.restart(Schedule(first: millisecond / 2)) },
      starting("restart after") {
        TimerRef.restartFast($0.id, after: millisecond / 2)
          ? .ok : $0.restart(first: millisecond / 2, isDeadline: false)
      },
      starting("resume") { $0.resume() },
      starting("reschedule") { $0.reschedule(Schedule(first: 2 * millisecond, interval: millisecond)) },
      starting("fire") { $0.fire() },
      on("postpone") { TimerRef.postpone($0.id, delay: 3 * millisecond) },
      on("set_leeway") { $0.setLeeway(100_000) },
      Call("info") { _, _, timer in timer.ref?.snapshot?.state },
      Call("generation") { _, _, timer in timer.ref?.generation },
      Call("next_deadline of the timer") { _, _, timer in timer.ref?.nextDeadline },
      Call("next_deadline of the queue") { _, queue, _ in try? QueueCore.nextDeadline(queue.id) },
      Call("create") { world, queue, _ in world.log(queue).create(millisecond) },
      Call("drive") { world, queue, _ in queue.drive(world.scheduler.clock + millisecond) },
      Call("release of the queue") { _, queue, timer in timer.stopping { QueueCore.release(queue.id) } },
    ]
  }

  /// What the timer is doing when the race begins.
  static let beginnings = ["due", "due, with callbacks", "repeating", "far", "suspended", "idle"]

  static func pairs(on kind: Queue.Kind, _ beginning: String) -> [Scenario] {
    Call.all.indices.flatMap { i in
      Call.all[i...].map { second in
        let first = Call.all[i]
        return Scenario("\(first.name) and \(second.name), \(kind.rawValue), \(beginning)") { world in
          let queue = world.queue(kind)
          let timer = begin(beginning, world, queue)
          world.thread(first.name) { first.body(world, queue, timer) }
          world.thread(second.name) { second.body(world, queue, timer) }
          if kind.isDriven {
            world.thread("driver") {
              for _ in 0..<2 {
                if kind != .virtual { world.sleep(until: world.scheduler.clock + millisecond) }
                world.call("drive") { queue.drive(queue.core.control.virtualNow + millisecond) }
              }
            }
          }
        }
      }
    }
  }

  /// What a timer is asked is answered while another thread stands for ten seconds within any call.
  static let standing: [Scenario] = Call.all.map { call in
    // P3
    Scenario("queries beside a thread that stands in \(call.name)") { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: millisecond, every: millisecond)
      world.scheduler.latest = Scheduler.start + second
      world.thread(call.name, heldUpUntil: Scheduler.start + 10 * second) { call.body(world, queue, timer) }
      world.thread("asker") {
        for _ in 0..<2 {
          world.call("state") { timer.ref?.state }
          world.call("generation") { timer.ref?.generation }
          world.call("next_deadline") { timer.ref?.nextDeadline }
          world.call("info") { timer.ref?.snapshot?.state }
        }
        world.scheduler.latest = Scheduler.horizon
      }
    }
  }

  private static func begin(_ beginning: String, _ world: World, _ queue: Queue) -> TimerLog {
    switch beginning {
    case "due": return world.timer(queue, after: millisecond, finalizer: false)
    case "due, with callbacks": return world.timer(queue, after: millisecond, callbacks: true)
    case "repeating": return world.timer(queue, after: millisecond, every: millisecond)
    case "far": return world.timer(queue, after: 10 * second, finalizer: false)
    case "suspended":
      let timer = world.timer(queue, after: millisecond)
      _ = timer.stopping(ends: false) { timer.ref?.suspend() ?? .invalidHandle }
      return timer
    default: return world.timer(queue, after: nil)
    }
  }
}

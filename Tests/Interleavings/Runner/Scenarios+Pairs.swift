@testable import ChimeCore

/// Two threads with one call each, every pair of calls, on a timer in each state, on every kind of queue; and whoever
/// drives the queue beside them.
extension Scenario {
  /// A call on a timer or its queue.
  struct Call {
    let name: String
    let body: (World, Queue, TimerLog) -> Void

    private init(_ name: String, _ body: @escaping (World, Queue, TimerLog) -> Void) {
      self.name = name
      self.body = body
    }

    private static func stopping(_ name: String, _ body: @escaping (TimerRef) -> Status) -> Call {
      Call(name) { world, _, timer in
        _ = world.call(name) { timer.stopping { timer.ref.map(body) ?? .invalidHandle } }
      }
    }

    private static func starting(_ name: String, _ body: @escaping (TimerRef) -> Status) -> Call {
      Call(name) { world, _, timer in
        _ = world.call(name) { timer.starting { timer.ref.map(body) ?? .invalidHandle } }
      }
    }

    static let all: [Call] = [
      stopping("cancel") { $0.cancel() },
      Call("cancel_and_wait") { world, queue, timer in
        // A tick that was taken as a record ends when the host comes again.
        let timeout = queue.kind == .records ? millisecond : .max
        _ = world.call("cancel_and_wait") {
          timer.stopping(waits: true) { timer.ref?.cancelAndWait(timeout: timeout) ?? .invalidHandle }
        }
      },
      stopping("suspend") { $0.suspend() },
      stopping("release") { $0.release() },
      starting("activate") { $0.activate(Schedule(first: millisecond)) },
      starting("restart") { $0.restart(Schedule(first: millisecond / 2)) },
      starting("resume") { $0.resume() },
      starting("reschedule") { $0.reschedule(Schedule(first: 2 * millisecond, interval: millisecond)) },
      starting("fire") { $0.fire() },
      Call("postpone") { world, _, timer in
        _ = world.call("postpone") { timer.ref?.postpone(delay: 3 * millisecond) ?? .invalidHandle }
      },
      Call("set_leeway") { world, _, timer in
        _ = world.call("set_leeway") { timer.ref?.setLeeway(100_000) ?? .invalidHandle }
      },
      Call("info") { world, _, timer in _ = world.call("info") { timer.ref?.info?.state } },
      Call("generation") { world, _, timer in _ = world.call("generation") { timer.ref?.generation } },
      Call("next_deadline of the timer") { world, _, timer in
        _ = world.call("next_deadline of the timer") { timer.ref?.nextDeadline }
      },
      Call("next_deadline of the queue") { world, queue, _ in
        _ = world.call("next_deadline of the queue") { QueueCore.nextDeadline(queue.id) }
      },
      Call("create") { world, queue, _ in
        let log = TimerLog(world, queue, nil)
        world.add(log)
        _ = world.call("create") { log.create(millisecond) }
      },
      Call("drive") { world, queue, _ in
        _ = world.call("drive") { queue.drive(world.scheduler.clock + millisecond) }
      },
      Call("release of the queue") { world, queue, timer in
        _ = world.call("release of the queue") { timer.stopping { QueueCore.release(queue.id) } }
      },
    ]
  }

  /// What the timer is doing when the race begins.
  static let beginnings = ["due", "due, with callbacks", "repeating", "far", "suspended", "idle"]

  static func pairs(on kind: Queue.Kind, _ beginning: String) -> [Scenario] {
    var scenarios: [Scenario] = []
    for (i, first) in Call.all.enumerated() {
      for second in Call.all[i...] {
        scenarios.append(
          Scenario("\(first.name) and \(second.name), \(kind.rawValue), \(beginning)") { world in
            let queue = world.queue(kind)
            let timer = begin(beginning, world, queue)
            world.thread(first.name) { first.body(world, queue, timer) }
            world.thread(second.name) { second.body(world, queue, timer) }
            if kind.isDriven {
              world.thread("driver") {
                for _ in 0..<2 {
                  if kind != .virtual { world.sleep(until: world.scheduler.clock + millisecond) }
                  _ = world.call("drive") { queue.drive(queue.core.control.virtualNow + millisecond) }
                }
              }
            }
            world.race()
          })
      }
    }
    return scenarios
  }

  private static func begin(_ beginning: String, _ world: World, _ queue: Queue) -> TimerLog {
    switch beginning {
    case "due": return world.timer(queue, after: millisecond, finalizer: false)
    case "due, with callbacks": return world.timer(queue, after: millisecond, callbacks: true)
    case "repeating": return world.timer(queue, after: millisecond, every: millisecond)
    case "far": return world.timer(queue, after: 10 * second, finalizer: false)
    case "suspended":
      let timer = world.timer(queue, after: millisecond)
      _ = timer.stopping { timer.ref?.suspend() ?? .invalidHandle }
      return timer
    default: return world.timer(queue, after: nil)
    }
  }
}

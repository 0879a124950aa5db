@testable import ChimeCore

/// Queues that are suspended and resumed beside whatever may begin a callback of theirs (P28); and changes of a timer's
/// settings beside queries (P3b).
extension Scenario {
  static let suspensions: [Scenario] =
    Queue.Kind.allCases.map { kind in
      // P28
      Scenario("a suspend beside a pass, \(kind.rawValue)") { world in
        let queue = world.queue(kind)
        let hold = Hold()
        for _ in 0..<2 {
          world.timer(queue, after: 10) { _ in world.expect(!hold.isOn, "a tick has begun on a suspended queue") }
        }
        if kind.isDriven { world.thread(calls: "drive") { queue.drive(Scheduler.start + 20) } }
        world.thread("suspender") {
          hold.isOn = world.call("suspend", answers: .ok, .running) { QueueCore.suspend(queue.id) } == .ok
          world.sleep(until: world.scheduler.clock + 1000)
          hold.isOn = false
          world.call("resume", answers: .ok) { QueueCore.resume(queue.id) }
        }
      }
    }
    + [Queue.Kind.serial, .precise].map { kind in
      // P28
      Scenario("a suspend beside sync, \(kind.rawValue)") { world in
        let queue = world.queue(kind)
        let hold = Hold()
        world.thread("caller") {
          _ = world.call("sync", answers: .ok) {
            QueueCore.sync(queue.id, timeout: .max) {
              world.expect(!hold.isOn, "a function has begun on a suspended queue")
              world.scheduler.step("in the function", "", 0)
              world.expect(!hold.isOn, "a suspend did not see a function that ran")
            }
          }
        }
        world.thread("suspender") {
          hold.isOn = world.call("suspend", answers: .ok, .running) { QueueCore.suspend(queue.id) } == .ok
          world.scheduler.step("while it is suspended", "", 0)
          hold.isOn = false
          world.call("resume", answers: .ok) { QueueCore.resume(queue.id) }
        }
      }
    }
    + [Queue.Kind.host, .serial, .concurrent, .precise, .loop].map { kind in
      // What a pass finds suspended, the resume has to wake; and so has the end.
      // P28
      Scenario("a release beside suspend and resume, \(kind.rawValue)") { world in
        let queue = world.queue(kind)
        let timer = world.timer(queue, after: 0)
        world.call("suspend", answers: .ok, .running) { QueueCore.suspend(queue.id) }
        world.thread(calls: "resume") { QueueCore.resume(queue.id) }
        world.thread("releaser") {
          timer.isReleased = true
          world.call("release") { QueueCore.release(queue.id) }
        }
      }
    }
    + [
      // P3b
      Scenario("a query beside set_interval", preemptions: 2) { world in
        let queue = world.queue(.virtual)
        let timer = world.timer(queue, after: second, every: second)
        let long = Schedule(first: second, interval: second, jitter: second / 2)
        _ = timer.ref?.restart(long)
        world.thread(calls: "set_interval", on: timer) { $0.setInterval(millisecond) }
        world.thread("asker") {
          // Beside a writer that stands still, members may be from before and after its change; a schedule is of one piece.
          if let snapshot = world.call("info", { timer.ref?.snapshot }), !snapshot.word.hasWriter {
            let found = (snapshot.interval, snapshot.jitter)
            world.expect(
              found == (second, second / 2) || found == (millisecond, millisecond),
              "info says interval \(found.0), jitter \(found.1)")
          }
          guard let schedule = world.call("schedule", { timer.ref?.schedule })?.flatMap({ $0 }) else { return }
          let found = (schedule.interval, schedule.jitter, schedule.first)
          world.expect(
            found == (second, second / 2, second) || found == (millisecond, millisecond, second),
            "the schedule has interval \(found.0), jitter \(found.1), first \(found.2)")
        }
      },
      // What the run waits for goes into the background.
      // P5
      Scenario("set_background ends run", preemptions: 2) { world in
        let queue = world.queue(.host)
        let timer = world.timer(queue, after: 10 * second)
        world.scheduler.latest = Scheduler.start + second
        world.thread("driver") { world.call("run", answers: .ok) { QueueCore.run(queue.id, untilStopped: false) } }
        world.thread(calls: "set_background", on: timer) { $0.setBackground(true) }
      },
    ]

  /// Whether a suspend has answered that nothing runs, and no resume has begun. The scheduler's threads are one thread.
  private final class Hold {
    var isOn = false
  }
}

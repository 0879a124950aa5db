@testable import ChimeCore

/// Queues on the wall clock, and steps of it (P13, P13b).
extension Scenario {
  private static let step = 10 * second

  static let wallClock: [Scenario] =
    [Queue.Kind.host, .precise, .serial, .concurrent, .loop].map { kind in
      let preemptions = kind == .host ? 2 : 0
      return Scenario("a step of the wall clock beside a pass, \(kind.rawValue)", preemptions: preemptions) { world in
        let queue = world.queue(kind, isWall: true)
        let timer = world.timer(queue, after: Scheduler.start + step, isDeadline: true, finalizer: false)
        // The deadline comes by the step, not by the time.
        world.scheduler.latest = Scheduler.start + second
        if kind.isDriven { world.thread("driver") { _ = world.call("process") { queue.drive() } } }
        world.thread("stepper") { world.call("step") { QueueCore.stepWallClock(queue.id, by: step) } }
        world.race()
        world.sleep(until: world.scheduler.clock + millisecond)
        if kind.isDriven {
          world.expect(
            timer.ticks == 1 || world.scheduler.files.isReadable(queue.core.control.hostFile, world.scheduler.clock),
            "the step has made a timer due, and the descriptor is not readable")
          _ = queue.drive()
        }
        world.expect(timer.ticks == 1, "the step has made a timer due, and it has not ticked")
      }
    } + [
      Scenario("deadlines written beside steps of the wall clock", preemptions: 2) { world in
        let queue = world.queue(.host, isWall: true)
        let deadline = Scheduler.start + 1000 * second
        let timer = world.timer(queue, after: nil)
        let other = TimerLog(world, queue, nil)
        other.firstIsDeadline = true
        world.add(other)
        world.thread("writer") {
          _ = world.call("restart") {
            timer.ref?.restart(Schedule(first: deadline, firstIsDeadline: true)) ?? .invalidHandle
          }
          _ = world.call("create") { other.create(deadline) }
        }
        world.thread("driver") {
          for sign in [1, -1] as [Int64] {
            QueueCore.stepWallClock(queue.id, by: sign * step)
            _ = world.call("process") { queue.drive() }
          }
        }
        world.race()
        _ = queue.drive()
        for log in [timer, other] {
          let next = log.ref?.nextDeadline
          world.expect(next == deadline, "a deadline of \(deadline) has become \(next ?? 0)")
          _ = log.ref?.cancel()
        }
      },
      Scenario("a postponement to a time of day beside a step of the wall clock", preemptions: 2) { world in
        let queue = world.queue(.host, isWall: true)
        let deadline = Scheduler.start + 1000 * second
        let timer = world.timer(queue, after: deadline, isDeadline: true)
        world.thread("writer") {
          _ = world.call("postpone") { timer.ref?.postpone(until: deadline + second) ?? .invalidHandle }
        }
        world.thread("driver") {
          QueueCore.stepWallClock(queue.id, by: step)
          _ = world.call("process") { queue.drive() }
        }
        world.race()
        _ = queue.drive()
        let next = timer.ref?.nextDeadline
        world.expect(next == deadline + second, "a deadline of \(deadline + second) has become \(next ?? 0)")
        _ = timer.ref?.cancel()
      },
      Scenario("a query of a deadline beside a step of the wall clock", preemptions: 2) { world in
        let queue = world.queue(.host, isWall: true)
        let deadline = Scheduler.start + 1000 * second
        let timer = world.timer(queue, after: deadline, isDeadline: true)
        world.thread("asker") {
          for look in [{ timer.ref?.nextDeadline }, { timer.ref?.info?.nextDeadline }] {
            let next = look()
            world.expect(next == deadline, "a deadline of \(deadline) reads \(next ?? 0)")
          }
        }
        world.thread("driver") {
          QueueCore.stepWallClock(queue.id, by: step)
          _ = world.call("process") { queue.drive() }
        }
        world.race()
        _ = timer.ref?.cancel()
      },
      Scenario("a step of the wall clock while its queue's control block is used again", preemptions: 2) { world in
        let queue = world.queue(.host, isWall: true)
        var other: Queue?
        world.thread("late") { world.call("step") { QueueCore.stepWallClock(queue.id, by: step) } }
        world.thread("ender") {
          _ = world.call("release") { QueueCore.release(queue.id) }
          other = world.call("create") { world.queue(.host) }
        }
        world.race()
        guard let other else { return }
        world.timer(other, after: second, finalizer: false)
        // The first pass may be the step's.
        for _ in 0..<2 { _ = other.drive() }
        world.expect(
          !world.scheduler.files.isReadable(other.core.control.hostFile, world.scheduler.clock),
          "a queue that has nothing due wants pass after pass")
      },
    ]
}

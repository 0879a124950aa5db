@testable import ChimeCore

/// Queues on the wall clock, and steps of it (P13, P13b).
extension Scenario {
  private static let step = 10 * second
  private static let deadline = Scheduler.start + 1000 * second

  static let wallClock: [Scenario] =
    [Queue.Kind.host, .precise, .serial, .concurrent, .loop].map { kind in
      let preemptions = kind == .host ? 2 : 0
      // P11b, P13b
      return Scenario("a step of the wall clock beside a pass, \(kind.rawValue)", preemptions: preemptions) { world in
        let queue = world.queue(kind, isWall: true)
        let timer = world.timer(queue, after: Scheduler.start + step, isDeadline: true, finalizer: false)
        // The deadline comes by the step, not by the time.
        world.scheduler.latest = Scheduler.start + second
        if kind.isDriven { world.thread(calls: "process") { queue.drive() } }
        world.thread(calls: "step") { QueueCore.stepWallClock(queue.id, by: step) }
        world.race()
        world.sleep(until: world.scheduler.clock + millisecond)
        if kind.isDriven {
          world.expect(
            timer.ticks == 1 || queue.isReadable,
            "the step has made a timer due, and the descriptor is not readable")
          _ = queue.drive()
        }
        world.expect(timer.ticks == 1, "the step has made a timer due, and it has not ticked")
      }
    }
    + [Queue.Kind.host, .precise, .serial, .concurrent, .loop].map { kind in
      // P13
      Scenario("a step of the wall clock beside a change that stands still, \(kind.rawValue)") { world in
        world.scheduler.jumpsLeft = 0
        let queue = world.queue(kind, isWall: true)
        let end = Scheduler.start + 20 * millisecond
        // Both deadlines come by the step, not by the time.
        world.scheduler.latest = Scheduler.start + second
        let held = world.timer(queue, after: Scheduler.start + step, isDeadline: true, finalizer: false)
        let timer = world.timer(queue, after: Scheduler.start + step, isDeadline: true, finalizer: false) { _ in
          world.expect(world.scheduler.clock < end, "a tick waits for a change that stands still")
        }
        world.thread("changer", heldUpUntil: end, within: 48) {
          world.call("change", on: held) { $0.setBackground(true) }
        }
        world.thread("stepper") {
          world.sleep(until: Scheduler.start + millisecond)
          QueueCore.stepWallClock(queue.id, by: step)
        }
        world.thread("driver") {
          for i in 1...24 as ClosedRange<Int64> {
            world.sleep(until: Scheduler.start + i * millisecond + 1000)
            if kind.isDriven { world.call("process") { queue.drive() } }
          }
        }
        world.race()
        world.expect(held.ticks == 1 && timer.ticks == 1, "the step has made a timer due, and it has not ticked")
      }
    } + [
      // P13
      scenario("deadlines written beside steps of the wall clock", steps: [step, -step], writeDeadlines),
      // P13
      scenario(
        "deadlines written beside steps that no pass sees", steps: [step, -step], areSeen: false, writeDeadlines),
      // P13
      scenario("a postponement to a time of day beside a step of the wall clock", steps: [step]) { world, queue in
        let timer = world.timer(queue, after: deadline, isDeadline: true)
        world.thread(calls: "postpone", on: timer) { TimerRef.postpone($0.id, until: deadline + second) }
        return [(timer, deadline + second)]
      },
      // P13
      scenario("a query of a deadline beside a step of the wall clock", steps: [step]) { world, queue in
        let timer = world.timer(queue, after: deadline, isDeadline: true)
        world.thread("asker") {
          for look in [{ timer.ref?.nextDeadline }, { timer.ref?.snapshot?.nextDeadline }] {
            let next = look()
            world.expect(next == deadline, "a deadline of \(deadline) reads \(next ?? 0)")
          }
        }
        return [(timer, deadline)]
      },
      // P13b
      Scenario("a step of the wall clock while its queue's control block is used again", preemptions: 2) { world in
        let queue = world.queue(.host, isWall: true)
        var other: Queue?
        world.thread(calls: "step") { QueueCore.stepWallClock(queue.id, by: step) }
        world.thread("ender") { other = world.replace(queue, by: .host) }
        world.race()
        guard let other else { return }
        world.timer(other, after: second, finalizer: false)
        // The first pass may be the step's.
        for _ in 0..<2 { _ = other.drive() }
        world.expect(!other.isReadable, "a queue that has nothing due wants pass after pass")
      },
    ]

  private static func writeDeadlines(_ world: World, _ queue: Queue) -> [(TimerLog, Int64)] {
    let timer = world.timer(queue, after: nil)
    let other = world.log(queue)
    other.firstIsDeadline = true
    world.thread("writer") {
      world.call("restart", on: timer) { $0.restart(Schedule(first: deadline, firstIsDeadline: true)) }
      world.call("create") { other.create(deadline) }
    }
    return [(timer, deadline), (other, deadline)]
  }

  /// Steps with a pass after each, unless that is not to see them, beside what `others` do with timers; these have the deadlines that it gives.
  private static func scenario(
    _ name: String, steps: [Int64], areSeen: Bool = true, _ others: @escaping (World, Queue) -> [(TimerLog, Int64)]
  ) -> Scenario {
    Scenario(name, preemptions: 2) { world in
      let queue = world.queue(.host, isWall: true)
      let expected = others(world, queue)
      world.thread("driver") {
        for step in steps {
          QueueCore.stepWallClock(queue.id, by: step, isNoticed: areSeen)
          if areSeen { world.call("process") { queue.drive() } }
        }
      }
      world.race()
      _ = queue.drive()
      let offset = queue.core.control.lookAtWallClock()
      for (timer, deadline) in expected {
        let snapshot = timer.ref?.snapshot
        let (next, due) = (snapshot?.nextDeadline, snapshot.map { offset.time(of: $0.due) })
        world.expect(next == deadline, "a deadline of \(deadline) has become \(next ?? 0)")
        world.expect(due == deadline, "a tick with the deadline \(deadline) comes at \(due ?? 0)")
        _ = timer.ref?.cancel()
      }
    }
  }
}

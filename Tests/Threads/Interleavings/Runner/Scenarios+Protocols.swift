@testable import ChimeCore

/// A scenario or more for each row of Protocols.md.
extension Scenario {
  static let protocols: [Scenario] =
    queries + restful + ends + rings + claims + stale + creations + closing + objects + expiring + wallClock + runLoops
    + standing + pool + standingStill + endsBesideChanges + suspensions

  // MARK: Position and writer: a timer that is being written or looked at is not forgotten

  /// A writer that has lost its processor keeps the pass from its own timer only, and that one is not forgotten either:
  /// the scheduler looks for it when all have come to rest.
  private static func heldUp(
    _ world: World, after: Int64 = millisecond, fires: Bool = false, within steps: Int,
    _ body: @escaping (TimerRef) -> Status
  ) {
    let end = Scheduler.start + 6 * millisecond
    world.scheduler.jumpsLeft = 0
    let queue = world.queue(.serial)
    let held = world.timer(queue, after: after, every: millisecond, finalizer: false, callbacks: true)
    world.timer(queue, after: 2 * millisecond, finalizer: false) { tick in
      world.expect(tick.actual < end, "a timer that nobody writes was \(tick.actual - tick.scheduled) ns late")
    }
    if fires {
      _ = held.ref?.fire()
      // Passes that look for the earliest between the writer's end and the next turn of the one that was held back.
      for i in 0..<9 as Range<Int64> { world.timer(queue, after: 6 * millisecond + i * 100_000, finalizer: false) }
    }
    // While it writes; not with the lock that it takes to wake the queue, which is the system's to hand on.
    world.thread("writer", heldUpUntil: end, within: steps) { world.call("change", on: held, body) }
    world.thread("host") { world.sleep(until: end + 2 * millisecond) }
    world.race()
    if fires { world.expect(held.ticks > 0, "an extra tick is lost") }
  }

  /// The queue's threads have come to rest before and behind the queries, as nothing else can go on. [18]
  private static let restful: [Scenario] = Queue.Kind.allCases.map { kind in
    Scenario("queries bring no pass, \(kind.rawValue)") { world in
      let queue = world.queue(kind)
      let timers = [world.timer(queue, after: second), world.timer(queue, after: second, every: second)]
      _ = timers[1].ref?.suspend()
      world.race()
      _ = queue.drive()
      world.sleep(until: world.scheduler.clock + millisecond)
      let before = queue.core.counters.passes.load(ordering: .relaxed)
      for timer in timers {
        guard let ref = timer.ref else { return world.expect(false, "a timer's id is stale") }
        var text = TextWriter(nil, capacity: 0)
        _ = (
          ref.state, ref.generation, ref.nextDeadline, ref.remaining, ref.snapshot, TimerRef.nextDeadlineFast(ref.id)
        )
        _ = (ref.explain(into: &text), QueueCore.dump(queue.id, into: &text))
        _ = (QueueCore.now(queue.id), QueueCore.statistics(queue.id))
        if kind.isDriven { _ = try? QueueCore.nextDeadline(queue.id) }
      }
      world.expect(kind == .virtual || !kind.isDriven || !queue.isReadable, "the descriptor is readable")
      world.sleep(until: world.scheduler.clock + millisecond)
      let passes = queue.core.counters.passes.load(ordering: .relaxed) - before
      world.expect(passes == 0, "\(passes) passes for queries")
    }
  }

  /// [2] [18]
  private static let queries: [Scenario] = [
    // P10
    Scenario("advances beside one another") { world in
      let queue = world.queue(.virtual)
      for name in ["one", "another"] {
        world.thread(name) {
          while world.call("advance", { QueueCore.advance(queue.id, by: 3) }) == .busy { world.scheduler.giveWay(1) }
        }
      }
      world.race()
      world.expect(queue.core.control.virtualNow == Scheduler.start + 6, "time has not moved by what the advances say")
    },
    // P3b, P12
    Scenario("a query beside advance", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10, finalizer: false)
      world.thread("driver") {
        world.call("advance", answers: .ok) { queue.drive(Scheduler.start + 20) }
        world.expect(timer.ticks == 1, "advance answered OK and the tick was not delivered")
      }
      world.thread(calls: "info") { timer.ref?.snapshot?.state }
    },
    // P3b
    Scenario("a query beside run", preemptions: 2) { world in
      let queue = world.queue(.host)
      let timer = world.timer(queue, after: millisecond, finalizer: false)
      world.thread("driver") {
        world.call("run", answers: .ok) { QueueCore.run(queue.id, untilStopped: false) }
        world.expect(timer.ticks == 1, "run answered OK and a timer was running")
      }
      world.thread("asker") { for _ in 0..<2 { world.call("info") { timer.ref?.snapshot?.state } } }
    },
    Scenario("release beside next_deadline", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10)
      world.thread(calls: "next_deadline") { try? QueueCore.nextDeadline(queue.id) }
      world.thread("releaser") {
        timer.isReleased = true
        world.call("release", on: timer) { $0.release() }
      }
      world.race()
      world.expect(timer.finalized == 1, "the finalizer waits though nobody is inside the queue")
    },
    // P10
    Scenario("next_deadline that stands still beside others") { world in
      world.scheduler.jumpsLeft = 0
      let queue = world.queue(.host)
      let timer = world.timer(queue, after: second)
      let end = Scheduler.start + 20 * millisecond
      world.thread("driver", heldUpUntil: end, within: 96) {
        _ = queue.drive()
        world.call("next_deadline") { try? QueueCore.nextDeadline(queue.id) }
      }
      world.thread("releaser") {
        world.sleep(until: Scheduler.start + millisecond)
        timer.isReleased = true
        world.call("release", on: timer) { $0.release() }
        world.call("process") { try? QueueCore.process(queue.id, most: .max) }
        world.expect(world.scheduler.clock < end, "a call waits for a query that stands still")
      }
      // Without it time would jump to the end in an instant's sleep.
      world.thread("host") { for i in 1..<20 as Range<Int64> { world.sleep(until: Scheduler.start + i * millisecond) } }
      world.race()
      if queue.isReadable { _ = queue.drive() }
      world.expect(timer.finalized == 1, "the finalizer waits though nobody is inside the queue")
    },
    // P3b, P10
    Scenario("a query beside next_deadline", preemptions: 2) { world in
      let queue = world.queue(.host)
      let timer = world.timer(queue, after: second, finalizer: false)
      world.thread("driver") {
        _ = queue.drive()
        for _ in 0..<2 {
          let next = world.call("next_deadline") { try? QueueCore.nextDeadline(queue.id) }
          world.expect(next != .max, "next_deadline answered FOREVER while a timer was running")
        }
      }
      world.thread("asker") { for _ in 0..<2 { world.call("info") { timer.ref?.snapshot?.state } } }
    },
    Scenario("a wake-up beside a pass, host", preemptions: 2) { world in
      let queue = world.queue(.host)
      let timer = world.timer(queue, after: nil, finalizer: false)
      world.scheduler.latest = Scheduler.start + second
      world.thread(calls: "process") { queue.drive() }
      world.thread(calls: "restart", on: timer) { $0.restart(Schedule(first: 0)) }
      world.race()
      world.sleep(until: world.scheduler.clock + millisecond)
      world.expect(timer.ticks == 1 || queue.isReadable, "a timer is due, and the descriptor is not readable")
    },
    // P2
    Scenario("a reschedule beside a position that moves", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10, finalizer: false)
      _ = queue.drive(Scheduler.start)
      // From here on the wheel has it too early, and finds that out.
      _ = timer.ref.map { TimerRef.postpone($0.id, until: Scheduler.start + 40) }
      world.thread("query") { _ = try? QueueCore.nextDeadline(queue.id) }
      world.thread(calls: "reschedule", on: timer) { $0.reschedule(Schedule(first: 20)) }
      world.race()
      world.expect(queue.drive(Scheduler.start + 25) == .ok && timer.ticks == 1, "advance left a tick behind")
    },
    Scenario("a drive just before a deadline, in the same tick of the wheel") { world in
      let queue = world.queue(.host)
      let deadline = (Scheduler.start >> 10 + 100) << 10 + 1000
      let timer = world.timer(queue, after: deadline, isDeadline: true, finalizer: false)
      world.thread("driver") {
        for (time, ticks) in [(deadline - 500, 0), (deadline + 1024, 1)] {
          world.sleep(until: time)
          _ = queue.drive()
          world.expect(
            timer.ticks == ticks, "\(timer.ticks) ticks \(deadline - world.scheduler.clock) ns before it was due")
        }
      }
    },
    Scenario("a restart while the handler that has cancelled comes to its end", preemptions: 2) { world in
      // Cancelled in its extra tick it keeps its place in the wheel, on which the restart relies.
      var timer: TimerLog?
      timer = world.timer(world.queue(.concurrent), after: millisecond, finalizer: false) { tick in
        if tick.kind == TickKind.fired.rawValue { _ = timer?.ref?.cancel() }
      }
      world.thread(calls: "fire", on: timer) { $0.fire() }
      world.thread(calls: "restart", on: timer) { $0.restart(Schedule(first: millisecond)) }
    },
    // P2
    Scenario("a restart that is held up beyond the end of the handler that has cancelled") { world in
      let queue = world.queue(.concurrent)
      // At 1 ms the pass takes away the position on which the writer relies, and hands a delivery on for the writer's
      // sake, which finds the timer busy; at 1.5 ms the handler returns, and sends the timer on; at 2 ms the pass finds
      // it in the inbox, and its writer still at work. So time goes on only when nobody else can.
      world.scheduler.jumpsLeft = 0
      var timer: TimerLog?
      let isCancelled = WakeUp()
      timer = world.timer(queue, after: millisecond, finalizer: false) { tick in
        if tick.kind != TickKind.fired.rawValue { return }
        _ = timer?.ref?.cancel()
        isCancelled.signal()
        world.sleep(until: Scheduler.start + 3 * millisecond / 2)
      }
      _ = timer?.ref?.fire()
      world.timer(queue, after: 2 * millisecond, finalizer: false)
      world.thread("writer", heldUpUntil: Scheduler.start + 3 * millisecond) {
        isCancelled.wait()
        world.call("restart", on: timer) { $0.restart(Schedule(first: millisecond)) }
      }
    },
    // P2c
    Scenario("a pass beside a restart that is held up") { world in
      heldUp(world, within: 40) { $0.restart(Schedule(first: 2 * millisecond)) }
    },
    // P2c
    Scenario("a pass beside an ignored call that is held up, and an extra tick") { world in
      heldUp(world, after: second, fires: true, within: 8) { $0.resume() }
    },
    // P2c
    Scenario("a pass beside a suspend that is held up") { world in
      heldUp(world, within: 12) { $0.suspend() }
    },
    // P3
    queries("two reschedules", of: { $0.timer($1, after: 100, every: 100, finalizer: false) }) { world, timer in
      for interval in [200, 300] as [Int64] {
        world.thread("writer") {
          for interval in [interval, interval + 1000] {
            let schedule = Schedule(first: interval, interval: interval, leeway: interval / 10)
            world.call("reschedule", on: timer) { $0.reschedule(schedule) }
          }
        }
      }
      return [100, 200, 300, 1200, 1300]
    },
    // P3
    queries("a restart", of: postponed) { world, timer in
      world.thread(calls: "restart", on: timer) { $0.restart(Schedule(first: 900)) }
      return [500, 900]
    },
    // P3
    queries("a restart by id", of: postponed) { world, timer in
      let plain: TimerRef.OneShotSchedule = (first: 50, firstIsDeadline: false, leeway: .none)
      world.thread("writer") {
        for _ in 0..<2 {
          world.call("restart", on: timer) {
            TimerRef.restartFast($0.id, plain) ? .ok : $0.restart(Schedule(first: 50))
          }
        }
      }
      return [500, 50]
    },
    // P3
    queries("suspend", of: postponed) { world, timer in
      world.thread(calls: "suspend", on: timer) { $0.suspend() }
      return [500, nil]
    },
    // P3
    queries("suspend and resume of what remains", of: remaining) { world, timer in
      world.thread("writer") {
        world.call("suspend", on: timer) { $0.suspend() }
        world.call("resume", on: timer) { $0.resume() }
      }
      return [100, nil, 100]
    },
    // P3
    queries("a long postponement", of: postponed) { world, timer in
      world.thread("writer") {
        for delay in [5 * second, 10 * second] {
          world.call("postpone", on: timer) { TimerRef.postpone($0.id, until: Scheduler.start + delay) }
        }
      }
      return [500, 5 * second, 10 * second]
    },
    // P3
    queries("a long postponement and a restart", of: postponed) { world, timer in
      world.thread(calls: "postpone", on: timer) { TimerRef.postpone($0.id, until: Scheduler.start + 5 * second) }
      world.thread(calls: "restart", on: timer) { $0.restart(Schedule(first: 900)) }
      return [500, 900, 5 * second]
    },
    // P3
    queries("a tick", of: { $0.timer($1, after: 100, every: 100, finalizer: false) }) { world, timer in
      world.thread(calls: "advance") { timer.queue.drive(Scheduler.start + 150) }
      return [100, 200]
    },
    // A writer that has ended lets go of the time before its change a little later: it is not the next writer's.
    // P3b
    Scenario("a query beside a restart behind a long postponement") { world in
      let timer = world.timer(world.queue(.virtual), after: 100, finalizer: false)
      var isPostponed = false
      world.thread("postponer", heldUpUntil: Scheduler.start + 50, within: 32) {
        world.call("postpone", on: timer) { TimerRef.postpone($0.id, until: Scheduler.start + 5 * second) }
      }
      world.thread("writer") {
        if world.call("next_deadline", { timer.ref?.nextDeadline }) != Scheduler.start + 5 * second { return }
        isPostponed = true
        for _ in 0..<8 { world.call("restart", on: timer) { $0.restart(Schedule(first: 900)) } }
      }
      world.thread("asker") {
        for _ in 0..<24 {
          let mayBeFirst = !isPostponed
          let next = world.call("next_deadline") { timer.ref?.nextDeadline }
          world.expect(mayBeFirst || next != Scheduler.start + 100, "the time before the postponement again")
        }
      }
    },
    Scenario("a restart and advance beside a restart", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: nil, finalizer: false)
      world.thread("driver") {
        world.call("restart", on: timer) { $0.restart(Schedule(first: 10)) }
        world.call("advance") { queue.drive(Scheduler.start + 20) }
        world.expect(timer.ticks > 0, "advance left a tick behind")
      }
      world.thread(calls: "restart", on: timer) { $0.restart(Schedule(first: 10)) }
    },
  ]

  /// Queries of next deadline and generation are exact, whatever a writer of the timer is doing.
  /// - Parameter writers: adds threads; gives the only next deadlines that there are, from the start, `nil` for never.
  ///   The first is the timer's now. Unless it comes again in the list, it is not told again once another was.
  private static func queries(
    _ name: String, of make: @escaping (World, Queue) -> TimerLog,
    _ writers: @escaping (World, TimerLog) -> [Int64?]
  ) -> Scenario {
    // P3
    Scenario("queries beside \(name)") { world in
      // The generation soon runs over into the side record.
      Seam.generationMask = 0xF
      let timer = make(world, world.queue(.virtual))
      let before = timer.ref?.generation ?? 0
      let deadlines = writers(world, timer).map { $0.map { Scheduler.start + $0 } ?? .max }
      world.thread("asker") {
        var generation = before
        var isFirstOver = false
        for _ in 0..<3 {
          guard let info = world.call("info", { timer.ref?.snapshot }) else {
            return world.expect(false, "info named no timer")
          }
          world.expect(info.generation >= generation, "generation \(info.generation) after \(generation)")
          generation = info.generation
          let asked = world.call("generation") { timer.ref?.generation } ?? 0
          world.expect(asked >= generation, "generation \(asked) after \(generation)")
          world.expect(asked & 0xF != before & 0xF || asked == before, "generation \(asked), before it \(before)")
          generation = asked
          for next in [info.nextDeadline, world.call("next_deadline") { timer.ref?.nextDeadline }] {
            world.expect(
              next.map(deadlines.contains) == true, "next deadline \((next ?? 0) - Scheduler.start)")
            if next != deadlines[0] { isFirstOver = !deadlines.dropFirst().contains(deadlines[0]) }
            world.expect(next != deadlines[0] || !isFirstOver, "the first deadline again")
          }
        }
      }
    }
  }

  private static func postponed(_ world: World, _ queue: Queue) -> TimerLog {
    let timer = world.timer(queue, after: 100, finalizer: false)
    // To the end of a half of the generation's range: what comes next is counted in the side record.
    while timer.ref?.generation.map({ $0 & 0xF }) != 0xF { _ = timer.ref?.reschedule(Schedule(first: 100)) }
    _ = timer.ref.map { TimerRef.postpone($0.id, until: Scheduler.start + 500) }
    return timer
  }

  private static func remaining(_ world: World, _ queue: Queue) -> TimerLog {
    let timer = world.timer(queue, after: 100, finalizer: false)
    _ = timer.ref?.reschedule(Schedule(first: 100, resumePolicy: .remaining))
    return timer
  }

  // MARK: run ends with the last timer

  /// [18]
  private static let ends: [Scenario] =
    ([
      ("cancel", { $0.cancel() }),
      ("cancel_and_wait", { $0.cancelAndWait(timeout: .max) }),
      ("suspend", { $0.suspend() }),
      ("release", { $0.release() }),
      ("cancel by id", { TimerRef.cancel($0.id) }),
      ("release by id", { TimerRef.release($0.id) }),
      ("reschedule to never", { $0.reschedule(Schedule(first: .max)) }),
      ("restart to never", { $0.restart(Schedule(first: .max)) }),
      ("reschedule to now", { $0.reschedule(Schedule(first: 0)) }),
      ("postpone to never", { TimerRef.postpone($0.id, until: .max) }),
    ] as [(String, (TimerRef) -> Status)]).map { name, end in
      // P5
      runScenario("\(name) ends run", preemptions: name.hasPrefix("cancel") ? 1 : 0) { world, queue in
        // Without a finalizer one compare-and-swap ends it.
        let isPlain = name.hasPrefix("cancel") || name.hasPrefix("release")
        let timer = world.timer(queue, after: 10 * second, finalizer: !isPlain)
        // So that no pass changes the word, which would have the compare-and-swap fail.
        if isPlain { _ = queue.drive() }
        world.thread(calls: name, on: timer, end)
      }
    } + [
      // P5
      runScenario("the end of its target ends run") { world, queue in
        let counted = Counted()
        let target = makeTarget(counted)
        _ = world.log(queue, target: target).create(10 * second)
        world.thread(calls: "release of the target") {
          withExtendedLifetime(counted) { TimerTarget.releaseReference(target) }
        }
      },
      // P5
      runScenario("the release of its queue ends run", answers: .shutDown, .invalidHandle) { world, queue in
        world.timer(queue, after: 10 * second)
        world.thread(calls: "release") { QueueCore.release(queue.id) }
      },
      // P5
      runScenario("cancel of two timers ends run") { world, queue in
        for delay in [10 * second, 20 * second] {
          let timer = world.timer(queue, after: delay)
          world.thread(calls: "cancel", on: timer) { $0.cancel() }
        }
      },
      // P5b
      runScenario("another thread takes the last tick of run", answers: .ok, .busy) { world, queue in
        world.timer(queue, after: millisecond, finalizer: false)
        world.thread("second driver") {
          world.sleep(until: Scheduler.start + 2 * millisecond)
          world.call("process") { queue.drive() }
        }
      },
      // P5b
      runScenario("another thread takes the last two ticks of run", preemptions: 2, answers: .ok, .busy) {
        world, queue in
        let timers = [100, 200].map { world.timer(queue, after: $0 * second, finalizer: false) }
        world.thread("second driver") {
          for timer in timers {
            world.call("reschedule", on: timer) { $0.reschedule(Schedule(first: 0)) }
            world.call("process") { queue.drive() }
          }
        }
      },
      // P5b
      runScenario("another run takes the last tick of run", preemptions: 2, answers: .ok, .busy) { world, queue in
        world.timer(queue, after: millisecond, finalizer: false)
        world.thread("second driver") { _ = world.call("run") { QueueCore.run(queue.id, untilStopped: false) } }
      },
      // P11c
      Scenario("stop ends run, twice") { world in
        let queue = world.queue(.host)
        world.timer(queue, after: 10 * second)
        world.scheduler.latest = Scheduler.start + second
        world.thread("driver") {
          for _ in 0..<2 { world.call("run", answers: .stopped) { QueueCore.run(queue.id, untilStopped: true) } }
        }
        world.thread("stopper") {
          for _ in 0..<2 {
            while world.call("stop", { QueueCore.stop(queue.id) }) == .ignored { world.scheduler.giveWay(1) }
          }
        }
      },
    ]

  /// `run` on a host-driven queue, which ends though no tick comes in the scenario's time, beside what `others` do.
  private static func runScenario(
    _ name: String, preemptions: Int = 0, answers: Status..., others: @escaping (World, Queue) -> Void
  ) -> Scenario {
    Scenario(name, preemptions: preemptions) { world in
      let queue = world.queue(.host)
      world.scheduler.latest = Scheduler.start + second
      world.thread("driver") {
        let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
        world.expect((answers.isEmpty ? [.ok] : answers).contains(status), "run answered \(status.rawValue)")
      }
      others(world, queue)
    }
  }

  // MARK: Waits

  private static let rings: [Scenario] =
    [(Queue.Kind.serial, 2), (.precise, 2), (.serial, 3), (.precise, 3)].map { kind, count in
      // P6
      handlersScenario(
        "a ring of sync of \(count) \(kind.rawValue) queues", [Queue.Kind](repeating: kind, count: count)
      ) {
        world, queues, _, next in
        world.call("sync", answers: .ok, .wouldDeadlock) { QueueCore.sync(queues[next].id, timeout: .max) {} }
      }
    } + [
      // P6
      handlersScenario("handlers that wait for each other's timer", [.precise, .serial]) { world, _, timers, next in
        let status = world.call("cancel_and_wait", on: timers[next]) { $0.cancelAndWait(timeout: .max) }
        world.expect(!status.isFailure || status == .wouldDeadlock, "cancel_and_wait answered \(status.rawValue)")
      },
      // P6
      handlersScenario("handlers that shut each other's queue down", [.precise, .serial]) { world, queues, _, next in
        world.call("shutdown", answers: .ok, .wouldDeadlock, .invalidHandle) {
          QueueCore.shutdown(queues[next].id, timeout: .max)
        }
      },
      // P6
      Scenario("a handler that waits for one whose sync is over") { world in
        let queues = [world.queue(.precise), world.queue(.precise)]
        var first: TimerLog!
        let second = world.timer(queues[1], after: nil, finalizer: false) { _ in
          let status = world.call("cancel_and_wait", on: first) { $0.cancelAndWait(timeout: .max) }
          world.expect(!status.isFailure, "cancel_and_wait answered \(status.rawValue)")
        }
        first = world.timer(queues[0], after: millisecond, finalizer: false) { _ in
          // The second handler begins when this function has returned, and with it what the first one waits for.
          _ = world.call("sync") {
            QueueCore.sync(queues[1].id, timeout: .max) { _ = second.ref?.restart(Schedule(first: 0)) }
          }
        }
        world.thread("host") { world.sleep(until: Scheduler.start + 5 * millisecond) }
        world.race()
        world.expect(second.ticks == 1, "the second handler was not called")
      },
      // P6
      Scenario("cancel_and_wait of one callback by two threads") { world in
        let timer = world.timer(world.queue(.precise), after: 1, every: millisecond) { _ in
          world.sleep(until: Scheduler.start + millisecond / 2)
        }
        for _ in 0..<2 {
          world.thread(calls: "cancel_and_wait", on: timer) { ref in
            world.sleep(until: Scheduler.start + millisecond / 8)  // the handler has begun
            return timer.stopping(waits: true) { ref.cancelAndWait(timeout: .max) }
          }
        }
        // As the pool does when it has no thread for a queue.
        world.thread("waker") {
          world.sleep(until: Scheduler.start + millisecond / 4)
          world.call("wakeAll") { WaitRegistry.wakeAll() }
        }
      },
      // P6
      Scenario("release_and_wait of one callback beside a wake") { world in
        let timer = world.timer(world.queue(.precise), after: 1) { _ in
          world.sleep(until: Scheduler.start + millisecond / 2)
        }
        world.thread(calls: "release_and_wait", on: timer) { ref in
          world.sleep(until: Scheduler.start + millisecond / 8)
          return timer.stopping(waits: true) { ref.releaseAndWait(timeout: .max) }
        }
        world.thread("waker") {
          world.sleep(until: Scheduler.start + millisecond / 4)
          world.call("wakeAll") { WaitRegistry.wakeAll() }
        }
      },
      // P6
      Scenario("sync beside the end of its queue") { world in
        let queue = world.queue(.precise)
        world.timer(queue, after: millisecond)
        world.thread("syncer") { queue.sync(timeout: .max) }
        world.thread(calls: "shutdown") { QueueCore.shutdown(queue.id, timeout: .max) }
      },
    ]
    + ([.serial, .concurrent, .precise] as [Queue.Kind]).map { kind in
      // P6
      Scenario("cancel_and_wait of a timer that starts itself again, \(kind.rawValue)") { world in
        var timer: TimerLog!
        timer = world.timer(world.queue(kind), after: 1) { _ in
          if timer.ticks < 4 { _ = timer.ref?.restart(Schedule(first: 0)) }
        }
        world.thread(calls: "cancel_and_wait", on: timer) { ref in
          timer.stopping(waits: true) { ref.cancelAndWait(timeout: .max) }
        }
      }
    }

  /// A handler on each of the queues, at the same time, with the queues, the timers and the next one's number.
  private static func handlersScenario(
    _ name: String, _ kinds: [Queue.Kind], _ handler: @escaping (World, [Queue], [TimerLog], Int) -> Void
  ) -> Scenario {
    Scenario(name) { world in
      let queues = kinds.map { world.queue($0) }
      var timers: [TimerLog] = []
      for (i, queue) in queues.enumerated() {
        let next = (i + 1) % queues.count
        timers.append(
          world.timer(queue, after: millisecond, finalizer: false) { _ in handler(world, queues, timers, next) })
      }
      world.thread("host") {
        while timers.contains(where: { $0.ref?.state == .running || $0.ref?.isBusy == true }) {
          world.sleep(until: world.scheduler.clock + millisecond)
        }
      }
    }
  }
}

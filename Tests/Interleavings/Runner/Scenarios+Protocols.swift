@testable import ChimeCore

/// A scenario or more for each row of the table of protocols.
extension Scenario {
  static let protocols: [Scenario] =
    queries + ends + rings + stale + closing + objects + wallClock + runLoops

  // MARK: Position and writer: a timer that is being written or looked at is not forgotten

  private static let queries: [Scenario] = [
    Scenario("a query beside advance", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10, finalizer: false)
      world.thread("driver") {
        let status = world.call("advance") { queue.drive(Scheduler.start + 20) }
        world.expect(status == .ok && timer.ticks == 1, "advance answered OK and the tick was not delivered")
      }
      world.thread("asker") { _ = world.call("info") { timer.ref?.info?.state } }
      world.race()
    },
    Scenario("a query beside run", preemptions: 2) { world in
      let queue = world.queue(.host)
      let timer = world.timer(queue, after: millisecond, finalizer: false)
      world.thread("driver") {
        let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
        world.expect(status == .ok && timer.ticks == 1, "run answered OK and a timer was running")
      }
      world.thread("asker") {
        for _ in 0..<2 { _ = world.call("info") { timer.ref?.info?.state } }
      }
      world.race()
    },
    Scenario("release beside next_deadline", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10)
      world.thread("asker") { _ = world.call("next_deadline") { QueueCore.nextDeadline(queue.id) } }
      world.thread("releaser") {
        timer.isReleased = true
        _ = world.call("release") { timer.ref?.release() ?? .ok }
      }
      world.race()
      world.expect(timer.finalized == 1, "the finalizer waits though nobody is inside the queue")
    },
    Scenario("a query beside next_deadline", preemptions: 2) { world in
      let queue = world.queue(.host)
      let timer = world.timer(queue, after: second, finalizer: false)
      world.thread("driver") {
        _ = queue.drive()
        for _ in 0..<2 {
          if case .success(let next) = world.call("next_deadline", { QueueCore.nextDeadline(queue.id) }) {
            world.expect(next != .max, "next_deadline answered FOREVER while a timer was running")
          }
        }
      }
      world.thread("asker") {
        for _ in 0..<2 { _ = world.call("info") { timer.ref?.info?.state } }
      }
      world.race()
    },
    Scenario("postpone beside run") { world in
      let queue = world.queue(.host)
      let timers = [0, 1].map { _ in world.timer(queue, after: millisecond, finalizer: false) }
      world.thread("driver") {
        let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
        world.expect(status == .ok, "run answered \(status.rawValue)")
        for timer in timers { world.expect(timer.ticks == 1, "run answered OK and a timer was running") }
      }
      for timer in timers {
        world.thread("writer") {
          _ = world.call("postpone") { timer.ref?.postpone(delay: 2 * millisecond) ?? .ok }
          _ = world.call("set_leeway") { timer.ref?.setLeeway(10_000) ?? .ok }
        }
      }
      world.race()
    },
    Scenario("reschedule beside advance") { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10, finalizer: false)
      world.thread("driver") {
        for time in [5, 20, 40] as [Int64] { _ = world.call("advance") { queue.drive(Scheduler.start + time) } }
      }
      world.thread("writer") { _ = world.call("reschedule") { timer.ref?.reschedule(Schedule(first: 7)) ?? .ok } }
      world.thread("asker") { _ = world.call("next_deadline") { timer.ref?.nextDeadline } }
      world.race()
    },
    Scenario("a reschedule beside a position that moves", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 10, finalizer: false)
      _ = queue.drive(Scheduler.start)
      // From here on the wheel has it too early, and finds that out.
      _ = timer.ref?.postpone(until: Scheduler.start + 40)
      world.thread("driver") { _ = world.call("advance") { queue.drive(Scheduler.start + 5) } }
      world.thread("writer") { _ = world.call("reschedule") { timer.ref?.reschedule(Schedule(first: 20)) ?? .ok } }
      world.race()
      world.expect(queue.drive(Scheduler.start + 25) == .ok && timer.ticks == 1, "advance left a tick behind")
    },
    Scenario("a restart while the handler that has cancelled comes to its end", preemptions: 2) { world in
      let queue = world.queue(.concurrent)
      // Cancelled in its extra tick it keeps its place in the wheel, on which the restart relies.
      var timer: TimerLog?
      timer = world.timer(queue, after: millisecond, finalizer: false) { tick in
        if tick.kind == TickKind.fired.rawValue { _ = timer?.ref?.cancel() }
      }
      world.thread("firer") { _ = world.call("fire") { timer?.ref?.fire() ?? .ok } }
      world.thread("writer") { _ = world.call("restart") { timer?.ref?.restart(Schedule(first: millisecond)) ?? .ok } }
      world.race()
    },
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
        _ = world.call("restart") { timer?.ref?.restart(Schedule(first: millisecond)) ?? .ok }
      }
      world.race()
    },
    Scenario("a query beside two reschedules") { world in
      let timer = world.timer(world.queue(.virtual), after: 100, every: 100, finalizer: false)
      queryBesideReschedules(world, timer: timer) {}
    },
    Scenario("a query beside writers that share an image") { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: 100, every: 100, finalizer: false)
      let other = world.timer(queue, after: 5000, every: 700, finalizer: false)
      world.thread("writer of another") {
        shareImage()
        for _ in 0..<2 { _ = world.call("restart") { other.ref?.restart(Schedule(first: 900)) ?? .ok } }
      }
      queryBesideReschedules(world, timer: timer, shareImage)
    },
    Scenario("a restart and advance beside a restart", preemptions: 2) { world in
      let queue = world.queue(.virtual)
      let timer = world.timer(queue, after: nil, finalizer: false)
      world.thread("driver") {
        _ = world.call("restart") { timer.ref?.restart(Schedule(first: 10)) ?? .ok }
        _ = world.call("advance") { queue.drive(Scheduler.start + 20) }
        world.expect(timer.ticks > 0, "advance left a tick behind")
      }
      world.thread("writer") { _ = world.call("restart") { timer.ref?.restart(Schedule(first: 10)) ?? .ok } }
      world.race()
    },
    Scenario("two restarts beside the pass") { world in
      let queue = world.queue(.precise)
      let timer = world.timer(queue, after: millisecond, finalizer: false)
      for delay in [millisecond, 3 * millisecond] {
        world.thread("writer") {
          for _ in 0..<2 { _ = world.call("restart") { timer.ref?.restart(Schedule(first: delay)) ?? .ok } }
        }
      }
      world.race()
    },
  ]

  /// - Parameter begin: what each writer does first.
  private static func queryBesideReschedules(_ world: World, timer: TimerLog, _ begin: @escaping () -> Void) {
    _ = timer.ref?.setLeeway(10)
    for interval in [200, 300] as [Int64] {
      world.thread("writer") {
        begin()
        for i in 0..<2 as Range<Int64> {
          let schedule = Schedule(
            first: interval + i * 1000, interval: interval + i * 1000, leeway: interval / 10 + i * 100)
          _ = world.call("reschedule") { timer.ref?.reschedule(schedule) ?? .ok }
        }
      }
    }
    world.thread("asker") {
      var generation: UInt64 = 0
      for _ in 0..<4 {
        guard let info = world.call("info", { timer.ref?.info }) else {
          return world.expect(false, "info named no timer")
        }
        world.expect(info.generation >= generation, "generation \(info.generation) after \(generation)")
        generation = info.generation
        world.expect(
          info.leeway == info.interval / 10 && info.nextDeadline == Scheduler.start + info.interval,
          "interval \(info.interval), leeway \(info.leeway), next deadline \(info.nextDeadline - Scheduler.start)")
      }
    }
    world.race()
  }

  /// Has the calling thread be one without memory for an image of its own (P3d).
  private static func shareImage() {
    guard let storage = ThreadState.obtain()?.storage else { return }
    WriterImages.giveBack(storage.pointee.image)
    storage.pointee.image = 0
  }

  // MARK: run ends with the last timer

  private static let ends: [Scenario] =
    ["cancel", "suspend", "release", "reschedule to never", "postpone to never"].map { name in
      Scenario("\(name) ends run", preemptions: name == "cancel" ? 1 : 0) { world in
        let queue = world.queue(.host)
        let timer = world.timer(queue, after: 10 * second, finalizer: name != "cancel")
        world.scheduler.latest = Scheduler.start + second
        world.thread("driver") {
          let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
          world.expect(status == .ok, "run answered \(status.rawValue)")
        }
        world.thread("ender") {
          _ = world.call(name) {
            switch name {
            case "cancel": timer.ref?.cancel() ?? .ok
            case "suspend": timer.ref?.suspend() ?? .ok
            case "release": timer.ref?.release() ?? .ok
            case "reschedule to never": timer.ref?.reschedule(Schedule(first: .max)) ?? .ok
            default: timer.ref?.postpone(until: .max) ?? .ok
            }
          }
        }
        world.race()
      }
    } + [
      Scenario("another thread takes the last tick of run") { world in
        let queue = world.queue(.host)
        world.timer(queue, after: millisecond, finalizer: false)
        world.thread("driver") {
          let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
          world.expect(status == .ok || status == .busy, "run answered \(status.rawValue)")
        }
        world.thread("second driver") {
          world.sleep(until: Scheduler.start + 2 * millisecond)
          _ = world.call("process") { queue.drive() }
        }
        world.race()
      },
      Scenario("another thread takes the last two ticks of run", preemptions: 2) { world in
        let queue = world.queue(.host)
        let timers = [100, 200].map { world.timer(queue, after: $0 * second, finalizer: false) }
        world.scheduler.latest = Scheduler.start + second
        world.thread("driver") {
          let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
          world.expect(status == .ok || status == .busy, "run answered \(status.rawValue)")
        }
        world.thread("second driver") {
          for timer in timers {
            _ = world.call("reschedule") { timer.ref?.reschedule(Schedule(first: 0)) ?? .ok }
            _ = world.call("process") { queue.drive() }
          }
        }
        world.race()
      },
      Scenario("cancel of two timers ends run") { world in
        let queue = world.queue(.host)
        let timers = [10, 20].map { world.timer(queue, after: $0 * second) }
        world.scheduler.latest = Scheduler.start + second
        world.thread("driver") {
          let status = world.call("run") { QueueCore.run(queue.id, untilStopped: false) }
          world.expect(status == .ok, "run answered \(status.rawValue)")
        }
        for timer in timers { world.thread("ender") { _ = world.call("cancel") { timer.ref?.cancel() ?? .ok } } }
        world.race()
      },
      Scenario("stop ends run and wait") { world in
        let queue = world.queue(.host)
        world.timer(queue, after: 10 * second)
        world.scheduler.latest = Scheduler.start + second
        world.thread("driver") {
          for call in [{ QueueCore.run(queue.id, untilStopped: true) }, { QueueCore.wait(queue.id, timeout: .max) }] {
            let status = world.call("run or wait", call)
            world.expect(status == .stopped, "run or wait answered \(status.rawValue)")
          }
        }
        world.thread("stopper") {
          for _ in 0..<2 {
            while world.call("stop", { QueueCore.stop(queue.id) }) == .ignored { world.scheduler.giveWay(1) }
          }
        }
        world.race()
      },
    ]

  // MARK: Waits

  private static let rings: [Scenario] =
    [(Queue.Kind.serial, 2), (.precise, 2), (.serial, 3), (.precise, 3)].map { kind, count in
      Scenario("a ring of sync of \(count) \(kind.rawValue) queues") { world in
        let queues = (0..<count).map { _ in world.queue(kind) }
        for (i, queue) in queues.enumerated() {
          world.timer(queue, after: millisecond, finalizer: false) { _ in
            let status = world.call("sync") { QueueCore.sync(queues[(i + 1) % count].id, timeout: .max) {} }
            world.expect(status == .ok || status == .wouldDeadlock, "sync answered \(status.rawValue)")
          }
        }
        world.thread("host") { world.sleep(until: Scheduler.start + 5 * millisecond) }
        world.race()
      }
    } + [
      Scenario("handlers that wait for each other's timer") { world in
        let queues = [world.queue(.precise), world.queue(.serial)]
        var timers: [TimerLog] = []
        for (i, queue) in queues.enumerated() {
          timers.append(
            world.timer(queue, after: millisecond, finalizer: false) { _ in
              let other = timers[1 - i]
              let status = world.call("cancel_and_wait") { other.ref?.cancelAndWait(timeout: .max) ?? .ok }
              world.expect(!status.isFailure || status == .wouldDeadlock, "cancel_and_wait answered \(status.rawValue)")
            })
        }
        world.thread("host") { world.sleep(until: Scheduler.start + 5 * millisecond) }
        world.race()
      },
      Scenario("a handler that waits for one whose sync is over") { world in
        let queues = [world.queue(.precise), world.queue(.precise)]
        var first: TimerLog!
        let second = world.timer(queues[1], after: nil, finalizer: false) { _ in
          let status = world.call("cancel_and_wait") { first.ref?.cancelAndWait(timeout: .max) ?? .ok }
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
      Scenario("handlers that shut each other's queue down") { world in
        let queues = [world.queue(.precise), world.queue(.serial)]
        for (i, queue) in queues.enumerated() {
          world.timer(queue, after: millisecond) { _ in
            let status = world.call("shutdown") { QueueCore.shutdown(queues[1 - i].id, timeout: .max) }
            world.expect(
              status == .ok || status == .wouldDeadlock || status == .invalidHandle,
              "shutdown answered \(status.rawValue)")
          }
        }
        world.thread("host") { world.sleep(until: Scheduler.start + 5 * millisecond) }
        world.race()
      },
      Scenario("cancel_and_wait of one callback by two threads") { world in
        let queue = world.queue(.precise)
        let timer = world.timer(queue, after: 1, every: millisecond)
        for _ in 0..<2 {
          world.thread("waiter") {
            _ = world.call("cancel_and_wait") {
              timer.stopping(waits: true) { timer.ref?.cancelAndWait(timeout: .max) ?? .invalidHandle }
            }
          }
        }
        world.race()
      },
      Scenario("sync beside the end of its queue") { world in
        let queue = world.queue(.precise)
        world.timer(queue, after: millisecond)
        world.thread("syncer") {
          var ran = false
          let status = world.call("sync") { QueueCore.sync(queue.id, timeout: .max) { ran = true } }
          world.expect(ran == (status == .ok), "sync answered \(status.rawValue), its function ran: \(ran)")
        }
        world.thread("ender") { _ = world.call("shutdown") { QueueCore.shutdown(queue.id, timeout: .max) } }
        world.race()
      },
    ]
}

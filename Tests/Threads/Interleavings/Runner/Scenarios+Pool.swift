@testable import ChimeCore

/// The turns of the pool's items, the bell, and the batch of a concurrent queue (P23, P23b, P23d, P24).
extension Scenario {
  static let pool: [Scenario] = [
    // P23
    Scenario("a turn given up beside a wake") { world in
      let queue = world.queue(.serial)
      for _ in 0..<3 {
        let timer = world.timer(queue, after: nil, finalizer: false)
        world.thread("caller") {
          for _ in 0..<3 { world.call("restart", on: timer) { $0.restart(Schedule(first: 0)) } }
        }
      }
    },
    // P23
    Scenario("a close beside a turn") { world in
      let queue = world.queue(.serial)
      let timer = world.timer(queue, after: millisecond)
      world.thread("closer") {
        world.sleep(until: Scheduler.start + millisecond)
        _ = world.call("shutdown", answers: .ok) { QueueCore.shutdown(queue.id, timeout: .max) }
        timer.isReleased = true
        world.expect(timer.finalized == 1, "shutdown answered OK, and a finalizer is left")
      }
    },
    // P23b
    Scenario("the last thread goes to sleep beside a bell") { world in
      let queue = world.queue(.serial)
      world.timer(queue, after: 0, finalizer: false)
      let timer = world.timer(queue, after: nil, finalizer: false)
      world.thread("caller") {
        for _ in 0..<8 { world.call("restart", on: timer) { $0.restart(Schedule(first: 0)) } }
      }
    },
    // P23b
    Scenario("the last thread goes to sleep for a time beside an earlier one") { world in
      let queue = world.queue(.serial)
      world.timer(queue, after: 20 * millisecond, finalizer: false)
      let timer = world.timer(queue, after: nil, finalizer: false)
      world.scheduler.jumpsLeft = 0
      world.thread(calls: "restart", on: timer) { $0.restart(Schedule(first: millisecond)) }
      world.race()
      // The first to wake up may be this one.
      for time in [5, 6] as [Int64] { world.sleep(until: Scheduler.start + time * millisecond) }
      world.expect(timer.ticks == 1, "the tick waits for another queue's time")
    },
    // P23
    Scenario("sync takes a free turn beside a wake") { world in
      let queue = world.queue(.serial)
      let timer = world.timer(queue, after: nil, finalizer: false)
      world.thread("caller") { queue.sync(timeout: .max) }
      world.thread("another") { queue.sync(timeout: .max) }
      world.thread(calls: "activate", on: timer) { $0.activate(Schedule(first: 0)) }
    },
    // P23
    Scenario("sync behind its thread's function beside another's") { world in
      let queue = world.queue(.serial)
      for name in ["caller", "another"] {
        let counted = Counted()
        world.thread(name) {
          for round in 1...2 {
            _ = world.call("async", answers: .ok) {
              QueueCore.async(
                queue.id, ContextFunction { Counted.of($0).calls += 1 }, counted.context, Counted.end)
            }
            _ = world.call("sync", answers: .ok) {
              QueueCore.sync(queue.id, timeout: .max) {
                world.expect(counted.calls == round, "the function of sync runs before that of async")
              }
            }
          }
        }
      }
    },
    // P23b
    Scenario("a handler that stays beside the timers of other queues") { world in
      // One more than threads are needed, so that there may be another one.
      let queues = (0..<4).map { _ in world.queue(.serial) }
      let last = stay(on: queues[..<2], world)
      world.timer(queues[2], after: 20, finalizer: false) { _ in last.signal() }
      world.thread(calls: "info") { 0 }
    },
    // P23b
    Scenario("a handler that stays before another queue's time") { world in
      // Both threads have gone to sleep when the first time comes.
      world.scheduler.jumpsLeft = 0
      let queues = (0..<2).map { _ in world.queue(.serial) }
      let last = WakeUp()
      world.timer(queues[0], after: 2 * millisecond, finalizer: false) { _ in last.wait() }
      world.timer(queues[1], after: 4 * millisecond, finalizer: false) { tick in
        world.expect(tick.actual - tick.scheduled < 100 * millisecond, "a thread that waits was told of no time")
        last.signal()
      }
      world.thread("host") { world.sleep(until: Scheduler.start + 8 * millisecond) }
    },
    Scenario("jobs of one work by two threads") { world in
      var work = try? PoolWork.make(QueueOptions().qos)
      let counted = Counted()
      for _ in 0..<2 {
        world.thread("caller") {
          for _ in 0..<3 {
            work?.async {
              world.expect(counted.calls == counted.ends, "two jobs of a work at a time")
              counted.calls += 1
              for _ in 0..<2 { world.scheduler.step("in the job", "", 0) }
              counted.ends += 1
            }
          }
        }
      }
      world.race()
      world.sleep(until: world.scheduler.clock + second)
      world.expect(counted.ends == 6, "\(counted.ends) jobs have run")
      work = nil
    },
    // P23b, P23e
    Scenario("a queue made beside handlers that stay") { world in
      let queues = (0..<2).map { _ in world.queue(.serial) }
      let last = stay(on: queues[...], world)
      world.thread("maker") {
        world.sleep(until: Scheduler.start + millisecond)
        world.timer(world.queue(.serial), after: 10, finalizer: false) { _ in last.signal() }
      }
    },
    // P23c
    Scenario("the only thread waits for a queue that another wants, too") { world in
      Seam.threadsLeft = 1
      let queues = (0..<2).map { _ in world.queue(.serial) }
      for _ in 0..<2 {
        world.timer(queues[0], after: 10, finalizer: false) { _ in queues[1].sync(timeout: .max) }
        world.timer(queues[1], after: 10, finalizer: false)
      }
      world.thread("caller") { queues[1].sync(timeout: .max) }
    },
    // P23c
    Scenario("the only thread waits for the end of a concurrent queue") { world in
      Seam.threadsLeft = 1
      let (waiting, awaited, last) = (world.queue(.serial), world.queue(.concurrent), WakeUp())
      let timer = world.timer(awaited, after: 10)
      world.timer(waiting, after: 10, finalizer: false) { _ in
        _ = world.call("shutdown", answers: .ok) { QueueCore.shutdown(awaited.id, timeout: .max) }
        timer.isReleased = true
        world.expect(timer.finalized == 1, "shutdown answered OK, and a finalizer is left")
        last.signal()
      }
      world.thread("host") { last.wait() }
    },
    // P23c
    Scenario("threads are refused until one is not") { world in
      Seam.threadsLeft = 2
      let queues = (0..<3).map { _ in world.queue(.serial) }
      let last = stay(on: queues[..<2], world)
      world.timer(queues[2], after: 20, finalizer: false) { _ in last.signal() }
      world.thread("giver") {
        world.sleep(until: Scheduler.start + 5 * millisecond)
        Seam.threadsLeft = 8
      }
    },
    // P23c
    Scenario("threads are refused for long, and asked for again") { world in
      Seam.threadsLeft = 2
      let queues = (0..<4).map { _ in world.queue(.serial) }
      let last = stay(on: queues[..<2], world)
      world.timer(queues[2], after: 20, finalizer: false) { _ in last.signal() }
      let timer = world.timer(queues[3], after: nil, finalizer: false)
      world.thread("giver") {
        // However often the system was asked before, nobody asks any more.
        world.sleep(until: Scheduler.start + 2 * Int64(Tunables.triesForThread) * millisecond)
        Seam.threadsLeft = 8
        world.call("activate", on: timer) { $0.activate(Schedule(first: 0)) }
      }
    },
    Scenario("threads that are not needed any more") { world in
      let queues = (0..<3).map { _ in world.queue(.serial) }
      let last = stay(on: queues[...], world)
      world.thread("host") {
        world.sleep(until: Scheduler.start + second)
        last.signal()
      }
      world.race()
      for (most, isLast) in [(Pool.fewestThreads, false), (0, true)] {
        world.sleep(until: world.scheduler.clock + 20 * second)
        let threads = Pool.state.withLock { $0.threads }
        world.expect(threads <= most, "\(threads) threads are left")
        if !isLast { for queue in queues { world.call("shutdown") { QueueCore.shutdown(queue.id, timeout: .max) } } }
      }
    },
    // P23b
    Scenario("a handler that stays on a concurrent queue beside those that are due with it") { world in
      let queue = world.queue(.concurrent)
      let last = WakeUp()
      world.timer(queue, after: 10, finalizer: false) { _ in last.wait() }
      world.timer(queue, after: 10, finalizer: false)
      world.timer(queue, after: 10, finalizer: false) { _ in last.signal() }
      world.thread(calls: "info") { 0 }
    },
    // P23
    Scenario("what is handed over in two passes") { world in
      let queue = world.queue(.concurrent)
      for i in 0..<2 {
        let timer = world.timer(queue, after: nil, finalizer: false)
        world.thread(calls: "activate", on: timer) { $0.activate(Schedule(first: Int64(i))) }
      }
      world.timer(queue, after: 1, finalizer: false)
    },
    // P24
    Scenario("a batch that is filled anew beside a taker") { world in
      let batch = DeliveryBatch()
      var taken: [UInt32] = []
      func slot(_ number: UInt32) -> SlotIndex { SlotIndex(existing: number) }
      batch.fill(1) { slot(1) }
      world.thread("taker") { if let slot = batch.next() { taken.append(slot.number) } }
      world.thread("filler") {
        if let slot = batch.next() { taken.append(slot.number) }
        if batch.count == 0 { batch.fill(1) { slot(2) } }
        if let slot = batch.next() { taken.append(slot.number) }
      }
      world.race()
      while let slot = batch.next() { taken.append(slot.number) }
      world.expect(taken.sorted() == [1, 2], "taken out: \(taken)")
    },
  ]

  /// A thread that wakes a queue stands still before any of its steps. Others that want the queue, or another one, do not wait
  /// for it (P1c, P1e, P23d).
  static let standingStill: [Scenario] =
    [Queue.Kind.serial, .concurrent, .precise, .loop].flatMap { kind in
      [
        // P1c, P5c, P5d, P23d
        Scenario("a wake that stands still beside others, \(kind.rawValue)") { world in
          world.scheduler.jumpsLeft = 0
          let queues = [world.queue(kind), world.queue(.serial)]
          let held = world.timer(queues[0], after: nil, finalizer: false)
          let end = Scheduler.start + 20 * millisecond
          world.thread("waker", heldUpUntil: end, within: 64) {
            world.call("restart", on: held) { $0.restart(Schedule(first: 0)) }
          }
          for queue in queues {
            let timer = world.timer(queue, after: nil, finalizer: false) { _ in
              world.expect(world.scheduler.clock < end, "a tick waits for a thread that stands still")
            }
            world.thread(calls: "activate", on: timer) { $0.activate(Schedule(first: 0)) }
          }
          world.thread("host") { world.sleep(until: end + millisecond) }
        },
        Scenario("async that stands still beside others, \(kind.rawValue)") { world in
          world.scheduler.jumpsLeft = 0
          let queues = [world.queue(kind), world.queue(.serial)]
          let end = Scheduler.start + 20 * millisecond
          for (i, queue) in [queues[0], queues[0], queues[1]].enumerated() {
            let counted = Counted()
            _ = Unmanaged.passRetained(counted)
            world.thread("caller \(i)", heldUpUntil: i == 0 ? end : nil, within: 64) {
              _ = world.call("async", answers: .ok) {
                QueueCore.async(queue.id, ContextFunction { Counted.of($0).calls += 1 }, counted.context, Counted.end)
              }
              world.sleep(until: Scheduler.start + 10 * millisecond)
              world.expect(i == 0 || counted.ends == 1, "a function waits for a thread that stands still")
            }
          }
          world.thread("host") { world.sleep(until: end + millisecond) }
        },
        // P23e
        Scenario("making a queue that stands still beside others, \(kind.rawValue)") { world in
          world.scheduler.jumpsLeft = 0
          // The pool's first queue begins its threads behind the lock.
          let (queue, _) = (world.queue(kind), world.queue(.serial))
          let end = Scheduler.start + 20 * millisecond
          for i in 0..<3 {
            world.thread("maker \(i)", heldUpUntil: i == 0 ? end : nil, within: 96) {
              let queue = i == 2 ? queue : world.queue(.serial)
              world.timer(queue, after: i == 1 ? millisecond : 0, finalizer: false) { _ in
                world.expect(i == 0 || world.scheduler.clock < end, "a tick waits for a thread that makes a queue")
              }
            }
          }
          world.thread("host") { world.sleep(until: end + millisecond) }
        },
      ]
    }
    + [Queue.Kind.virtual, .host, .serial, .concurrent, .precise, .loop].map { kind in
      // P14h, P14i
      Scenario("making timers that stands still beside others, \(kind.rawValue)") { world in
        world.scheduler.jumpsLeft = 0
        // Where timers are counted, no thread has some of its own.
        let queue = world.queue(kind, limit: 16)
        queue.leaveSlotsBesideList(40)
        let end = Scheduler.start + 20 * millisecond
        for i in 0..<3 {
          world.thread("maker \(i)", heldUpUntil: i == 0 ? end : nil, within: 96) {
            for _ in 0..<2 {
              let timer = world.timer(queue, after: i == 2 ? 0 : second)
              if i < 2 { world.call("release", on: timer) { ref in timer.stopping { ref.release() } } }
            }
            world.expect(i == 0 || world.scheduler.clock < end, "a call waits for a thread that makes timers")
          }
        }
        if queue.kind.isDriven {
          world.thread("driver") { world.call("drive", answers: .ok) { queue.drive(Scheduler.start) } }
        }
        world.thread("host") { world.sleep(until: end + millisecond) }
      }
    }
    + [Queue.Kind.serial, .concurrent, .precise].map { kind in
      // P6c
      Scenario("a wait that stands still beside others, \(kind.rawValue)") { world in
        world.scheduler.jumpsLeft = 0
        let end = Scheduler.start + 20 * millisecond
        let queue = world.queue(kind)
        let timer = world.timer(queue, after: 1, finalizer: false) { _ in
          world.sleep(until: Scheduler.start + millisecond)
        }
        world.thread("waiter") {
          world.sleep(until: Scheduler.start + millisecond / 4)  // the handler has begun
          world.call("cancel_and_wait", on: timer) { ref in
            timer.stopping(waits: true) { ref.cancelAndWait(timeout: .max) }
          }
        }
        world.thread("another waiter") {
          world.sleep(until: Scheduler.start + millisecond / 2)
          WaitRegistry.changeWaiters { _ in world.sleep(until: end) }
        }
        world.timer(queue, after: 2 * millisecond, finalizer: false) { _ in
          world.expect(world.scheduler.clock < end, "a tick waits for a thread that begins to wait")
        }
      }
    } + [

      // P3d
      Scenario("labels beside their readers") { world in
        let queue = world.queue(.virtual)
        var id: UInt64 = 0
        var options = TimerOptions(handler: TickFunction { _, _ in })
        let status = "label".withCString { label in
          options.label = label
          return TimerRef.create(on: queue.id, options, nil, out: &id)
        }
        world.expect(status == .ok, "create answered \(status.rawValue)")
        let timer = TimerRef(id)!
        world.thread("another reader") { for _ in 0..<4 { Labels.read {} } }
        world.thread("reader") {
          timer.withLabel { label in
            for _ in 0..<8 { world.scheduler.giveWay(1) }
            world.expect(String(cString: label) == "label", "a label that was freed is read")
          }
        }
        world.thread(calls: "release") { timer.release() }
        world.race()
        world.expect(Labels.ended.load(ordering: .relaxed) == nil, "labels stay")
      },
      // P14h, P14i
      Scenario("free slots beside a list that stands still") { world in
        let queue = world.queue(.virtual, limit: 64)
        let count = queue.freeSlotCount + 31
        queue.leaveSlotsBesideList(31)
        for name in ["maker", "another"] {
          world.thread(name) {
            let timers = (0..<2).map { _ in world.timer(queue, after: second) }
            for timer in timers { world.call("release", on: timer) { ref in timer.stopping { ref.release() } } }
          }
        }
        queue.core.control.storage.slots.withLock { _ in world.race() }
        _ = queue.drive()
        // A chunk may have come.
        world.expect(queue.freeSlotCount % 256 == count % 256, "\(queue.freeSlotCount) free slots instead of \(count)")
      },
      // P23
      Scenario("sync that stands still beside others") { world in
        world.scheduler.jumpsLeft = 0
        let queues = (0..<3).map { _ in world.queue(.serial) }
        let end = Scheduler.start + 20 * millisecond
        world.thread("caller", heldUpUntil: end, within: 64) { queues[0].sync(timeout: .max) }
        // Its own queue's timer has waited for the end of the turn.
        world.timer(queues[0], after: 0, finalizer: false)
        for (i, queue) in queues[1...].enumerated() {
          let timer = world.timer(queue, after: nil, finalizer: false) { _ in
            world.expect(world.scheduler.clock < end, "a tick of another queue waits for a thread that stands still")
          }
          world.thread(calls: "activate", on: timer) { $0.activate(Schedule(first: Int64(i) * millisecond)) }
        }
        world.thread("host") { world.sleep(until: end + millisecond) }
      },
      // P23
      Scenario("a turn that is borrowed beside a time") { world in
        let queue = world.queue(.serial)
        world.timer(queue, after: 40, finalizer: false)
        for name in ["caller", "another"] { world.thread(name) { for _ in 0..<3 { queue.sync(timeout: .max) } } }
      },
      // P23e
      Scenario("queues made beside the end of the pool") { world in
        for kind in [Queue.Kind.serial, .concurrent] {
          world.thread("maker") {
            for _ in 0..<2 {
              let queue = world.queue(kind)
              world.timer(queue, after: 0, finalizer: false)
              world.call("shutdown", answers: .ok) { QueueCore.shutdown(queue.id, timeout: .max) }
              world.sleep(until: world.scheduler.clock + 10 * second)
            }
          }
        }
      },
      // P1e
      Scenario("a sync that gives up beside functions") { world in
        let queue = world.queue(.serial)
        let stays = WakeUp()
        world.timer(queue, after: 0, finalizer: false) { _ in stays.wait() }
        let counted = Counted()
        for _ in 0..<2 { world.thread("gives up") { queue.sync(timeout: 100) } }
        world.thread("another") {
          let functions = [
            ContextFunction { Counted.of($0).calls = Counted.of($0).calls * 10 + 1 },
            ContextFunction { Counted.of($0).calls = Counted.of($0).calls * 10 + 2 },
          ]
          for function in functions {
            _ = world.call("async", answers: .ok) { QueueCore.async(queue.id, function, counted.context, Counted.end) }
          }
          stays.signal()
        }
        world.race()
        world.sleep(until: world.scheduler.clock + millisecond)
        world.expect(counted.calls == 12, "functions ran in the order \(counted.calls)")
      },
      // P23d
      Scenario("a ring that stands still beside the end of the pool") { world in
        world.scheduler.jumpsLeft = 0
        let queue = world.queue(.serial)
        let held = world.timer(queue, after: nil, finalizer: false)
        world.thread("waker", heldUpUntil: Scheduler.start + 30 * second, within: 64) {
          world.call("fire", on: held) { $0.fire() }
        }
        world.thread("closer") {
          world.call("release") { QueueCore.release(queue.id) }
          held.isReleased = true
        }
        world.thread("host") { world.sleep(until: Scheduler.start + 31 * second) }
        world.race()
        world.sleep(until: world.scheduler.clock + 20 * second)
        let threads = Pool.state.withLock { $0.threads }
        world.expect(threads == 0, "\(threads) threads are left")
      },
    ]

  /// A timer on each of the queues, 10 ns apart, whose handlers stay until what this gives is signalled.
  private static func stay(on queues: ArraySlice<Queue>, _ world: World) -> WakeUp {
    let last = WakeUp()
    for (i, queue) in queues.enumerated() {
      world.timer(queue, after: 10 * Int64(i), finalizer: false) { _ in
        last.wait()
        last.signal()
      }
    }
    return last
  }
}

@testable import ChimeCore

/// Chime's run loops: stops, and the loop's end (P11c, P18d).
extension Scenario {
  static let runLoops: [Scenario] =
    [millisecond, 10 * second].map { interval in
      // P5d, P11c
      Scenario("stops of a run loop \(interval == millisecond ? "beside ticks" : "that waits")") { world in
        world.scheduler.latest = Scheduler.start + second
        var loop: Loop?
        world.thread("runner") {
          loop = try? Loop.current
          let queue = try! loop!.makeQueue(in: LoopModes([.default]), QueueOptions())
          var timer: UInt64 = 0
          let handler = TickFunction { _, _ in Scheduler.shared.step("in the callback", "", 0) }
          _ = TimerRef.create(
            on: queue, TimerOptions(handler: handler), Schedule(first: interval, interval: interval), out: &timer)
          for _ in 0..<2 {
            world.call("run", answers: .stopped) { Loop.run(in: .default, timeout: .max, untilTick: false) }
          }
          world.expect(loop?.isStopping.load(ordering: .relaxed) == false, "a stop that was taken still ends slices")
          _ = QueueCore.shutdown(queue, timeout: .max)
        }
        world.thread("stopper") {
          while loop == nil { world.scheduler.giveWay(1) }
          for _ in 0..<2 {
            while world.call("stop", { loop?.stop() }) == .ignored { world.scheduler.giveWay(1) }
          }
        }
      }
    } + [
      // P5e, P18d
      Scenario("a queue made beside the end of its run loop", preemptions: 2) { world in
        guard let id = try? Loop.start(label: ""), let loop = Loop.table.find(id) else { return }
        var made: UInt64?
        world.thread("maker") {
          made = world.call("make") { try? loop.makeQueue(in: LoopModes([.default, .common]), QueueOptions()) }
        }
        world.thread(calls: "release") { loop.release() }
        world.race()
        world.sleep(until: world.scheduler.clock + 1000)
        world.expect(loop.hasEnded, "a run loop that was released runs")
        let left = loop.state.withLock { $0.drivers.count }
        world.expect(left == 0, "\(left) queues in a run loop that has ended")
        if let made { world.call("shutdown", answers: .ok) { QueueCore.shutdown(made, timeout: .max) } }
      },
      // P5e, P18d
      Scenario("release of a queue beside the end of its run loop", preemptions: 2) { world in
        let queue = world.queue(.loop)
        world.timer(queue, after: second)
        world.thread(calls: "release of the queue") { QueueCore.release(queue.id) }
        world.thread(calls: "release of the run loop") { queue.loop?.release() }
      },
      // P5e, P18d
      Scenario("shutdown of a queue beside the end of its run loop") { world in
        let queue = world.queue(.loop)
        world.timer(queue, after: 1, every: millisecond)
        world.timer(queue, after: second)
        world.thread("waiter") {
          world.call("shutdown", answers: .ok) { QueueCore.shutdown(queue.id, timeout: .max) }
        }
        world.thread(calls: "release") { queue.loop?.release() }
      },
    ]
}

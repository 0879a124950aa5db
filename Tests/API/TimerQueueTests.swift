import Chime
import ChimeTestSupport
import Testing

/// The Swift interface: what it adds to the core is ownership, closures and typed errors. (That a timer stops with its
/// last reference, and that one that nobody holds lives until it has ticked: the systems of `OneShotSystems.swift`.)
@Suite struct TimerQueueTests {
  /// Whatever the queue does: this test occupies it, so that no pass can come before the captures have gone.
  @Test @MainActor func aHandlersCapturesGoInTheReleasingCall() throws {
    let queue = try TimerQueue(on: .main)
    let alive = Counter()
    var timer: ChimeTimer? = try queue.every(.seconds(3600), handler: capturing(alive))
    #expect(alive.value == 1 && timer?.state == .running)
    timer = nil
    #expect(alive.value == 0)
  }

  @Test func aQueueThatGoesEndsItsTimers() throws {
    var queue: VirtualTimerQueue? = try VirtualTimerQueue()
    let alive = Counter()
    let timer = try queue?.every(.seconds(1), handler: capturing(alive))
    queue = nil
    #expect(alive.value == 0)
    #expect(timer?.state == .cancelled)
    #expect(throws: ChimeError.invalidHandle) { try timer?.resume() }
  }

  @Test func badDurationsAreErrors() throws {
    let queue = try VirtualTimerQueue()
    let target = Counted(Counter())
    let calls: [() throws -> Void] = [
      { _ = try queue.every(.zero) { _ in } },
      { _ = try queue.after(.seconds(-1)) { _ in } },
      { _ = try queue.every(.seconds(1), leeway: .seconds(1)) { _ in } },
      { try queue.advance(by: .seconds(-1)) },
      { _ = try queue.every(.zero, target: target) { _, _ in } },
      { _ = try queue.after(.seconds(-1), target: target) { _, _ in } },
      { _ = try queue.every(.seconds(1), leeway: .seconds(1), target: target) { _, _ in } },
      { _ = try Schedule(repeating: .nanoseconds(-1)) },
      { _ = try Schedule(repeating: .seconds(1), leeway: .seconds(-1)) },
      { _ = try Schedule(timeInterval: .nan, repeats: true) },
    ]
    for call in calls { #expect(throws: ChimeError.invalidArgument, performing: call) }
    let far = try queue.after(.seconds(Int64.max)) { _ in }
    #expect(far.state == .running && far.nextDeadline == nil)
  }

  @Test func schedulesByDeadlineTickAtTheirPoints() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<Int64>()
    let once = try queue.start(.once(at: 10)) { ticks.add($0.scheduled) }
    let grid = try queue.start(.every(.nanoseconds(10), from: 5, limit: 2), target: ticks) { $0.add($1.scheduled) }
    try once.postpone(until: 20)
    try queue.advance(by: .nanoseconds(30))
    #expect(ticks.all == [5, 15, 20] && once.state == .finished && grid.state == .finished)
  }

  @Test func aHostDrivenQueueRunsUntilItIsStopped() throws {
    let queue = try HostTimerQueue()
    let ticks = Counter()
    let timer = try queue.every(.microseconds(100)) { _ in if ticks.add() == 3 { queue.stop() } }
    try queue.run(untilStopped: true)
    #expect(ticks.value == 3 && timer.state == .running && queue.fileDescriptor >= 0)
  }

  @Test @MainActor func aMainTimerQueueTakesHandlersOfTheMainActor() throws {
    let queue = try MainTimerQueue(virtual: .zero)
    let calls = Log<String>()
    let timers = [
      try queue.after(.seconds(1)) { _ in calls.add("after") },
      try queue.start(.once(at: 2_000_000_000)) { _ in calls.add("start") },
      try queue.after(.seconds(3), target: calls) { calls, _ in calls.add("target") },
    ]
    try queue.once(after: .seconds(4)) { calls.add("once") }
    let countdown = try Countdown(from: .seconds(10), every: .seconds(5), on: queue) { calls.add("\($0)") }
    try queue.advance(by: .seconds(10))
    #expect(calls.all == ["after", "start", "target", "once", "5.0 seconds", "0.0 seconds"])
    #expect(timers.allSatisfy { $0.state == .finished } && countdown.hasEnded)
  }

  /// What each state is explained by: `explain.c`.
  @Test func aTimerExplainsItselfAndTheQueueCounts() throws {
    let queue = try VirtualTimerQueue()
    let timer = try queue.makeTimer(label: "poll") { _ in }
    try timer.activate(Schedule(repeating: .seconds(2)))
    #expect(timer.explanation == "it is due in 2 s, on a virtual clock, which somebody has to advance.")
    try queue.jump(by: .seconds(7))
    try queue.advance(by: .zero)
    let statistics = try #require(queue.statistics)
    #expect(statistics.timers == 1 && statistics.running == 1 && statistics.ticks == 1 && statistics.missed == 2)
    #expect(statistics.lateness[20] == 1)  // by 1 s, from 2^29 to 2^30 ns
    #expect(queue.dump.hasSuffix("every 2 s, 1 ticks, 2 missed\n") && queue.dump.contains("\"poll\""))
    try queue.shutdown()
    #expect(timer.explanation == "its queue has ended." && queue.statistics == nil && queue.dump.isEmpty)
  }
}

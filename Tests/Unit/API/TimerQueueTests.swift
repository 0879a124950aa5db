import Chime
import ChimeDiagnostics
import ChimeCompat
import ChimeTestSupport
import Testing

/// The Swift interface: what it adds to the core is ownership, closures and typed errors. (That a timer stops with its
/// last reference, and that one that nobody holds lives until it has ticked: the systems of `OneShotSystems.swift`.)
@Suite struct TimerQueueTests {
  /// Whatever the queue does: this test occupies it, so that no pass can come before the captures have gone.
  @Test @MainActor func aHandlersCapturesGoInTheReleasingCall() throws {
    let queue = try TimerQueue(dispatchQueue: .main)
    let alive = Counter()
    var timer: ChimeTimer? = try queue.schedule(every: .seconds(3600), handler: capturing(alive))
    #expect(alive.value == 1 && timer?.state == .running)
    timer = nil
    #expect(alive.value == 0)
  }

  @Test func aQueueThatIsShutDownEndsItsTimersAndCallsAreIgnored() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter()
    let timer = try queue.schedule(every: .seconds(1), handler: capturing(alive))
    try queue.blockingShutdown()
    #expect(alive.value == 0)
    #expect(timer.state == .cancelled && timer.nextDeadline == nil && timer.generation == nil)
    let outcomes = [
      timer.cancel(), timer.suspend(), timer.resume(), timer.fire(), timer.invalidate(), try timer.restart(),
      try timer.activate(), try timer.postpone(by: .zero), try timer.reschedule(every: .seconds(1)),
      try timer.blockingCancelAndWait(), try queue.blockingShutdown(),
    ]
    #expect(outcomes.allSatisfy { $0 == .ignored })
    #expect(throws: ChimeError.shutDown) { try queue.schedule(after: .zero) { _ in } }
  }

  /// A timer keeps its queue alive; else nothing of this would tick.
  @Test(.timeLimit(.minutes(20))) func aQueueMadeInPassingLivesAsLongAsWhatItMade() async throws {
    let ticks = Counter()
    let timer = try TimerQueue().schedule(every: .milliseconds(1)) { _ in ticks.add() }
    #expect(await soon { ticks.value >= 3 })
    for await tick in try TimerQueue().ticks(.every(.milliseconds(1))) where tick.sequence >= 2 { break }
    try TimerQueue().perform(after: .milliseconds(1)) { ticks.add(1000) }
    try TimerQueue().perform { ticks.add(1000) }
    #expect(await soon { ticks.value >= 2000 })
    timer.invalidate()
    // And no longer.
    weak var queue: TimerQueue?
    do {
      let made = try VirtualTimerQueue()
      queue = made
      let other = try made.schedule(every: .seconds(1)) { _ in }
      #expect(other.state == .running)
    }
    #expect(queue == nil)
  }

  @Test func aHandlerReachesItsOwnTimer() throws {
    let queue = try VirtualTimerQueue()
    let seen = Log<Bool>()
    let timers = Log<ChimeTimer>()
    let timer = try queue.schedule(every: .seconds(1)) { tick in
      seen.add(timers.all[0].reference == tick.timer && tick.timer.state == .running)
      if tick.sequence == 3 { tick.timer.cancel() }
    }
    timers.add(timer)
    try queue.advanceTimers(by: .seconds(10))
    #expect(seen.all == [true, true, true] && timer.state == .cancelled)
    #expect(Set(timers.all + [timer]).count == 1 && timer.id == timers.all[0].reference.id)
  }

  #if DEBUG
    /// A timer that nobody has stored says so, once; no other does.
    @Test func aTimerThatIsDroppedAtOnceSaysSo() async throws {
      let told = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let queue = try VirtualTimerQueue()
        // Until the machine has dropped one in time.
        for _ in 0..<10_000 { _ = try queue.schedule(every: .seconds(1)) { _ in } }
      }
      let text = String(decoding: told.standardErrorContent, as: UTF8.self)
      #expect(text.split(separator: "\n").filter { $0.contains("store it, or use perform(after:)") }.count == 1)
      let untold = try await #require(processExitsWith: .success, observing: [\.standardErrorContent]) {
        let queue = try VirtualTimerQueue()
        var timer = try queue.schedule(every: .seconds(1)) { _ in }
        for _ in 0..<10_000 {
          timer = try queue.schedule(every: .seconds(1)) { _ in }  // the one before goes
          let stopped = try queue.schedule(every: .seconds(1)) { _ in }
          stopped.cancel()
          let ticked = try queue.schedule(after: .zero) { _ in }
          try queue.advanceTimers(by: .zero)
          withExtendedLifetime((timer, stopped, ticked)) {}
          _ = try queue.makeTimer { _ in }
          try queue.perform(after: .zero) {}
        }
      }
      #expect(!String(decoding: untold.standardErrorContent, as: UTF8.self).contains("Chime:"))
    }
  #endif

  @Test func aReferenceDoesNotKeepItsTimer() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Counter()
    var timer: ChimeTimer? = try queue.schedule(every: .seconds(1)) { _ in ticks.add() }
    let reference = try #require(timer?.reference)
    #expect(reference.suspend() == .done && timer?.state == .suspended && reference.resume() == .done)
    reference.isInBackground = true
    #expect(timer?.isInBackground == true)
    try queue.advanceTimers(by: .seconds(1))
    timer = nil
    try queue.advanceTimers(by: .seconds(5))
    #expect(ticks.value == 1 && reference.state == .cancelled && !reference.isInBackground)
    try #expect(reference.cancel() == .ignored && reference.restart(.every(.seconds(1))) == .ignored)
    let other = try queue.schedule(every: .seconds(1)) { _ in }  // in the same memory
    #expect(other.reference != reference && other.reference == other.reference)
  }

  /// Whether there was a tick to take back, and whether a handler runs, are two answers.
  @Test func anOutcomeSaysBothWhatWasStoppedAndWhatRuns() throws {
    let queue = try VirtualTimerQueue()
    let seen = Log<ChimeTimer.Outcome>()
    let once = try queue.schedule(after: .seconds(1)) { tick in
      seen.add(tick.timer.cancel())
      seen.add(tick.timer.suspend())
      seen.add(tick.timer.fire())
      seen.add(tick.timer.cancel())
    }
    let repeating = try queue.schedule(every: .seconds(2)) { tick in
      seen.add(tick.timer.suspend())
      seen.add(tick.timer.cancel())
      seen.add(tick.timer.invalidate())
      seen.add(tick.timer.invalidate())
    }
    try queue.advanceTimers(by: .seconds(2))
    #expect(seen.all.prefix(4) == [.ignoredRunning, .ignoredRunning, .done, .running])
    #expect(seen.all.dropFirst(4) == [.running, .running, .running, .ignored])
    #expect(once.cancel() == .ignored && repeating.cancel() == .ignored)
  }

  @Test func invalidateLetsGoOfTheHandlerAtOnce() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter()
    let timer = try queue.schedule(every: .seconds(1), handler: capturing(alive))
    #expect(timer.cancel() == .done && alive.value == 1)
    #expect(try timer.restart() == .done)
    #expect(timer.invalidate() == .done && alive.value == 0 && timer.state == .cancelled)
    #expect(timer.invalidate() == .ignored && timer.cancel() == .ignored)
    // In its own handler, after the call.
    let inside = Log<Int>()
    let other = try queue.schedule(every: .seconds(1)) { [capture = Counted(alive)] tick in
      #expect(tick.timer.invalidate() == .running)
      inside.add(capture.alive.value)
    }
    try queue.advanceTimers(by: .seconds(5))
    #expect(inside.all == [1] && alive.value == 0 && other.state == .cancelled)
  }

  final class Careless: ChimeTimer.Target, Sendable {
    var targetToken: TargetToken { TargetToken() }
  }

  @Test func whatIsRefusedSaysWhichArgumentItsValueAndTheBound() throws {
    let queue = try VirtualTimerQueue()
    let (now, target) = (queue.now, Counted(Counter()))
    func refused<Made>(_ sentence: String, _ location: SourceLocation = #_sourceLocation, _ call: () throws -> Made) {
      let error = #expect(throws: ChimeError.invalidArgument, sourceLocation: location) { _ = try call() }
      #expect(error?.description == sentence, sourceLocation: location)
    }
    refused("interval is 0.0 seconds: it must be above 0") { try queue.schedule(every: .zero) { _ in } }
    refused("delay is -1.0 seconds: it must be 0 or more") { try queue.schedule(after: .seconds(-1)) { _ in } }
    refused("leeway is 2.0 seconds: it must be below the interval, 1.0 seconds") {
      try queue.schedule(every: .seconds(1), leeway: .seconds(2)) { _ in }
    }
    refused("interval is -1.0 seconds: it must be above 0") {
      try queue.schedule(.every(.seconds(-1), at: now)) { _ in }
    }
    refused("interval is 0.0 seconds: it must be above 0") {
      try queue.schedule(.every(.zero), target: target) { _, _ in }
    }
    refused("leeway is -1.0 seconds: it must be 0 or more") {
      try Schedule(repeating: .seconds(1), leeway: .seconds(-1))
    }
    refused("an interval is nan s: it must be a number, of 292 years at most") {
      try Schedule(timeInterval: .nan, repeats: true)
    }
    refused("limit is 0: it must be 1 or more, or nil") { try Schedule.every(.seconds(1), limit: 0) }
    refused("jitter is -1.0 seconds: it must be 0 or more") { try Schedule.every(.seconds(1), jitter: .seconds(-1)) }
    refused("jitter is 1.000000001 seconds: it must be at most the interval, 1.0 seconds") {
      try Schedule.every(.seconds(1), at: now, jitter: .nanoseconds(1_000_000_001))
    }
    refused("targetToken of Careless is another each time: store it") {
      try queue.schedule(.every(.seconds(1)), target: Careless()) { _, _ in }
    }
    refused("the timer has no schedule yet: give restart one") { try queue.makeTimer { _ in }.restart() }
    refused("duration is -1.0 seconds: it must be 0 or more") { try queue.jump(by: .seconds(-1)) }
    refused("duration is -1.0 seconds: it must be 0 or more") { try queue.advanceTimers(by: .seconds(-1)) }
    refused("start is -1.0 seconds from the clock's zero: it must be 0 or more") {
      try MainTimerQueue(virtual: .seconds(-1))
    }
    refused("start is -1.0 seconds from the clock's zero: it must be 0 or more") {
      try SerialTimerQueue(virtual: .seconds(-1))
    }
    refused("realtimePriority is 100: it must be from 1 to 99") { try PreciseTimerQueue(realtimePriority: 100) }
    refused("clock is virtual: a VirtualTimerQueue has virtual time") { try TimerQueue(clock: .virtual) }
    let limited = try TimeLimited(1, lifetime: .seconds(1), on: queue)
    refused("lifetime is -1 s: it must be 0 or more") { try limited.resetTimer(interval: .seconds(-1)) }
    refused("lifetime is -1 s: it must be 0 or more") { try TimeLimited(1, lifetime: .seconds(-1), on: queue) }
    refused("atMost is 0.0 seconds: it must be above 0") {
      try TriggeredAction(.debounce(.seconds(1), atMost: .zero), on: queue) {}
    }
    #expect(queue.statistics?.timers == 1)
  }

  @Test func whatIsPrintedSaysWhatAPersonWantsToKnow() throws {
    let queue = try VirtualTimerQueue(label: "polls")
    let timer = try queue.makeTimer(label: "poll") { _ in }
    try timer.restart(.every(.seconds(2), leeway: .milliseconds(100), limit: 5))
    try queue.advanceTimers(by: .seconds(3))
    #expect("\(timer)".hasSuffix("\"poll\", running, due in 1.0 seconds, every 2.0 seconds, 1 ticks)"))
    #expect("\(queue)" == "VirtualTimerQueue(\"polls\", on virtual time, 1 timers, 1 running)")
    #expect("\(queue.now)" == "3.0 seconds on virtual time")
    timer.invalidate()
    #expect("\(timer)".hasSuffix(", ended)"))
    let schedule = try Schedule.every(
      .seconds(2), after: .zero, leeway: .milliseconds(100), limit: 5, missed: .delay, resume: .remaining)
    let words =
      "every 2.0 seconds, first after 0.0 seconds, leeway 0.1 seconds, 5 times, counted from the handler's end, "
      + "keeping the remaining time when suspended"
    #expect("\(schedule)" == words)
    #expect(schedule.firstDelay == .zero && schedule.firstDeadline == nil && schedule.repeatInterval == .seconds(2))
    #expect(schedule.allowedLeeway == .milliseconds(100) && schedule.limit == 5)
    #expect(schedule.missedPolicy == .delay && schedule.resumePolicy == .remaining)
    let jittered = try Schedule.every(.seconds(1), jitter: .seconds(1))
    #expect(jittered.longestJitter == .seconds(1) && "\(jittered)" == "every 1.0 seconds, jitter 1.0 seconds")
    let once = try Schedule.once(at: queue.now)
    #expect(
      once.firstDeadline == queue.now && once.firstDelay == nil && once.repeatInterval == nil && once.limit == nil)
    #expect("\(once)" == "once at 3.0 seconds on virtual time")
  }

  @Test func aHostDrivenQueueRunsUntilItIsStopped() throws {
    let queue = try HostTimerQueue()
    let ticks = Counter()
    let timer = try queue.schedule(every: .microseconds(100)) { _ in if ticks.add() == 3 { queue.stop() } }
    try queue.run(untilStopped: true)
    #expect(ticks.value == 3 && timer.state == .running && queue.fileDescriptor != nil)
    try queue.blockingShutdown()
    #expect(queue.fileDescriptor == nil)
  }

  @Test func aRunOfOneTurnSaysWhetherSomethingWasCalled() throws {
    let queue = try HostTimerQueue()
    #expect(try !queue.runOnce())
    let ticks = Counter()
    let timer = try queue.schedule(after: .milliseconds(1)) { _ in ticks.add() }
    #expect(try queue.runOnce() && ticks.value == 1)
    try timer.restart(after: .zero)
    timer.isInBackground = true
    #expect(timer.isInBackground)
    #expect(try !queue.runOnce() && ticks.value == 1)
    timer.isInBackground = false
    #expect(try queue.runOnce() && ticks.value == 2)
    timer.invalidate()
    #expect(!timer.isInBackground)
  }

  /// What comes when, on each kind of queue: `suspending.c`.
  @Test func aSuspendedQueueGoesOnWithWhatWasMissedAsOneTick() throws {
    let queue = try VirtualTimerQueue()
    let missed = Log<UInt64>()
    let timer = try queue.schedule(every: .seconds(1)) { tick in missed.add(tick.missed) }
    #expect(queue.suspend() == .done && queue.suspend() == .done)
    try queue.advanceTimers(by: .seconds(5))
    #expect(queue.resume() == .done && missed.all.isEmpty)
    #expect(timer.explanation.hasSuffix("; its queue is suspended."))
    #expect(queue.resume() == .done && queue.resume() == .ignored)
    try queue.advanceTimers(by: .seconds(1))
    #expect(missed.all == [4, 0])
    try queue.perform { #expect(queue.suspend() == .running) }
    try queue.advanceTimers(by: .zero)
    try queue.blockingShutdown()
    #expect(queue.suspend() == .ignored && queue.resume() == .ignored)
  }

  @Test func anIntervalChangesAndTheScheduleIsReadBack() throws {
    let queue = try VirtualTimerQueue()
    let timer = try queue.makeTimer { _ in }
    #expect(timer.schedule == nil)
    #expect(try timer.setInterval(.seconds(1)) == .ignored)
    let given = try Schedule.every(.seconds(2), at: queue.now.advanced(by: .seconds(1)))
    try timer.activate(given)
    #expect(timer.schedule == given)
    #expect(try timer.setInterval(.seconds(5)) == .done)
    #expect(timer.schedule?.repeatInterval == .seconds(5) && timer.schedule?.firstDeadline == given.firstDeadline)
    #expect(timer.nextDeadline == given.firstDeadline)
    #expect(throws: ChimeError.invalidArgument) { try timer.setInterval(.zero) }
    try queue.advanceTimers(by: .seconds(1))
    #expect(timer.nextDeadline == queue.now.advanced(by: .seconds(5)))
    timer.invalidate()
    #expect(timer.schedule == nil)
  }

  /// What each state is explained by: `explain.c`.
  @Test func aTimerExplainsItselfAndTheQueueCounts() throws {
    let queue = try VirtualTimerQueue(label: "\u{1b}[1m")
    let timer = try queue.makeTimer(label: "poll\u{202e}\"") { _ in }
    try timer.activate(Schedule(repeating: .seconds(2)))
    #expect(timer.explanation == "it is due in 2 s, on a virtual clock, which somebody has to advance.")
    try queue.jump(by: .seconds(7))
    try queue.advanceTimers(by: .zero)
    let statistics = try #require(queue.statistics)
    #expect(statistics.timers == 1 && statistics.running == 1 && statistics.ticks == 1 && statistics.missed == 2)
    #expect(statistics.lateness[20] == 1)  // by 1 s, from 2^29 to 2^30 ns
    #expect(queue.dump.hasSuffix("every 2 s, 1 ticks, 2 missed\n") && queue.dump.contains(#" "poll\u202e\"": "#))
    #expect("\(timer)".contains(#", "poll\u202e\"", "#) && "\(queue)".contains(#"("\u001b[1m", "#))
    try queue.blockingShutdown()
    #expect(timer.explanation == "its queue has ended." && queue.statistics == nil && queue.dump.isEmpty)
  }
}

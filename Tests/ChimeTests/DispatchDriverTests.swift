import Dispatch
import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// A queue on libdispatch wakes when it must and not otherwise: seen in the passes it has made (promise 13).
@Suite struct DispatchDriverTests {
  static let farAway = Duration.seconds(3600)

  /// A serial queue and what it has done.
  struct Bench {
    let queue: TimerQueue
    let core: QueueCore

    init() throws {
      queue = try TimerQueue()
      core = try #require(QueueCore.find(queue.id))
    }

    /// The passes, once those that were on their way have been made. Looking costs none.
    var passes: UInt64 {
      // A pass may put one more behind itself.
      for _ in 0..<3 { #expect(QueueCore.sync(core.id, timeout: .max) {} == .ok) }
      return core.statistics.passes
    }
  }

  /// Waits until another queue has ticked: first after that delay, then nineteen times more.
  static func letOthersTick(after delay: Duration = .milliseconds(2)) throws {
    let other = try TimerQueue()
    let came = DispatchSemaphore(value: 0)
    let timer = try other.start(.every(.milliseconds(2), after: delay)) { _ in came.signal() }
    for _ in 0..<20 { try #require(came.wait(timeout: .now() + 30) == .success) }
    try timer.cancel()
  }

  /// The queue comes to rest: while others tick it makes no pass. A pass may still be on its way at first.
  static func expectRest(_ bench: Bench) throws {
    let end = Clock.monotonic.now + 30_000_000_000
    var passes: UInt64
    repeat {
      try #require(Clock.monotonic.now < end, "it wakes up for nothing")
      passes = bench.passes
      try letOthersTick()
    } while bench.passes != passes
  }

  @Test func laterTimersCostNoWakeUp() throws {
    let bench = try Bench()
    let first = try bench.queue.after(Self.farAway) { _ in }
    let passes = bench.passes
    let others = try (1...1000).map { try bench.queue.after(Self.farAway + .milliseconds($0)) { _ in } }
    #expect(bench.passes == passes)
    #expect(bench.core.statistics.running == 1001)
    withExtendedLifetime((first, others)) {}
  }

  @Test func postponingAndCancellingCostsNoWakeUp() throws {
    let bench = try Bench()
    let timers = try (0..<1000).map { _ in try bench.queue.after(Self.farAway) { _ in } }
    let passes = bench.passes
    for timer in timers { #expect(try timer.postpone(by: Self.farAway + .seconds(1)) == .done) }
    for timer in timers { #expect(try timer.postpone(by: Self.farAway * 2) == .done) }
    for timer in timers { #expect(try timer.cancel() == .done) }
    #expect(bench.passes == passes)
  }

  @Test func tenThousandTimersFarAwayCostNothingWhileIdle() throws {
    let bench = try Bench()
    let timers = try (0..<10_000).map { try bench.queue.every(Self.farAway + .milliseconds($0 % 777)) { _ in } }
    try Self.expectRest(bench)
    #expect(bench.core.statistics.running == 10_000)
    withExtendedLifetime(timers) {}
  }

  @Test func aQueueWithoutTimersDoesNotWake() throws {
    let bench = try Bench()
    let timers = try (0..<100).map { _ in try bench.queue.after(.milliseconds(1)) { _ in } }
    while bench.core.statistics.ticks < 100 { try Self.letOthersTick() }
    try Self.expectRest(bench)
    withExtendedLifetime(timers) {}
  }

  /// The source may be set for the first of them; the others are gone by then.
  @Test func timersThatWereCancelledCostOneEmptyWakeUpAtMost() throws {
    let bench = try Bench()
    let pending = try bench.queue.after(Self.farAway) { _ in }
    var delay = Duration.milliseconds(200)
    while delay < .seconds(30) {
      let timers = try (0..<100).map { try bench.queue.after(delay + .milliseconds($0)) { _ in } }
      let cancelled = try timers.map { try $0.cancel() }
      let passes = bench.passes
      if cancelled.allSatisfy({ $0 == .done }) {
        try Self.letOthersTick(after: delay + .milliseconds(100))
        #expect(bench.passes <= passes + 1)
        #expect(bench.core.statistics.ticks == 0)
        withExtendedLifetime(pending) {}
        return
      }
      delay *= 2  // some came before this thread had cancelled them: once more, with more time
    }
    Issue.record("no round was quick enough")
  }

  @Test func oneTimerThatIsPostponedAgainAndAgainWakesTheQueueRarely() throws {
    let bench = try Bench()
    let timer = try bench.queue.after(.milliseconds(300)) { _ in }
    let passes = bench.passes
    // A pass that finds it postponed sets the source for 300 ms later; it ends early if this thread stalls that long.
    let end = Clock.monotonic.now + 650_000_000
    var count = 0, last = Clock.monotonic.now
    var stalls: UInt64 = 0
    while last < end, try timer.postpone(by: .milliseconds(300)) == .done {
      count += 1
      let now = Clock.monotonic.now
      if now - last > 50_000_000 { stalls += 1 }
      last = now
    }
    #expect(bench.passes <= passes + 3 + 2 * stalls, "\(count) postponements, \(stalls) stalls")
  }

  @Test func anEarlierTimerFromAnotherThreadComesInTime() throws {
    let bench = try Bench()
    let pending = try bench.queue.after(Self.farAway) { _ in }
    _ = bench.passes
    let came = Findings<Tick>()
    let all = DispatchSemaphore(value: 0)
    // Each earlier than the one before: each has to wake the queue and set the source anew.
    onNewThreads { _ in
      for delay in [100, 50, 20, 5, 0] {
        try? bench.queue.once(after: .milliseconds(delay)) { all.signal() }
      }
      let timer = try? bench.queue.after(.milliseconds(1)) { tick in
        came.add([tick])
        all.signal()
      }
      for _ in 0..<6 { #expect(all.wait(timeout: .now() + 30) == .success) }
      withExtendedLifetime(timer) {}
    }
    #expect(came.all.count == 1)
    for tick in came.all { #expect(tick.actual >= tick.scheduled) }
    #expect(pending.state == .running)
  }

  @Test func aTimerThatMovesEarlierComesInTime() throws {
    let bench = try Bench()
    let came = DispatchSemaphore(value: 0)
    let timer = try bench.queue.every(Self.farAway) { _ in came.signal() }
    _ = bench.passes
    try timer.reschedule(every: .milliseconds(10))
    for _ in 0..<3 { #expect(came.wait(timeout: .now() + 30) == .success) }
    try timer.cancel()
  }

  @Test func noPassComesAfterShutdown() throws {
    let bench = try Bench()
    let timers = try (1...100).map { try bench.queue.every(.milliseconds($0)) { _ in } }
    #expect(try bench.queue.shutdown() == .done)
    let (passes, ticks) = (bench.core.statistics.passes, bench.core.statistics.ticks)
    try Self.letOthersTick()
    #expect(bench.core.statistics.passes == passes && bench.core.statistics.ticks == ticks)
    withExtendedLifetime(timers) {}
  }
}

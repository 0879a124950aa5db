import Dispatch
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

  static func sleep(_ milliseconds: Int) {
    _ = DispatchSemaphore(value: 0).wait(timeout: .now() + .milliseconds(milliseconds))
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
    let passes = bench.passes
    Self.sleep(200)
    #expect(bench.passes == passes)
    #expect(bench.core.statistics.running == 10_000)
    withExtendedLifetime(timers) {}
  }

  @Test func aQueueWithoutTimersDoesNotWake() throws {
    let bench = try Bench()
    let timers = try (0..<100).map { _ in try bench.queue.after(.milliseconds(1)) { _ in } }
    while bench.core.statistics.ticks < 100 { Self.sleep(5) }
    let passes = bench.passes
    Self.sleep(200)
    #expect(bench.passes == passes)
    withExtendedLifetime(timers) {}
  }

  /// The source may be set for the first of them; the others are gone by then.
  @Test func timersThatWereCancelledCostOneEmptyWakeUpAtMost() throws {
    let bench = try Bench()
    let pending = try bench.queue.after(Self.farAway) { _ in }
    let timers = try (0..<100).map { try bench.queue.after(.milliseconds(400 + $0)) { _ in } }
    for timer in timers { #expect(try timer.cancel() == .done) }
    let passes = bench.passes
    Self.sleep(700)
    #expect(bench.passes <= passes + 1)
    #expect(bench.core.statistics.ticks == 0)
    withExtendedLifetime(pending) {}
  }

  @Test func oneTimerThatIsPostponedAgainAndAgainWakesTheQueueRarely() throws {
    let bench = try Bench()
    let timer = try bench.queue.after(.milliseconds(300)) { _ in }
    let passes = bench.passes
    // A pass that finds it postponed sets the source for 300 ms later; it ends early if this thread stalls that long.
    let end = Clock.monotonic.now + 650_000_000
    var count = 0
    while Clock.monotonic.now < end, try timer.postpone(by: .milliseconds(300)) == .done { count += 1 }
    #expect(bench.passes <= passes + 3, "\(count) postponements")
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
      for _ in 0..<6 { #expect(all.wait(timeout: .now() + 10) == .success) }
      withExtendedLifetime(timer) {}
    }
    #expect(came.all.count == 1)
    for tick in came.all {
      #expect(tick.actual >= tick.scheduled)
      #expect(tick.actual - tick.scheduled < 2_000_000_000)
    }
    #expect(pending.state == .running)
  }

  @Test func aTimerThatMovesEarlierComesInTime() throws {
    let bench = try Bench()
    let came = DispatchSemaphore(value: 0)
    let timer = try bench.queue.every(Self.farAway) { _ in came.signal() }
    _ = bench.passes
    try timer.reschedule(every: .milliseconds(10))
    for _ in 0..<3 { #expect(came.wait(timeout: .now() + 10) == .success) }
    try timer.cancel()
  }

  @Test func noPassComesAfterShutdown() throws {
    let bench = try Bench()
    let timers = try (1...100).map { try bench.queue.every(.milliseconds($0)) { _ in } }
    #expect(try bench.queue.shutdown() == .done)
    let (passes, ticks) = (bench.core.statistics.passes, bench.core.statistics.ticks)
    Self.sleep(150)
    #expect(bench.core.statistics.passes == passes && bench.core.statistics.ticks == ticks)
    withExtendedLifetime(timers) {}
  }
}

import Chime
import ChimeTestSupport
import Testing

/// What ends by itself: the countdown, and the value that vanishes.

@Suite("Countdown") struct CountdownSystem {
  @Test func aLabelCountsFromSixtyAndEndsItselfAtZero() throws {
    let queue = try VirtualTimerQueue()
    let label = Log<Int64>()
    let countdown = try Countdown(from: .seconds(60), on: queue) { left in label.add(left.components.seconds) }
    #expect(countdown.remaining == .seconds(60))
    try queue.advance(by: .seconds(59))
    #expect(!countdown.hasEnded && label.all.last == 1)
    try queue.advance(by: .seconds(100))
    #expect(label.all == (0..<60).reversed())
    #expect(countdown.hasEnded && countdown.remaining == .zero)
  }

  /// The same by hand: a limit of due times, so that it ends on time even if some were missed.
  @Test(.tags(.promise5NoStorm)) func aTickLimitEndsATimer() throws {
    let queue = try VirtualTimerQueue()
    let label = Log<Int>()
    let left = Locked(60)
    let timer = try queue.start(.every(.seconds(1), limit: 60)) { tick in
      label.add(
        left.withLock { left in
          left -= Int(tick.missed) + 1
          return left
        })
    }
    try queue.advance(by: .seconds(10))
    try queue.jump(by: .seconds(30))
    try queue.advance(by: .seconds(100))
    #expect(label.all == (50..<60).reversed() + (0...20).reversed())
    #expect(timer.state == .finished)
  }
}

@Suite("TimeLimitedContainer", .serialized) struct TimeLimitedContainer {
  /// The published initialiser drops the value, and nobody is told when it goes.
  @Test(.tags(.promise3NeverEarly)) func theValueIsThereUntilItsTimeIsOverAndItsEndIsReported() throws {
    let queue = try VirtualTimerQueue()
    let expired = Log<Double>()
    let token = try TimeLimited("token", lifetime: .seconds(30), on: queue) { [unowned queue] in
      expired.add(seconds(queue.now))
    }
    #expect(token.value == "token")
    try queue.advance(by: .seconds(30) - .nanoseconds(1))
    #expect(token.value == "token" && expired.all.isEmpty)
    try queue.advance(by: .nanoseconds(1))
    #expect(token.value == nil && expired.all == [30])
  }

  @Test func resetTimerRestartsTheInterval() throws {
    let queue = try VirtualTimerQueue()
    let token = try TimeLimited(1, lifetime: .seconds(30), on: queue)
    try queue.advance(by: .seconds(20))
    #expect(try token.resetTimer(interval: .seconds(30)) == .done)
    try queue.advance(by: .seconds(29))
    #expect(token.value == 1)
    try queue.advance(by: .seconds(1))
    #expect(token.value == nil)
    #expect(try token.resetTimer(interval: .seconds(30)) == .ignored)
    #expect(token.value == nil)
  }

  @Test(.tags(.promise8OneFinalizer)) func aValueInRealTimeIsReleasedAndReportedOnce() async throws {
    let queue = try TimerQueue()
    let alive = Counter(), expired = Counter()
    let limited = try TimeLimited(Counted(alive), lifetime: .milliseconds(5), on: queue) { expired.add() }
    #expect(await soon { expired.value == 1 })
    #expect(limited.value == nil)
    #expect(await soon { alive.value == 0 })
    #expect(expired.value == 1)
  }
}

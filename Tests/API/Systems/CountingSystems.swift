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
}

@Suite("TimeLimitedContainer", .serialized) struct TimeLimitedContainer {
  /// The published initialiser drops the value, and nobody is told when it goes.
  @Test func theValueIsThereUntilItsTimeIsOverAndItsEndIsReported() throws {
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
}

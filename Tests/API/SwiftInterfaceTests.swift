import Chime
import ChimeTestSupport
import Dispatch
import Synchronization
import Testing

/// Countdown, TimeLimited, Ticks, TimerQueueClock and HandlerStrategy, on virtual time.
@Suite struct SwiftInterfaceTests {
  /// Advances a queue in steps, while something runs that reacts to it, until that is over.
  static func drive(_ queue: VirtualTimerQueue, by step: Duration, until isOver: () -> Bool) async throws {
    for _ in 0..<200_000 where !isOver() {
      try queue.advance(by: step)
      await Task.yield()
    }
    #expect(isOver())
  }

  // MARK: Countdown

  @Test func aCountdownEndsInTimeWhenStepsAreMissed() throws {
    let queue = try VirtualTimerQueue()
    let left = Log<Duration>()
    let countdown = try Countdown(from: .seconds(10), on: queue) { left.add($0) }
    try queue.jump(by: .milliseconds(3500))
    try queue.advance(by: .zero)
    #expect(left.all == [.seconds(7)])
    try queue.jump(by: .seconds(60))
    try queue.advance(by: .zero)
    #expect(left.all == [.seconds(7), .zero] && countdown.hasEnded)
  }

  @Test func aPausedCountdownKeepsWhatIsLeftOfItsStep() throws {
    let queue = try VirtualTimerQueue()
    let left = Log<Duration>()
    let countdown = try Countdown(from: .seconds(3), on: queue) { left.add($0) }
    try queue.advance(by: .milliseconds(1600))
    try countdown.pause()
    try queue.advance(by: .seconds(100))
    #expect(left.all == [.seconds(2)])
    try countdown.resume()
    try queue.advance(by: .milliseconds(399))
    #expect(left.all == [.seconds(2)])
    try queue.advance(by: .milliseconds(1))
    #expect(left.all == [.seconds(2), .seconds(1)])
    try countdown.cancel()
    #expect(countdown.hasEnded && countdown.remaining == .seconds(1))
  }

  @Test func aCountdownRoundsUpToWholeStepsAndRefusesNone() throws {
    let queue = try VirtualTimerQueue()
    let countdown = try Countdown(from: .milliseconds(2500), on: queue) { _ in }
    #expect(countdown.remaining == .seconds(3))
    #expect(throws: ChimeError.invalidArgument) { try Countdown(from: .zero, on: queue) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try Countdown(from: .seconds(1), every: .zero, on: queue) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try Countdown(from: .seconds(-1), on: queue) { _ in } }
  }

  // MARK: TimeLimited

  @Test func aTimeLimitedValueIsGoneBeforeItsQueueNotices() throws {
    let queue = try VirtualTimerQueue()
    let limited = try TimeLimited(1, lifetime: .seconds(5), on: queue)
    try queue.jump(by: .seconds(5))
    #expect(limited.value == nil)
    #expect(try limited.resetTimer(interval: .seconds(5)) == .ignored)
    #expect(throws: ChimeError.invalidArgument) { try limited.resetTimer(interval: .seconds(-1)) }
    #expect(throws: ChimeError.invalidArgument) { try TimeLimited(1, lifetime: .seconds(-1), on: queue) }
  }

  @Test func aTimeLimitedValueIsReleasedWhenItVanishesOrItsContainerGoes() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter(), expired = Counter()
    let limited = try TimeLimited(Counted(alive), lifetime: .seconds(1), on: queue)
    try queue.advance(by: .seconds(1))
    #expect(alive.value == 0)
    var dropped: TimeLimited<Counted>? = try TimeLimited(Counted(alive), lifetime: .seconds(1), on: queue) {
      expired.add()
    }
    #expect(dropped?.value != nil)
    dropped = nil
    #expect(alive.value == 0)
    try queue.advance(by: .seconds(2))
    #expect(expired.value == 0)
    withExtendedLifetime(limited) {}
  }

  // MARK: Ticks

  @Test func ticksAreASequenceThatKeepsTheNewestAndAddsUpWhatWasMissed() async throws {
    let queue = try VirtualTimerQueue()
    let ticks = try queue.ticks(every: .seconds(1))
    try queue.advance(by: .seconds(4))
    var iterator = ticks.makeAsyncIterator()
    let first = await iterator.next()
    #expect(first?.sequence == 4 && first?.missed == 3 && first?.scheduled == 4_000_000_000)
    try queue.advance(by: .seconds(1))
    let second = await iterator.next()
    #expect(second?.sequence == 5 && second?.missed == 0)
  }

  @Test func cancellingTheTaskEndsTheSequenceAndTheTimer() async throws {
    let queue = try VirtualTimerQueue()
    let seen = Log<UInt64>(), over = Log<Bool>()
    let ticks = try queue.ticks(every: .seconds(1))
    let task = Task {
      for await tick in ticks { seen.add(tick.sequence) }
      over.add(true)
    }
    try await Self.drive(queue, by: .milliseconds(100)) { seen.all.count >= 3 }
    task.cancel()
    await task.value
    #expect(over.all == [true])
    let count = seen.all.count
    try queue.advance(by: .seconds(10))
    #expect(seen.all.count == count)
  }

  @Test func theEndOfTheQueueEndsTheSequence() async throws {
    let queue = try VirtualTimerQueue()
    let ticks = try queue.ticks(every: .seconds(1))
    let task = Task { for await _ in ticks {} }
    await Task.yield()
    try queue.shutdown()
    await task.value
  }

  @Test func droppingTheSequenceStopsItsTimer() async throws {
    let queue = try HostTimerQueue()
    do {
      let ticks = try queue.ticks(every: .seconds(3600))
      try queue.process()
      #expect(queue.nextDeadline != nil)
      withExtendedLifetime(ticks) {}
    }
    try queue.process()
    #expect(queue.nextDeadline == nil)
  }

  // MARK: Clock

  @Test func aSleepIsCancelledAndAQueueThatEndsEndsIt() async throws {
    let queue = try VirtualTimerQueue()
    let clock = TimerQueueClock(queue)
    let cancelled = Task { try await clock.sleep(for: .seconds(1)) }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let ended = Task { try await clock.sleep(for: .seconds(1)) }
    try await queue.untilArmed()
    try queue.shutdown()
    await #expect(throws: ChimeError.shutDown) { try await ended.value }
    await #expect(throws: ChimeError.invalidHandle) { try await clock.sleep(for: .seconds(1)) }
  }

  @Test func sleepingUntilAPastDeadlineReturnsAtOnce() async throws {
    let clock = try TimerQueueClock(VirtualTimerQueue(start: 5))
    try await clock.sleep(for: .zero)
    try await clock.sleep(until: TimerQueueClock.Instant(nanoseconds: 4))
  }

  @Test func instantsAreOrderedAndSaturate() {
    typealias Instant = TimerQueueClock.Instant
    let instant = Instant(nanoseconds: 5)
    #expect(instant.advanced(by: .nanoseconds(7)).nanoseconds == 12)
    #expect(instant.advanced(by: .seconds(Int64.max)).nanoseconds == .max)
    #expect(instant.duration(to: Instant(nanoseconds: 2)) == .nanoseconds(-3))
    #expect(instant < Instant(nanoseconds: 6) && instant == Instant(nanoseconds: 5))
  }

  // MARK: HandlerStrategy

  final class Sender: TickHandler {
    let events = Log<String>()
    let name: String
    init(_ name: String) { self.name = name }
    func handle(_ tick: Tick) { events.add("\(name)\(tick.sequence)") }
  }

  final class Other: TickHandler {
    func handle(_ tick: Tick) {}
  }

  @Test func aStrategyMayBeChangedInItsHandlersAndFromManyThreads() throws {
    final class Once: TickHandler {
      let strategy: HandlerStrategy
      let count = Atomic(0)
      init(_ strategy: HandlerStrategy) { self.strategy = strategy }
      func handle(_ tick: Tick) {
        count.add(1, ordering: .relaxed)
        strategy.unregister("once")
        strategy.register(Sender("new"), for: "new")
      }
    }
    let queue = try VirtualTimerQueue()
    let strategy = HandlerStrategy()
    let once = Once(strategy)
    strategy.register(once, for: "once")
    let timer = try queue.every(.seconds(1), strategy: strategy)
    try queue.advance(by: .seconds(3))
    #expect(once.count.load(ordering: .relaxed) == 1)
    #expect(strategy.retrieve(Sender.self, for: "new")?.events.all == ["new2", "new3"])
    DispatchQueue.concurrentPerform(iterations: 8) { index in
      for round in 0..<1000 {
        strategy.register(Other(), for: "\(index)")
        if round % 3 == 0 { strategy.unregister("\(index)") }
      }
    }
    #expect((0..<8).allSatisfy { strategy.unregister("\($0)") == (999 % 3 != 0) })
    withExtendedLifetime(timer) {}
  }
}

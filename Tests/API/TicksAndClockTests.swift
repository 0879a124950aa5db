import Chime
import ChimeTestSupport
import Testing

/// Ticks as a sequence, and sleeping until a queue's time, on virtual time.
@Suite struct TicksAndClockTests {
  let queue: VirtualTimerQueue
  let clock: TimerQueueClock

  init() throws {
    queue = try VirtualTimerQueue()
    clock = TimerQueueClock(queue)
  }

  // MARK: Ticks

  @Test func ticksAreASequenceThatKeepsTheNewestAndAddsUpWhatWasMissed() async throws {
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
    let seen = Counter()
    let ticks = try queue.ticks(every: .seconds(1))
    let task = Task { for await _ in ticks { seen.add() } }
    try #require(
      await soon {
        try? queue.advance(by: .milliseconds(100))
        return seen.value >= 3
      })
    task.cancel()
    await task.value
    #expect(queue.nextDeadline == nil)
  }

  @Test func theEndOfTheQueueEndsTheSequence() async throws {
    let ticks = try queue.ticks(every: .seconds(1))
    let task = Task { for await _ in ticks {} }
    await Task.yield()
    try queue.shutdown()
    await task.value
  }

  @Test func droppingTheSequenceStopsItsTimer() throws {
    var ticks: Ticks? = try queue.ticks(every: .seconds(3600))
    #expect(ticks != nil && queue.nextDeadline != nil)
    ticks = nil
    #expect(queue.nextDeadline == nil)
  }

  // MARK: Clock

  @Test func aSleepIsCancelledAndAQueueThatEndsEndsIt() async throws {
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
    try queue.jump(by: .nanoseconds(5))
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
}

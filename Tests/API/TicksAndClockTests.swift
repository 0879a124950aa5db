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
    try await queue.advance(by: .seconds(4))
    var iterator = ticks.makeAsyncIterator()
    let first = await iterator.next()
    #expect(first?.sequence == 4 && first?.missed == 3 && first?.scheduled == queue.now)
    try await queue.advance(by: .seconds(1))
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

  /// The tick in the buffer came before; a cancelled reader does not want it.
  @Test func cancelledTicksGiveNoMore() async throws {
    let ticks = try queue.ticks(every: .seconds(1))
    try await queue.advance(by: .seconds(1))
    let task = Task {
      var iterator = ticks.makeAsyncIterator()
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return [await iterator.next(), await iterator.next(isolation: nil)]
    }
    #expect(await task.value == [nil, nil])
  }

  @Test func ticksBeginAtOnceAndFollowASchedule() async throws {
    var atOnce = try queue.ticks(every: .seconds(1), after: .zero).makeAsyncIterator()
    try await queue.advance(by: .zero)
    #expect(await atOnce.next()?.scheduled == queue.now)
    let ticks = try queue.ticks(.once(at: queue.now + .seconds(5)))
    try await queue.advance(by: .seconds(5))
    var iterator = ticks.makeAsyncIterator()
    #expect(await iterator.next()?.scheduled == queue.now && ticks.timer.state == .finished)
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
    try await clock.sleep(until: TimerInstant(.virtual, nanoseconds: 4))
    await #expect(throws: ChimeError.invalidArgument) {
      try await clock.sleep(until: TimerInstant(.monotonic, nanoseconds: 4))
    }
  }
}

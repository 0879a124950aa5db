import Chime
import ChimeCompat
import ChimeTestSupport
import Testing

/// Ticks as a sequence, and sleeping until a queue's time, on virtual time.
@Suite struct TicksAndClockTests {
  let queue: VirtualTimerQueue
  let clock: TimerQueueClock

  init() throws {
    queue = try VirtualTimerQueue()
    clock = queue.clock
  }

  // MARK: Ticks

  /// As programs write it: what a loop gets is all that they know of.
  @Test func aLoopOverTicksEndsWithItsTimer() async throws {
    let (queue, log) = (queue, Log<UInt64>())
    let reader = Task {
      for await tick in try queue.ticks(.every(.seconds(1))) {
        log.add(tick.sequence)
        if tick.sequence == 3 { tick.timer.cancel() }
      }
    }
    try await queue.run()
    try await reader.value
    #expect(log.all == [1, 2, 3])
  }

  /// A run that would never end says why.
  @Test func aRunBesideTicksWithoutEndGivesUp() async throws {
    let ticks = try queue.tickSequence(.every(.seconds(1)))
    let reader = Task { for await _ in ticks {} }
    let time = try #require(queue.virtualTime)
    await #expect(throws: ChimeError.limit) { try await time.run(most: 20) }
    #expect(queue.now.nanoseconds == 20 * 1_000_000_000)
    ticks.timer.cancel()
    try await queue.run()
    await reader.value
  }

  @Test func ticksAreASequenceThatKeepsTheNewestAndAddsUpWhatWasMissed() async throws {
    let ticks = try queue.tickSequence(.every(.seconds(1)))
    try await queue.advance(by: .seconds(4))
    var iterator = ticks.makeAsyncIterator()
    let first = await iterator.next()
    #expect(first?.sequence == 4 && first?.missed == 3 && first?.scheduled == queue.now)
    try await queue.advance(by: .seconds(1))
    let second = await iterator.next()
    #expect(second?.sequence == 5 && second?.missed == 0)
  }

  /// Three ticks that nobody has read, of the generation before.
  @Test func aTickThatWasCalledOffIsNotRead() async throws {
    for way in 0..<4 {
      let ticks = try queue.tickSequence(.every(.seconds(1)))
      var iterator = ticks.makeAsyncIterator()
      try await queue.advance(by: .seconds(3))
      switch way {
      case 0: try ticks.timer.restart(.every(.seconds(1)))
      case 1: try ticks.timer.reschedule(every: .seconds(1))
      case 2: ticks.timer.suspend()
      default: ticks.timer.cancel()
      }
      if way == 2 {
        let reader = Task { await iterator.next() }
        try await queue.advance(by: .milliseconds(100))
        ticks.timer.resume()
        try await queue.advance(by: .seconds(1))
        let tick = await reader.value
        #expect(tick?.sequence == 3 && tick?.missed == 2 && tick?.isCurrent == true)
      } else {
        try await queue.advance(by: .seconds(1))
        let tick = await iterator.next()
        #expect(way == 3 ? tick == nil : tick?.missed == 0 && tick?.isCurrent == true)
      }
    }
  }

  /// What a program has of the timer is its ticks'.
  @Test func aReaderHoldsItsOwnTicksBack() async throws {
    let ticks = try queue.ticks(.every(.seconds(1)))
    @Sendable func next() async -> ChimeTimer.Tick? {
      var iterator = ticks.makeAsyncIterator()
      return await iterator.next(isolation: nil)
    }
    try await queue.advance(by: .seconds(1))
    let timer = try #require(await next()).timer
    try await queue.advance(by: .seconds(2))
    #expect(timer.suspend() == .done)
    let reader = Task { await next() }
    try await queue.advance(by: .milliseconds(500))
    #expect(timer.resume() == .done)
    try await queue.advance(by: .seconds(1))
    let held = await reader.value
    #expect(held?.sequence == 3 && held?.missed == 1 && held?.isCurrent == true)
    try await queue.advance(by: .seconds(2))
    try timer.restart(.every(.seconds(1)))
    try await queue.advance(by: .seconds(1))
    let tick = await next()
    #expect(tick?.missed == 0 && tick?.isCurrent == true)
  }

  @Test func cancellingTheTaskEndsItsReadingAndTheLastReferenceTheTimer() async throws {
    let seen = Counter()
    var ticks: Ticks? = try queue.tickSequence(.every(.seconds(1)))
    let task = Task { [ticks] in
      if let ticks { for await _ in ticks { seen.add() } }
    }
    try #require(
      await soon {
        try? queue.advanceTimers(by: .milliseconds(100))
        return seen.value >= 3
      })
    task.cancel()
    await task.value
    #expect(ticks?.timer.state == .running)
    ticks = nil
    // The task's own reference goes with its closure, soon after its value is there.
    try #require(await soon { queue.nextDeadline == nil })
  }

  /// One reader that is cancelled leaves the other its ticks, those that were there before included.
  @Test func eachReaderEndsByItself() async throws {
    let ticks = try queue.tickSequence(.every(.seconds(1)))
    let seen = Log<UInt64>()
    let cancelled = Task { for await _ in ticks {} }
    try await queue.advance(by: .zero)
    cancelled.cancel()
    await cancelled.value
    try await queue.advance(by: .seconds(1))
    let other = Task { for await tick in ticks.prefix(2) { seen.add(tick.sequence) } }
    try await queue.advance(by: .seconds(1))
    await other.value
    #expect(seen.all == [1, 2] && ticks.timer.state == .running)
  }

  @Test func aSequenceEndsWithTheLastTickOfItsLimit() async throws {
    let ticks = try queue.tickSequence(.every(.seconds(1), limit: 3))
    let seen = Log<UInt64>()
    let task = Task { for await tick in ticks { seen.add(tick.sequence) } }
    let waiting = Task { for await tick in ticks { seen.add(tick.sequence) } }
    try await queue.advance(by: .seconds(10))
    await task.value
    await waiting.value
    #expect(seen.all == [1, 2, 3])
    let once = try queue.tickSequence(.once(after: .seconds(1)))
    try await queue.advance(by: .seconds(1))
    var iterator = once.makeAsyncIterator()
    #expect(await iterator.next()?.sequence == 1)
    #expect(await iterator.next() == nil)
  }

  /// At once, without another pass of the queue; by a tick's reference, too, for its reader.
  @Test func cancellingItsTimerEndsASequence() async throws {
    for ends in [0, 1] {
      let ticks = try queue.tickSequence(.every(.seconds(1)))
      let task = Task { for await _ in ticks {} }
      try await queue.advance(by: .seconds(1))
      if ends == 0 { ticks.timer.cancel() } else { ticks.timer.invalidate() }
      await task.value
    }
    let ticks = try queue.tickSequence(.every(.seconds(1)))
    let reader = Task { for await tick in ticks { tick.timer.cancel() } }
    try await queue.advance(by: .seconds(2))
    await reader.value
    let waiting = Task { for await _ in try queue.tickSequence(.every(.seconds(1))) {} }
    try await queue.advance(by: .zero)
    try await queue.shutdown()
    try await waiting.value
  }

  /// 10^5 cancellations beside ticks: a reader that is cancelled ends, and the other gets all that is left.
  @Test func aCancellationBesideATickEndsOneReader() async throws {
    let queue = try TimerQueue()
    let ticks = try queue.tickSequence(.every(.microseconds(20)))
    let seen = Counter()
    let other = Task { for await _ in ticks { seen.add() } }
    for _ in 0..<20_000 {
      let reader = Task { for await _ in ticks {} }
      reader.cancel()
      await reader.value
    }
    let before = seen.value
    try #require(await soon { seen.value > before })
    ticks.timer.cancel()
    await other.value
  }

  // MARK: After the end

  @Test func theClockOfAQueueGoesOnAfterItsEnd() throws {
    try queue.advanceTimers(by: .seconds(5))
    try queue.blockingShutdown()
    #expect(queue.now == TimerInstant(.virtual, nanoseconds: 5_000_000_000))
    for clock in [TimerInstant.Timeline.monotonic, .wall] {
      let real = try TimerQueue(clock: clock)
      let before = real.now
      try real.blockingShutdown()
      let after = real.now
      #expect(after >= before && real.now >= after && after - before < .seconds(60))
    }
  }

  /// The tick in the buffer came before; a cancelled reader does not want it.
  @Test func cancelledTicksGiveNoMore() async throws {
    let ticks = try queue.tickSequence(.every(.seconds(1)))
    try await queue.advance(by: .seconds(1))
    let task = Task {
      var iterator = ticks.makeAsyncIterator()
      unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
      return [await iterator.next(), await iterator.next(isolation: nil)]
    }
    #expect(await task.value == [nil, nil])
  }

  // MARK: Clock

  @Test func aSleepIsCancelledAndAQueueThatEndsEndsIt() async throws {
    let cancelled = Task { try await clock.sleep(for: .seconds(1)) }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let ended = Task { try await clock.sleep(for: .seconds(1)) }
    try await queue.untilArmed()
    try await queue.shutdown()
    await #expect(throws: ChimeError.shutDown) { try await ended.value }
    await #expect(throws: ChimeError.shutDown) { try await clock.sleep(for: .seconds(1)) }
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

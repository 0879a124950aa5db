import Chime
@testable import ChimeCore
import ChimeTestSupport
import Testing

/// Code that sleeps, on virtual time: waiting until it does.
@Suite struct ArmingTests {
  @Test(.timeLimit(.minutes(20))) func untilArmedReturnsOnceSomebodySleeps() async throws {
    let queue = try VirtualTimerQueue()
    let clock = queue.clock
    let task = Task {
      for _ in 0..<100 { try await clock.sleep(for: .seconds(60)) }
      return clock.now.nanoseconds
    }
    for _ in 0..<100 {
      try #require(try await queue.untilArmed() == .done)
      #expect(queue.nextDeadline == queue.now + .seconds(60))
      try await queue.advance(by: .seconds(60))
    }
    #expect(try await task.value == 6_000_000_000_000)
  }

  /// Its tick comes with an advance by zero, and what it starts is to be waited for.
  @Test func aTimerThatIsDueNowDoesNotArmTheQueue() async throws {
    let queue = try VirtualTimerQueue()
    let due = try queue.schedule(after: .zero) { _ in }
    #expect(try await queue.untilArmed(within: .milliseconds(5)) == .timedOut)
    let later = try queue.schedule(after: .seconds(1)) { _ in }
    #expect(try await queue.untilArmed(within: .milliseconds(5)) == .timedOut)  // the one that is due hides it
    try await queue.advance(by: .zero)
    #expect(try await queue.untilArmed(within: .seconds(patience)) == .done)
    #expect(due.state == .finished && later.state == .running)
  }

  @Test(.timeLimit(.minutes(20))) func untilArmedCountsTimers() async throws {
    let queue = try VirtualTimerQueue()
    let first = try queue.schedule(after: .seconds(1)) { _ in }
    #expect(try await queue.untilArmed(count: 1) == .done)
    #expect(try await queue.untilArmed(count: 2, within: .milliseconds(5)) == .timedOut)
    async let armed = queue.untilArmed(count: 3)
    let others = try [2, 3].map { try queue.schedule(after: .seconds($0)) { _ in } }
    #expect(try await armed == .done)
    withExtendedLifetime((first, others)) {}
  }

  /// Each used to leave a function behind that nobody would call.
  @Test func whoStopsWaitingLeavesNothingBehind() async throws {
    let queue = try VirtualTimerQueue()
    for _ in 0..<10 { #expect(try await queue.untilArmed(within: .milliseconds(1)) == .timedOut) }
    let core = try #require(QueueCore.find(queue.id))
    let driver = try #require(core.driver as? VirtualDriver)
    #expect(driver.waiting.withLock { $0.count } <= 1)
  }

  @Test func untilArmedEndsWithItsLimitItsTaskAndItsQueue() async throws {
    let queue = try VirtualTimerQueue()
    #expect(try await queue.untilArmed(within: .milliseconds(5)) == .timedOut)
    let cancelled = Task { try await queue.untilArmed() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    // Most of the tasks wait by the time at which their queue ends.
    for _ in 0..<200 {
      let queue = try VirtualTimerQueue()
      let ended = Task { try await queue.untilArmed() }
      for _ in 0..<5 { await Task.yield() }
      try await queue.shutdown()
      await #expect(throws: ChimeError.shutDown) { try await ended.value }
    }
  }

  /// From threads beside, again and again: none is missed.
  @Test(.timeLimit(.minutes(20))) func noTimerIsMissedThatAnotherThreadStarts() async throws {
    let queue = try VirtualTimerQueue()
    for _ in 0..<5000 {
      async let timer = Task.detached { try queue.schedule(after: .seconds(1)) { _ in } }.value
      try #require(try await queue.untilArmed() == .done)
      _ = try await timer.cancel()
    }
  }

}

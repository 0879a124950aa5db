import Chime
import ChimeTestSupport
import Foundation
import Testing

@testable import ChimeRunLoop

/// Timer queues on Foundation's run loops in Swift, each loop on a thread of its own: nothing here needs the main thread,
/// or the program to be in front. (What a queue does on every kind of place is tested by the C suite, on Chime's own run
/// loops too.)
@Suite("Background timer", .serialized) struct RunLoopQueueTests {
  @Test func aQueueNeedsAMode() async throws {
    try await onAThread {
      #expect(throws: ChimeError.invalidArgument) { try TimerQueue(runLoop: .current, modes: []) }
      #expect(throws: ChimeError.invalidArgument) {
        try TimerQueue(runLoop: .current, modes: [.default, RunLoop.Mode("")])
      }
    }
  }

  /// A timer whose date is set in its own callback is re-armed by CoreFoundation in that mode only.
  @Test(arguments: [[RunLoop.Mode.default, .tracking], [.common], [.common, RunLoop.Mode("third")]])
  func aQueueInSeveralModesTicksInEach(_ modes: [RunLoop.Mode]) async throws {
    try await onAThread {
      addCommonMode(.tracking)
      let queue = try TimerQueue(runLoop: .current, modes: modes)
      let due = Counter(), ticks = Counter()
      let thread = Thread.current
      let timer = try queue.schedule(every: .milliseconds(2)) { tick in
        #expect(Thread.current === thread && !Thread.isMainThread && tick.actual >= tick.scheduled)
        due.add(1 + Int(tick.missed))
        ticks.add()
      }
      let first = try #require(timer.nextDeadline)
      for _ in 0..<5 {
        for mode in [RunLoop.Mode.default, .tracking] {
          let before = ticks.value
          #expect(run(mode) { ticks.value >= before + 2 })
        }
      }
      #expect(timer.nextDeadline == first + .milliseconds(2 * due.value))
      try queue.blockingShutdown()
    }
  }

  @Test func aHandlerMayRunTheLoopInAnotherMode() async throws {
    try await onAThread {
      let queue = try TimerQueue(runLoop: .current, modes: [.default, .tracking])
      let ticks = Counter(), nested = Counter()
      let timer = try queue.schedule(every: .milliseconds(1)) { tick in
        ticks.add()
        let before = ticks.value
        if tick.sequence % 3 == 1 { run(tick.sequence % 2 == 0 ? .tracking : .default, for: 4) }
        #expect(ticks.value == before)  // the queue delivers nothing meanwhile
        nested.add()
      }
      #expect(run { nested.value >= 4 })
      #expect(run(.tracking) { nested.value >= 8 })
      #expect(run { nested.value >= 12 })
      withExtendedLifetime(timer) {}
      try queue.blockingShutdown()
    }
  }

  @Test func aLoopWhoseThreadHasEndedEndsItsQueuesAndTimersAndTakesNoMore() async throws {
    /// Unchecked: other threads only name it.
    struct OtherLoop: @unchecked Sendable { let loop = RunLoop.current }
    let alive = Counter(), ran = Counter()
    let (other, queue, timer) = try await onAThread {
      let queue = try TimerQueue(runLoop: .current)
      try queue.perform(after: .seconds(3600), capturing(alive))
      try queue.perform { ran.add() }
      #expect(run { ran.value == 1 })
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true, block: capturing(alive))
      return (OtherLoop(), queue, timer)
    }
    #expect(try await queue.shutdown() == .done)
    #expect(await soon { !timer.isValid && alive.value == 0 })
    // Somebody holds the dead thread's RunLoop: that it is still there does not make it run.
    let late = try WeakTimer(timeInterval: 1, repeats: true) { _ in }
    #expect(throws: ChimeError.shutDown) { try late.add(to: other.loop) }
    #expect(throws: ChimeError.shutDown) { try TimerQueue(runLoop: other.loop) }
    #expect(late.isValid)
  }
}

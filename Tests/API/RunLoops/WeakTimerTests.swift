import Chime
import ChimeTestSupport
import Foundation
import Testing

@testable import ChimeRunLoop

/// `WeakTimer` with the interface of Foundation's `Timer`, and without what is wrong with that on Linux: it leaks, its
/// tolerance and userInfo do nothing, some intervals trap, `Timer(timeInterval:repeats:)` fires at once. What is
/// Foundation's; the rest is tested in C (`weak_timers.c`).
///
/// Ticks are late when the machine is: the tests bound how early, and wait for the rest.
@Suite(.serialized) struct WeakTimerTests {
  // MARK: As Foundation's

  @Test func aTimerThatIsNotAddedDoesNotTick() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer(timeInterval: 0.02, repeats: true) { _ in ticks.add() }
      run(for: 5)
      #expect(ticks.value == 0)
      let began = Clock.monotonic.now
      timer.fireDate = Date(timeIntervalSinceNow: 0.02)
      #expect(try timer.add(to: .current) == .done)
      run(for: 0)
      if Clock.monotonic.now - began < 20_000_000 { #expect(ticks.value == 0) }  // Foundation's fires at once
      #expect(run { ticks.value >= 1 })
      timer.invalidate()
    }
  }

  // MARK: Modes and loops

  @Test func aTimerIsOnOneLoop() async throws {
    try await onAThread {
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: true) { _ in }
      #expect(throws: ChimeError.invalidArgument) { try timer.add(to: .main) }
      #expect(try timer.add(to: .current) == .ignored)
      #expect(try timer.add(to: .current, forMode: .tracking) == .done)
      #expect(throws: ChimeError.invalidArgument) { try timer.add(to: .current, forMode: RunLoop.Mode("")) }
      timer.invalidate()
    }
  }

  @Test func aLoopWhoseThreadHasEndedTakesNothingAndEndsItsTimers() async throws {
    /// Unchecked: other threads only name it.
    struct OtherLoop: @unchecked Sendable { let loop = RunLoop.current }
    let alive = Counter()
    let (other, timer) = try await onAThread {
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true, block: capturing(alive))
      return (OtherLoop(), timer)
    }
    #expect(await soon { !timer.isValid && alive.value == 0 })
    // Somebody holds the dead thread's RunLoop: that it is still there does not make it run.
    let late = try WeakTimer(timeInterval: 1, repeats: true) { _ in }
    #expect(throws: ChimeError.invalidHandle) { try late.add(to: other.loop) }
    #expect(throws: ChimeError.invalidHandle) { try TimerQueue(on: other.loop) }
    #expect(late.isValid)
  }

  // MARK: Numbers

  @Test(arguments: [
    0, -1, -Double.infinity, -Double.greatestFiniteMagnitude, 1e-10, 1e-4, Double.leastNonzeroMagnitude,
  ])
  func shortIntervalsRepeatAndDoNotTrap(_ interval: Double) async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: interval, repeats: true) { _ in ticks.add() }
      #expect(timer.core.interval == (interval <= 0 ? 100_000 : max(1, Int64((interval * 1e9).rounded(.up)))))
      #expect(run { ticks.value >= 3 })
      #expect(timer.isValid)
      timer.invalidate()
    }
  }

  @Test(arguments: [Double.infinity, Double.greatestFiniteMagnitude, 1e30, 9.3e9], [false, true])
  func intervalsBeyondAllTimeNeverTick(_ interval: Double, _ repeats: Bool) async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: interval, repeats: repeats) { _ in ticks.add() }
      #expect(timer.fireDate == .distantFuture && timer.isValid)
      timer.tolerance = interval
      run(for: 1)
      timer.invalidate()
      #expect(ticks.value == 0)
    }
  }

  @Test(arguments: [Double.nan, -.nan, .signalingNaN]) func anIntervalThatIsNotANumberThrows(_ interval: Double) {
    let target = Counted(Counter())
    #expect(throws: ChimeError.invalidArgument) { try WeakTimer(timeInterval: interval, repeats: true) { _ in } }
    #expect(throws: ChimeError.invalidArgument) {
      try WeakTimer.scheduledTimer(timeInterval: interval, target: target, repeats: true) { (_: WeakTimer) in }
    }
  }

  @Test func toleranceIsKeptAndClamped() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { _ in ticks.add() }
      let bounds: [(set: Double, read: ClosedRange<Double>)] = [
        (0.004, 0.004...0.004),  // Foundation's reads 0 on Linux
        (-1, 0...0), (-.infinity, 0...0), (.nan, 0...0), (0.01, 0.0099...0.01), (1e30, 0.0099...0.01),
        (.infinity, 0.0099...0.01),
      ]
      #expect(timer.tolerance == 0)
      for (set, read) in bounds {
        timer.tolerance = set
        #expect(read ~= timer.tolerance, "\(set)")
      }
      let first = timer.core.nextDeadline
      #expect(run { ticks.value >= 3 })
      #expect((timer.core.nextDeadline - first) % 10_000_000 == 0)  // late ticks move no other
      timer.invalidate()
    }
  }

  @Test func fireDatesAreAnyDate() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: true) { _ in ticks.add() }
      #expect(abs(timer.fireDate.timeIntervalSinceNow - 3600) < 60)
      let future: [TimeInterval] = [
        .infinity, .nan, .greatestFiniteMagnitude, Date.distantFuture.timeIntervalSinceNow,
      ]
      for never in future {
        timer.fireDate = Date(timeIntervalSinceNow: never)
        run(for: 1)
        #expect(ticks.value == 0 && timer.isValid && timer.fireDate.timeIntervalSinceNow > 1e9, "\(never)")
      }
      let before: [TimeInterval] = [
        0, -.infinity, -.greatestFiniteMagnitude, Date.distantPast.timeIntervalSinceNow,
      ]
      for past in before {
        let count = ticks.value
        timer.fireDate = Date(timeIntervalSinceNow: past)
        #expect(run { ticks.value > count })
        run(for: 1)
        #expect(ticks.value == count + 1 && timer.fireDate > Date(), "\(past)")  // once, and not again and again
      }
      timer.invalidate()
      timer.fireDate = Date()
      #expect(timer.fireDate == .distantFuture)
    }
  }
}

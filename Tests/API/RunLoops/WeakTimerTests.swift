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

  @Test func aOneShotWithUserInfoIsInvalidAfterItsTick() async throws {
    try await onAThread {
      let target = Counted(Counter()), seen = Counter(), alive = Counter()
      let timer: WeakTimer
      do {
        let capture = Counted(alive)
        timer = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: target, userInfo: 42, repeats: false) {
          (timer: WeakTimer) in
          #expect(timer.isValid)
          seen.add(capture.alive.value * (timer.userInfo as? Int ?? 0))
        }
      }
      #expect(timer.userInfo as? Int == 42)
      #expect(run { !timer.isValid })
      #expect(seen.value == 42 && alive.value == 0)
      #expect(timer.timeInterval == 0 && timer.fireDate == .distantFuture)
      #expect(try timer.fire() == .ignored && timer.add(to: .current) == .ignored)
      withExtendedLifetime(target) {}
    }
  }

  // MARK: Modes and loops

  /// Run by Foundation, rather than by Chime.
  @Test func foundationsOwnRunServesTheTimersInEveryMode() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer(timeInterval: 0.002, repeats: true) { _ in ticks.add() }
      try timer.add(to: .current)
      try timer.add(to: .current, forMode: .tracking)
      let end = Date(timeIntervalSinceNow: patience)
      for round in 1...6 {
        while ticks.value < 2 * round, Date() < end {
          _ = RunLoop.current.run(mode: round % 2 == 0 ? .tracking : .default, before: Date(timeIntervalSinceNow: 0.01))
        }
        #expect(ticks.value >= 2 * round)
      }
      timer.invalidate()
    }
  }

  /// Unchecked: other threads only name it.
  struct OtherLoop: @unchecked Sendable { let loop = RunLoop.current }

  @Test func aTimerIsOnOneLoop() async throws {
    let other = Log<OtherLoop>()
    let gate = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      other.add(OtherLoop())
      gate.wait()
    }
    #expect(await soon { other.count == 1 })
    try await onAThread {
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: true) { _ in }
      #expect(throws: ChimeError.invalidArgument) { try timer.add(to: other.all[0].loop) }
      #expect(try timer.add(to: .current) == .ignored)
      #expect(try timer.add(to: .current, forMode: .tracking) == .done)
      #expect(throws: ChimeError.invalidArgument) { try timer.add(to: .current, forMode: RunLoop.Mode("")) }
      timer.invalidate()
    }
    gate.signal()
  }

  @Test func aLoopWhoseThreadHasEndedTakesNothingAndEndsItsTimers() async throws {
    let others = Log<OtherLoop>(), alive = Counter()
    let timer = try await onAThread {
      let capture = Counted(alive)
      others.add(OtherLoop())
      return try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true) { _ in
        withExtendedLifetime(capture) {}
      }
    }
    #expect(await soon { !timer.isValid && alive.value == 0 })
    // Somebody holds the dead thread's RunLoop: that it is still there does not make it run.
    let late = try WeakTimer(timeInterval: 1, repeats: true) { _ in }
    #expect(throws: ChimeError.invalidHandle) { try late.add(to: others.all[0].loop) }
    #expect(throws: ChimeError.invalidHandle) { try TimerQueue(on: others.all[0].loop) }
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

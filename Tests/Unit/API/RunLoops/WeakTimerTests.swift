import Chime
import ChimeCore
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

  // MARK: Numbers

  static let intervals: [(seconds: Double, nanoseconds: Int64)] = [
    (0, 100_000), (-1, 100_000), (-.infinity, 100_000), (-.greatestFiniteMagnitude, 100_000), (1e-4, 100_000),
    (1e-10, 1), (.leastNonzeroMagnitude, 1), (.infinity, .max), (.greatestFiniteMagnitude, .max), (1e30, .max),
    (9.3e9, .max),
  ]

  @Test(arguments: intervals, [false, true])
  func anyIntervalIsTaken(_ interval: (seconds: Double, nanoseconds: Int64), _ repeats: Bool) async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: interval.seconds, repeats: repeats) { _ in
        ticks.add()
      }
      #expect(timer.core.interval == interval.nanoseconds)
      if interval.nanoseconds < .max {
        #expect(run { ticks.value >= (repeats ? 3 : 1) } && timer.isValid == repeats)
      } else {
        timer.tolerance = interval.seconds
        run(for: 1)
        #expect(timer.fireDate == .distantFuture && timer.isValid && ticks.value == 0)
      }
      timer.invalidate()
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
      for never in [.infinity, .nan, .greatestFiniteMagnitude, Date.distantFuture.timeIntervalSinceNow] as [Double] {
        timer.fireDate = Date(timeIntervalSinceNow: never)
        run(for: 1)
        #expect(ticks.value == 0 && timer.isValid && timer.fireDate.timeIntervalSinceNow > 1e9, "\(never)")
      }
      for past in [0, -.infinity, -.greatestFiniteMagnitude, Date.distantPast.timeIntervalSinceNow] as [Double] {
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

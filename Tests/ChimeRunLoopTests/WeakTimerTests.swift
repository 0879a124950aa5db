import Chime
import ChimeTestSupport
import Foundation
import Testing

@testable import ChimeRunLoop

/// `WeakTimer` with the interface of Foundation's `Timer`, and without what is wrong with that on Linux: it leaks, its
/// tolerance and userInfo do nothing, some intervals trap, `Timer(timeInterval:repeats:)` fires at once.
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

  @Test func aOneShotIsInvalidAfterItsTick() async throws {
    try await onAThread {
      let ticks = Counter(), alive = Counter()
      let timer: WeakTimer
      do {
        let capture = Counted(alive)
        timer = try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { timer in
          #expect(timer.isValid)
          ticks.add(capture.alive.value)
        }
      }
      #expect(run { !timer.isValid })
      #expect(ticks.value == 1 && alive.value == 0)
      #expect(timer.timeInterval == 0 && timer.fireDate == .distantFuture)
      #expect(timer.fire() == .ignored)
      #expect(try timer.add(to: .current) == .ignored)
    }
  }

  @Test func userInfoIsWhatWasGiven() async throws {
    try await onAThread {
      let target = Counted(Counter())
      let seen = Counter()
      let timer = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: target, userInfo: 42, repeats: false) {
        (timer: WeakTimer) in
        seen.add(timer.userInfo as? Int ?? 0)
      }
      #expect(timer.userInfo as? Int == 42)
      #expect(run { !timer.isValid })
      #expect(seen.value == 42)
      #expect(try WeakTimer(timeInterval: 1, repeats: true) { _ in }.userInfo == nil)
      withExtendedLifetime(target) {}
    }
  }

  @Test func theLoopHoldsATimerThatNobodyElseHolds() async throws {
    try await onAThread {
      let ticks = Counter()
      weak var timer: WeakTimer?
      do {
        let made = try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true) { _ in ticks.add() }
        timer = made
      }
      #expect(run { ticks.value >= 2 })
      #expect(timer != nil)
      timer?.invalidate()
      #expect(run { timer == nil })
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

  @Test func aTimerIsOnOneLoop() async throws {
    let other = Handoff<RunLoop>()
    let gate = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      other.set(RunLoop.current)
      gate.wait()
    }
    try await onAThread {
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: true) { _ in }
      #expect(throws: ChimeError.invalidArgument) { try timer.add(to: other.get()) }
      #expect(try timer.add(to: .current) == .ignored)
      #expect(try timer.add(to: .current, forMode: .tracking) == .done)
      #expect(throws: ChimeError.invalidArgument) { try timer.add(to: .current, forMode: RunLoop.Mode("")) }
      timer.invalidate()
    }
    gate.signal()
  }

  @Test func aLoopWhoseThreadHasEndedTakesNothingAndEndsItsTimers() async throws {
    let loop = Handoff<RunLoop>()
    let alive = Counter()
    let timer = try await onAThread {
      let capture = Counted(alive)
      loop.set(RunLoop.current)
      return try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true) { _ in
        withExtendedLifetime(capture) {}
      }
    }
    let end = Date(timeIntervalSinceNow: patience)
    while timer.isValid, Date() < end { try await Task.sleep(for: .milliseconds(1)) }
    #expect(!timer.isValid)
    #expect(alive.value == 0)
    // Somebody holds the dead thread's RunLoop: that it is still there does not make it run.
    let late = try WeakTimer(timeInterval: 1, repeats: true) { _ in }
    #expect(throws: ChimeError.invalidHandle) { try late.add(to: loop.get()) }
    #expect(throws: ChimeError.invalidHandle) { try TimerQueue(on: loop.get()) }
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

  @Test(arguments: [Double.infinity, Double.greatestFiniteMagnitude, 1e30, 9.3e9])
  func intervalsBeyondAllTimeNeverTick(_ interval: Double) async throws {
    try await onAThread {
      let ticks = Counter()
      for repeats in [false, true] {
        let timer = try WeakTimer.scheduledTimer(withTimeInterval: interval, repeats: repeats) { _ in ticks.add() }
        #expect(timer.fireDate == .distantFuture && timer.isValid)
        timer.tolerance = interval
        run(for: 1)
        timer.invalidate()
      }
      #expect(ticks.value == 0)
    }
  }

  @Test func anIntervalThatIsNotANumberThrows() async throws {
    try await onAThread {
      let target = Counted(Counter())
      #expect(throws: ChimeError.invalidArgument) { try WeakTimer(timeInterval: .nan, repeats: true) { _ in } }
      #expect(throws: ChimeError.invalidArgument) {
        try WeakTimer.scheduledTimer(withTimeInterval: -.nan, repeats: false) { _ in }
      }
      #expect(throws: ChimeError.invalidArgument) {
        try WeakTimer.scheduledTimer(timeInterval: .signalingNaN, target: target, repeats: true) { (_: WeakTimer) in }
      }
    }
  }

  @Test func toleranceIsKeptAndClamped() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 0.01, repeats: true) { _ in ticks.add() }
      #expect(timer.tolerance == 0)
      timer.tolerance = 0.004
      #expect(timer.tolerance == 0.004)  // Foundation's reads 0 on Linux
      for wrong in [-1, -Double.infinity, .nan] {
        timer.tolerance = wrong
        #expect(timer.tolerance == 0)
      }
      for large in [0.01, 1, 1e30, Double.infinity] {
        timer.tolerance = large
        #expect(timer.tolerance < 0.01 && timer.tolerance > 0.0099)
      }
      let first = timer.core.nextDeadline
      #expect(run { ticks.value >= 3 })
      #expect((timer.core.nextDeadline - first) % 10_000_000 == 0)  // late ticks move no other
      timer.invalidate()
      let once = try WeakTimer(timeInterval: 0.01, repeats: false) { _ in }
      once.tolerance = .infinity
      #expect(once.core.tolerance == .max)
    }
  }

  @Test func fireDatesAreAnyDate() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: true) { _ in ticks.add() }
      #expect(abs(timer.fireDate.timeIntervalSinceNow - 3600) < 60)
      let never: [Date] = [
        .distantFuture, Date(timeIntervalSinceNow: .infinity), Date(timeIntervalSinceNow: .nan),
        Date(timeIntervalSinceNow: .greatestFiniteMagnitude),
      ]
      for date in never {
        timer.fireDate = date
        run(for: 1)
        #expect(ticks.value == 0 && timer.isValid)
        #expect(timer.fireDate.timeIntervalSinceNow > 1e9)
      }
      let past: [Date] = [
        Date(), .distantPast, Date(timeIntervalSinceReferenceDate: 0), Date(timeIntervalSinceNow: -.infinity),
        Date(timeIntervalSinceNow: -.greatestFiniteMagnitude),
      ]
      for (count, date) in past.enumerated() {
        timer.fireDate = date
        #expect(run { ticks.value > count })
        run(for: 1)
        #expect(ticks.value == count + 1)  // once, and not again and again
        #expect(timer.fireDate > Date())
      }
      timer.invalidate()
      timer.fireDate = Date()
      #expect(timer.fireDate == .distantFuture)
    }
  }

  // MARK: Targets

  @Test func aTokenFreesWhatTheActionCaptured() async throws {
    try await onAThread {
      let alive = Counter(), captured = Counter()
      var target: Tokened? = Tokened(alive)
      weak var timer: WeakTimer?
      do {
        let capture = Counted(captured)
        timer = try WeakTimer.scheduledTimer(timeInterval: 3600, target: target!, repeats: true) {
          (object: Tokened, timer: WeakTimer) in
          withExtendedLifetime(capture) {}
        }
      }
      #expect(captured.value == 1 && timer != nil)
      target = nil
      #expect(alive.value == 0)
      // Nobody holds the timer, and nobody asks it: the loop lets go.
      #expect(run { captured.value == 0 && timer == nil })
    }
  }

  /// The cycle that Foundation's Timer makes: the loop holds the timer, the timer its target, and nobody ends it.
  final class Screen: Counted, @unchecked Sendable {
    private var timer: WeakTimer?
    private let ticks: Counter

    init(_ alive: Counter, _ ticks: Counter) throws {
      self.ticks = ticks
      super.init(alive)
      timer = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: self, repeats: true) {
        (screen: Screen, timer: WeakTimer) in
        screen.tick()
      }
    }

    private func tick() { ticks.add() }
  }

  @Test func anObjectThatOwnsItsTimerGoes() async throws {
    try await onAThread {
      let alive = Counter(), ticks = Counter()
      var screen: Screen? = try Screen(alive, ticks)
      #expect(run { ticks.value >= 3 })
      #expect(alive.value == 1)
      withExtendedLifetime(screen) {}
      screen = nil
      #expect(alive.value == 0)
      let before = ticks.value
      run(for: 5)
      #expect(ticks.value == before)
    }
  }

  @Test func aTargetThatGoesInItsActionLivesToItsEnd() async throws {
    try await onAThread {
      let alive = Counter(), ticks = Counter()
      let holder = Holder(Counted(alive))
      let timer = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: holder.object!, repeats: true) {
        (object: Counted, timer: WeakTimer) in
        holder.object = nil
        #expect(object.alive.value == 1)
        ticks.add()
      }
      #expect(run { ticks.value == 1 })
      #expect(alive.value == 0 && !timer.isValid)
    }
  }

  @Test func tenThousandMadeAndDroppedLeaveNothingBehind() async throws {
    try await onAThread {
      let alive = Counter(), captured = Counter(), timers = Counter()
      let watched = TargetSweep.count
      for index in 0..<10_000 {
        let target = index % 2 == 0 ? Counted(alive) : Tokened(alive)
        let capture = Counted(captured)
        let timer = try WeakTimer.scheduledTimer(
          timeInterval: index % 3 == 0 ? 3600 : 0.0001, target: target, repeats: index % 5 != 0
        ) { (_: Counted, _: WeakTimer) in withExtendedLifetime(capture) {} }
        if index % 7 == 0 { timer.fire() }
        if index % 11 == 0 { timer.invalidate() }
        if index % 100 == 0 { run(for: 0) }
      }
      #expect(alive.value == 0)
      // Two are looked at for each that is made: what is left is a small part, and the next ones find it.
      #expect(captured.value < 1000)
      for _ in 0..<1000 { _ = try WeakTimer(timeInterval: 1, target: timers, repeats: true) { (_: WeakTimer) in } }
      #expect(run { captured.value == 0 })
      for _ in 0..<1000 { _ = try WeakTimer(timeInterval: 1, target: timers, repeats: true) { (_: WeakTimer) in } }
      #expect(TargetSweep.count < watched + 1500)
    }
  }
}

/// Hands an object from one thread to another.
final class Handoff<Object: AnyObject>: @unchecked Sendable {
  private let condition = NSCondition()
  private var object: Object?

  func set(_ object: Object) {
    condition.withLock {
      self.object = object
      condition.broadcast()
    }
  }

  func get() -> Object {
    condition.withLock {
      while true {
        if let object { return object }
        condition.wait()
      }
    }
  }
}

/// Of one thread.
final class Holder<Object: AnyObject>: @unchecked Sendable {
  var object: Object?
  init(_ object: Object) { self.object = object }
}

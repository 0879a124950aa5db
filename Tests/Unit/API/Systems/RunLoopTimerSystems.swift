import Chime
import ChimeRunLoop
import ChimeTestSupport
import Foundation
import Testing

/// Timers on run loops: Foundation's Timer, WeakTimer, the block extension of Timer. (The background timer:
/// `RunLoopQueueTests`. Tolerance: `WeakTimerTests`, and in C leeway, by which timers share wake-ups on every queue.)

@Suite("Foundation Timer", .serialized) struct FoundationTimer {
  @Test func repeatingAndOneShotWithBlockAndWithTargetAndAction() async throws {
    final class Label: Sendable {
      let sum = Counter()
      func update(_ timer: WeakTimer) { sum.add(timer.isValid ? timer.userInfo as? Int ?? 0 : 0) }
    }
    try await onAThread {
      let label = Label(), other = Label()
      let blocks = Counter()
      let block = try WeakTimer.scheduledTimer(withTimeInterval: 0.002, repeats: true) { _ in blocks.add() }
      let action = try WeakTimer.scheduledTimer(timeInterval: 0.002, target: label, userInfo: 7, repeats: true) {
        (label: Label, timer: WeakTimer) in label.update(timer)
      }
      let once = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: other, userInfo: 42, repeats: false) {
        [unowned other] (timer: WeakTimer) in other.update(timer)
      }
      let last = try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in blocks.add(1000) }
      #expect(run { blocks.value % 1000 >= 3 && label.sum.value >= 21 && !once.isValid && !last.isValid })
      #expect(blocks.value / 1000 == 1 && label.sum.value % 7 == 0 && other.sum.value == 42)
      #expect(once.timeInterval == 0 && once.fireDate == .distantFuture && once.userInfo as? Int == 42)
      #expect(try once.fire() == .ignored && once.add(to: .current) == .ignored)
      #expect(block.invalidate() == .done && action.invalidate() == .done)
    }
  }

  @Test func aDateSaysWhenTheFirstTickIsDue() async throws {
    try await onAThread {
      let first = Counter(), late = Counter(), target = Counter(), hour = Date(timeIntervalSinceNow: 3600)
      let timers = [
        try WeakTimer(fireAt: .distantPast, interval: 3600, target: target, repeats: true) { _ in target.add() },
        try WeakTimer(fire: Date(), interval: 0.001, repeats: true) { _ in first.add() },
        try WeakTimer(fire: hour, interval: 0.001, repeats: false) { _ in late.add() },
      ]
      #expect(abs(timers[2].fireDate.timeIntervalSince(hour)) < 1)
      for timer in timers { try timer.add(to: .current) }
      #expect(run { first.value >= 3 })
      #expect(late.value == 0 && target.value == 1)
      for timer in timers { timer.invalidate() }
    }
  }

  @Test func aTimerRestsWhileTheLoopRunsInAnotherMode() async throws {
    try await onAThread {
      let inDefault = Counter(), inBoth = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 0.002, repeats: true) { _ in inDefault.add() }
      let both = try WeakTimer(timeInterval: 0.002, repeats: true) { _ in inBoth.add() }
      #expect(try both.add(to: .current, forMode: .default) == .done)
      #expect(try both.add(to: .current, forMode: .tracking) == .done)
      #expect(try both.add(to: .current, forMode: .tracking) == .ignored)
      #expect(throws: ChimeError.invalidArgument) { try both.add(to: .main) }
      #expect(throws: ChimeError.invalidArgument) { try both.add(to: .current, forMode: RunLoop.Mode("")) }
      #expect(run(.tracking) { inBoth.value >= 3 })
      #expect(inDefault.value == 0)
      #expect(run { inDefault.value >= 2 && inBoth.value >= 5 })
      timer.invalidate()
      both.invalidate()
    }
  }
}

@Suite("WeakTimer", .serialized) struct WeakTimerSystem {
  /// The original notices a target that has gone when it next ticks.
  @Test(arguments: [false, true])
  func theActionGetsTheTimerWhichIsInvalidTheMomentItsTargetGoes(_ isTokened: Bool) async throws {
    try await onAThread {
      let alive = Counter(), captured = Counter(), seen = Log<WeakTimer>()
      var target: Counted? = isTokened ? Tokened(alive) : Counted(alive)
      let timer = try WeakTimer.scheduledTimer(timeInterval: 3600, target: target!, repeats: true) {
        [capture = Counted(captured)] (target: Counted, timer: WeakTimer) in
        withExtendedLifetime(capture) { seen.add(timer) }
      }
      timer.fireDate = Date()
      #expect(run { seen.count == 1 })
      #expect(seen.all[0] === timer && timer.isValid)
      target = nil
      #expect(alive.value == 0)
      if isTokened {
        #expect(run { captured.value == 0 })  // the loop lets go, though nobody asks the timer
      }
      #expect(!timer.isValid)
      #expect(timer.invalidate() == .ignored && captured.value == 0 && timer.fire() == .ignored)
    }
  }
}

@Suite("Block extension of Timer", .serialized) struct BlockExtensionOfTimer {
  @Test func aScheduledTimerTakesAClosure() async throws {
    try await onAThread {
      let ticks = Counter(), captured = Counter()
      // As with Foundation, the loop holds it.
      try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true) { [capture = Counted(captured)] timer in
        ticks.add(capture.alive.value)
        if ticks.value == 3 { timer.invalidate() }
      }
      #expect(run { captured.value == 0 })
      #expect(ticks.value == 3)
    }
  }
}

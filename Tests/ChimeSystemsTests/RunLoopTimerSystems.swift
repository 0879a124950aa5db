import Chime
import ChimeRunLoop
import Dispatch
import ChimeTestSupport
import Foundation
import Testing

/// Timers on run loops: Foundation's Timer, tolerance, WeakTimer, the block extension of Timer, the background timer.

extension RunLoop.Mode {
  fileprivate static let tracking = RunLoop.Mode("tracking")
}

@Suite("Foundation Timer", .serialized) struct FoundationTimer {
  @Test func repeatingAndOneShotWithBlockAndWithTargetAndAction() async throws {
    final class Label {
      let ticks = Counter()
      func update(_ timer: WeakTimer) { ticks.add(timer.userInfo as? Int ?? 0) }
    }
    try await onAThread {
      let label = Label()
      let blocks = Counter()
      let block = try WeakTimer.scheduledTimer(withTimeInterval: 0.002, repeats: true) { _ in blocks.add() }
      let action = try WeakTimer.scheduledTimer(timeInterval: 0.002, target: label, userInfo: 7, repeats: true) {
        (label: Label, timer: WeakTimer) in label.update(timer)
      }
      let once = try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: false) { _ in blocks.add(1000) }
      #expect(run { blocks.value % 1000 >= 3 && label.ticks.value >= 21 && !once.isValid })
      #expect(blocks.value / 1000 == 1 && label.ticks.value % 7 == 0)
      #expect(block.isValid && action.isValid && once.fireDate == .distantFuture)
      #expect(block.invalidate() == .done && action.invalidate() == .done)
    }
  }

  @Test func anIntervalOfZeroOrLessIsATenthOfAMillisecond() async throws {
    try await onAThread {
      for interval in [0, -1.0] {
        let ticks = Counter()
        let timer = try WeakTimer.scheduledTimer(withTimeInterval: interval, repeats: true) { _ in ticks.add() }
        #expect(timer.timeInterval == 0.0001)
        #expect(run { ticks.value >= 3 })
        timer.invalidate()
      }
      #expect(throws: ChimeError.invalidArgument) { try WeakTimer(timeInterval: .nan, repeats: true) { _ in } }
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
      #expect(run(.tracking) { inBoth.value >= 3 })
      #expect(inDefault.value == 0)
      #expect(run { inDefault.value >= 2 && inBoth.value >= 5 })
      timer.invalidate()
      both.invalidate()
    }
  }

  @Test func fireDateCanBeReadAndMoved() async throws {
    try await onAThread {
      let ticks = Counter()
      let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: true) { _ in ticks.add() }
      #expect(timer.fireDate.timeIntervalSinceNow <= 3600 && timer.fireDate.timeIntervalSinceNow > 3000)
      timer.fireDate = Date(timeIntervalSinceNow: -5)
      #expect(run { ticks.value == 1 })
      #expect(timer.fireDate.timeIntervalSinceNow > 3000)
      timer.invalidate()
    }
  }

  /// Foundation on Linux never frees a timer or its block.
  @Test(.tags(.promise8OneFinalizer)) func whatATimerHoldsIsReleasedWithIt() async throws {
    try await onAThread {
      let alive = Counter()
      for round in 0..<200 {
        let capture = Counted(alive)
        let timer = try WeakTimer.scheduledTimer(withTimeInterval: 3600, repeats: round % 2 == 0) { _ in
          withExtendedLifetime(capture) {}
        }
        if round % 3 == 0 { timer.fire() }
        timer.invalidate()
      }
      run(for: 5)
      #expect(alive.value == 0)
    }
  }

  @Test(.tags(.promise5NoStorm)) func aQueueOnALoopIsTheSameForAnyTimer() async throws {
    try await onAThread {
      let queue = try TimerQueue(on: .current, modes: [.default])
      let missed = Counter(), ticks = Counter()
      let timer = try queue.every(.milliseconds(1)) { tick in
        missed.add(Int(tick.missed))
        ticks.add()
      }
      run(.tracking, for: 20)
      #expect(ticks.value == 0)
      #expect(run { ticks.value >= 1 })
      #expect(missed.value >= 15)  // one tick for all of them
      withExtendedLifetime(timer) {}
      try queue.shutdown()
    }
  }
}

@Suite("Tolerance") struct Tolerance {
  /// Due at 1, 2, 3, 4 s; the second comes at 2.4, the third at 3.1 all the same.
  @Test(.tags(.promise4NoDrift)) func aLateTickDoesNotMoveTheNextOnes() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<[Double]>()
    let timer = try queue.every(.seconds(1), leeway: .milliseconds(500)) {
      ticks.add([seconds($0.scheduled), seconds($0.actual), Double($0.missed)])
    }
    try queue.advance(by: .seconds(1))
    try queue.jump(by: .milliseconds(1400))
    try queue.advance(by: .zero)
    try queue.jump(by: .milliseconds(700))
    try queue.advance(by: .milliseconds(900))
    #expect(ticks.all == [[1, 1, 0], [2, 2.4, 0], [3, 3.1, 0], [4, 4, 0]])
    withExtendedLifetime(timer) {}
  }

  /// On Linux both libdispatch and Foundation accept a tolerance and do nothing with it.
  @Test(.tags(.promise3NeverEarly, .promise4NoDrift, .promise13Leeway))
  func toleranceMakesTimersShareWakeUpsAndStaysInItsBounds() throws {
    func wakeUps(leeway: Duration) throws -> Int {
      let queue = try VirtualTimerQueue(honoursLeeway: true)
      let times = Log<Int64>()
      let timers = try (0..<100).map { index in
        try queue.every(.milliseconds(1000 + index), leeway: leeway) { tick in
          #expect(tick.actual >= tick.scheduled && tick.actual <= tick.scheduled + leeway.nanoseconds)
          #expect(tick.scheduled % (1_000_000 * Int64(1000 + index)) == 0 && tick.missed == 0)
          times.add(tick.actual)
        }
      }
      try queue.advance(by: .seconds(10))
      withExtendedLifetime(timers) {}
      #expect(times.count >= 890)
      return Set(times.all).count
    }
    let alone = try wakeUps(leeway: .zero), shared = try wakeUps(leeway: .milliseconds(200))
    #expect(alone > 700)
    #expect(shared < 110)
  }

  @Test func toleranceOfARunLoopTimerIsWhatWasSet() async throws {
    try await onAThread {
      let timer = try WeakTimer(timeInterval: 1, repeats: true) { _ in }
      #expect(timer.tolerance == 0)
      timer.tolerance = 0.25
      #expect(timer.tolerance == 0.25)
      try timer.add(to: .current)
      let date = timer.fireDate
      // A schedule that began anew would be seen to have moved.
      Thread.sleep(forTimeInterval: 0.2)
      timer.tolerance = 0.5
      #expect(timer.tolerance == 0.5)
      // Each reading takes two clocks; between them this thread may have stood still.
      #expect((0..<100).contains { _ in abs(timer.fireDate.timeIntervalSince(date)) < 0.1 })
      timer.invalidate()
    }
  }
}

@Suite("WeakTimer", .serialized) struct WeakTimerSystem {
  final class Player: Counted, Target, @unchecked Sendable {
    let targetToken = TargetToken()
    let plays = Counter()
    func play(_ timer: WeakTimer) { plays.add() }
  }

  @Test(.tags(.promise11Targets)) func theTargetIsHeldWeaklyAndTheActionGetsTheTimer() async throws {
    try await onAThread {
      let alive = Counter()
      let seen = Locked<WeakTimer?>(nil)
      var player: Player? = Player(alive)
      let timer = try WeakTimer.scheduledTimer(timeInterval: 0.001, target: player!, repeats: true) {
        (player: Player, timer: WeakTimer) in
        player.play(timer)
        seen.withLock { $0 = timer }
      }
      #expect(run { player?.plays.value ?? 0 >= 2 })
      #expect(seen.withLock { $0 } === timer)
      player = nil
      #expect(alive.value == 0 && !timer.isValid)
    }
  }

  /// The original notices a target that has gone when it next ticks.
  @Test(.tags(.promise11Targets), arguments: [false, true])
  func theTimerIsInvalidTheMomentItsTargetGoes(_ isTarget: Bool) async throws {
    try await onAThread {
      let alive = Counter(), captured = Counter()
      var target: Counted? = isTarget ? Player(alive) : Counted(alive)
      let timer: WeakTimer
      do {
        let capture = Counted(captured)
        timer = try WeakTimer.scheduledTimer(timeInterval: 3600, target: target!, repeats: true) { (_: WeakTimer) in
          withExtendedLifetime(capture) {}
        }
      }
      #expect(timer.isValid)
      target = nil
      #expect(alive.value == 0)
      if isTarget {
        run(for: 0)  // the loop's next turn lets go, though nobody asks the timer
        #expect(captured.value == 0)
      }
      #expect(!timer.isValid && captured.value == 0)
      #expect(timer.invalidate() == .ignored && timer.fire() == .ignored)
    }
  }

  /// Any timer on any queue may have a target.
  @Test(.tags(.promise11Targets)) func targetsAreForTheTimersOfEveryQueue() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter(), ticks = Counter()
    var player: Player? = Player(alive)
    let timer = try queue.every(.seconds(1), target: player!) { player, _ in ticks.add(player.alive.value) }
    try queue.advance(by: .seconds(2))
    player = nil
    #expect(timer.state == .cancelled && ticks.value == 2)
    try queue.advance(by: .seconds(2))
    #expect(ticks.value == 2)
  }
}

@Suite("Block extension of Timer", .serialized) struct BlockExtensionOfTimer {
  @Test func aScheduledTimerTakesAClosure() async throws {
    try await onAThread {
      let ticks = Counter(), captured = Counter()
      do {
        let capture = Counted(captured)
        // As with Foundation, the loop holds it.
        try WeakTimer.scheduledTimer(withTimeInterval: 0.001, repeats: true) { timer in
          ticks.add(capture.alive.value)
          if ticks.value == 3 { timer.invalidate() }
        }
      }
      #expect(run { captured.value == 0 })
      #expect(ticks.value == 3)
    }
  }
}

@Suite("Background timer", .serialized) struct BackgroundTimer {
  /// Nothing here needs the main thread, or the program to be in front.
  @Test(.tags(.promise4NoDrift)) func aLoopOnAThreadOfItsOwnKeepsTicking() async throws {
    let ticks = Counter(), off = Counter()
    let isOver = Locked(false)
    let ended = Counter()
    Thread.detachNewThread {
      defer { ended.add() }
      guard let queue = try? TimerQueue(on: .current),
        let timer = try? queue.every(
          .milliseconds(2),
          handler: { tick in
            if Thread.isMainThread || tick.actual < tick.scheduled { off.add() }
            ticks.add()
          })
      else { return }
      let first = timer.nextDeadline ?? 0
      _ = run { isOver.withLock { $0 } }
      if ((timer.nextDeadline ?? 0) - first) % 2_000_000 != 0 { off.add() }
    }
    #expect(await soon { ticks.value >= 5 })
    isOver.withLock { $0 = true }
    #expect(await soon { ended.value == 1 })
    #expect(off.value == 0)
  }

  @Test func aSerialQueueIsABackgroundTimerWithoutALoop() async throws {
    let queue = try TimerQueue(label: "background", qos: .background)
    let ticks = Counter()
    let timer = try queue.every(.milliseconds(1)) { _ in ticks.add() }
    #expect(await soon { ticks.value >= 3 })
    withExtendedLifetime(timer) {}
  }
}

import Chime
import ChimeTestSupport
import Foundation
import Testing

@testable import ChimeRunLoop

/// Timer queues on run loops in Swift. (What a queue does on every kind of place is tested by the C suite, on run-loop
/// queues too.)
@Suite(.serialized) struct RunLoopQueueTests {
  @Test func handlersRunOnTheLoopsThread() async throws {
    try await onAThread {
      let queue = try TimerQueue(on: .current, label: "loop")
      let ticks = Counter()
      let thread = Thread.current
      let timer = try queue.every(.milliseconds(1)) { tick in
        #expect(Thread.current === thread)
        #expect(tick.actual >= tick.scheduled)
        ticks.add()
      }
      #expect(run { ticks.value >= 3 })
      #expect(timer.state == .running)
      #expect(try queue.shutdown() == .done)
      #expect(timer.state == .cancelled)
    }
  }

  @Test func aQueueNeedsAModeAndALoopThatLives() async throws {
    try await onAThread {
      #expect(throws: ChimeError.invalidArgument) { try TimerQueue(on: .current, modes: []) }
      #expect(throws: ChimeError.invalidArgument) { try TimerQueue(on: .current, modes: [.default, RunLoop.Mode("")]) }
    }
  }

  /// A timer whose date is set in its own callback is re-armed by CoreFoundation in that mode only.
  @Test(arguments: [[RunLoop.Mode.default, .tracking], [.common], [.common, RunLoop.Mode("third")]])
  func aQueueInSeveralModesTicksInEach(_ modes: [RunLoop.Mode]) async throws {
    try await onAThread {
      addCommonMode(.tracking)
      let queue = try TimerQueue(on: .current, modes: modes)
      let due = Counter(), ticks = Counter()
      let timer = try queue.every(.milliseconds(2)) { tick in
        due.add(1 + Int(tick.missed))
        ticks.add()
      }
      let first = timer.nextDeadline ?? 0
      for _ in 0..<5 {
        for mode in [RunLoop.Mode.default, .tracking] {
          let before = ticks.value
          #expect(run(mode) { ticks.value >= before + 2 })
        }
      }
      #expect(timer.nextDeadline == first + Int64(due.value) * 2_000_000)
      try queue.shutdown()
    }
  }

  @Test func aQueueInOneModeRestsInAnother() async throws {
    try await onAThread {
      addCommonMode(.tracking)
      let queue = try TimerQueue(on: .current)
      let missed = Counter(), ticks = Counter()
      let timer = try queue.every(.milliseconds(2)) { tick in
        if ticks.value == 0 { missed.add(Int(tick.missed)) }
        ticks.add()
      }
      run(.tracking, for: 20)
      #expect(ticks.value == 0)
      #expect(run { ticks.value >= 2 })
      #expect(missed.value >= 8)
      withExtendedLifetime(timer) {}
      try queue.shutdown()
    }
  }

  @Test func aHandlerMayRunTheLoopInAnotherMode() async throws {
    try await onAThread {
      let queue = try TimerQueue(on: .current, modes: [.default, .tracking])
      let ticks = Counter(), nested = Counter()
      let timer = try queue.every(.milliseconds(1)) { tick in
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
      try queue.shutdown()
    }
  }

  @Test func otherThreadsWakeTheLoop() async throws {
    try await onAThread {
      let queue = try TimerQueue(on: .current, modes: [.common])
      let ran = Counter()
      Thread.detachNewThread {
        for _ in 0..<200 { try? queue.async { ran.add() } }
      }
      #expect(run { ran.value == 200 })
      try queue.shutdown()
    }
  }

  @Test func targetsEndTheirTimersOnALoop() async throws {
    try await onAThread {
      let queue = try TimerQueue(on: .current)
      let alive = Counter(), captured = Counter(), ticks = Counter()
      var plain: Counted? = Counted(alive), tokened: Tokened? = Tokened(alive)
      func start(_ target: Counted) throws -> ChimeTimer {
        let capture = Counted(captured)
        return try queue.every(.milliseconds(1), target: target) { object, _ in
          ticks.add(capture.alive.value * object.alive.value)
        }
      }
      let timers = try [start(plain!), start(tokened!)]
      #expect(run { ticks.value >= 8 })
      plain = nil
      tokened = nil
      #expect(alive.value == 0)
      #expect(timers.allSatisfy { $0.state == .cancelled && $0.nextDeadline == nil })
      let before = ticks.value
      #expect(run { captured.value == 0 })
      run(for: 3)
      #expect(ticks.value == before)
      try queue.shutdown()
    }
  }

  @Test func aReleasedQueueReleasesItsHandlers() async throws {
    try await onAThread {
      let alive = Counter()
      do {
        let queue = try TimerQueue(on: .current)
        let capture = Counted(alive)
        try queue.once(after: .seconds(3600)) { withExtendedLifetime(capture) {} }
      }
      #expect(run { alive.value == 0 })
    }
  }

  @Test func aLoopWhoseThreadEndsEndsItsQueues() async throws {
    let alive = Counter(), ran = Counter()
    let queue = try await onAThread {
      let queue = try TimerQueue(on: .current)
      let capture = Counted(alive)
      try queue.once(after: .seconds(3600)) { withExtendedLifetime(capture) {} }
      try queue.async { ran.add() }
      #expect(run { ran.value == 1 })
      return queue
    }
    #expect(try queue.shutdown() == .done)
    #expect(alive.value == 0)
  }
}

import ChimeCompat
import ChimeDiagnostics
import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Timers with targets in Swift: any object, held weakly; the timer says at once that it has gone, and releases its
/// handler at once (a `TargetToken`) or in time (any other). What targets do on every kind of queue is tested in C. [11]
@Suite(.serialized) struct TargetTests {
  let queue: VirtualTimerQueue
  let alive = Counter(), captured = Counter(), ticks = Counter()

  init() throws { queue = try VirtualTimerQueue() }

  static func make(_ isTokened: Bool, _ alive: Counter) -> Counted { isTokened ? Tokened(alive) : Counted(alive) }

  @Test(arguments: [false, true])
  func aTargetIsHandedOverAndHeldForTheCallOnly(_ isTokened: Bool) throws {
    var target: Counted? = Self.make(isTokened, alive)
    let timer = try queue.schedule(.every(.seconds(1)), target: target!) { object, tick in ticks.add(object.alive.value)
    }
    try queue.advanceTimers(by: .seconds(3))
    #expect(ticks.value == 3)
    target = nil
    #expect(alive.value == 0)
    try queue.advanceTimers(by: .seconds(3))
    #expect(ticks.value == 3)
    #expect(timer.state == .cancelled)
  }

  static let calls: [@Sendable (ChimeTimer) throws -> ChimeTimer.Outcome] = [
    { try $0.restart() }, { $0.suspend() }, { $0.resume() }, { $0.fire() },
    { try $0.postpone(by: .zero) }, { try $0.reschedule(every: .seconds(1)) },
  ]

  @Test(arguments: [false, true])
  func aTimerWhoseTargetHasGoneSaysSoAtOnce(_ isTokened: Bool) throws {
    var target: Counted? = Self.make(isTokened, Counter())
    let running = try queue.schedule(.every(.seconds(1)), target: target!) { _, _ in }
    let suspended = try queue.schedule(.every(.seconds(1)), target: target!) { _, _ in }
    let finished = try queue.schedule(.once(after: .zero), target: target!) { _, _ in }
    try queue.advanceTimers(by: .zero)
    suspended.suspend()
    #expect(finished.state == .finished)
    target = nil
    for timer in [running, suspended, finished] {
      #expect(timer.state == .cancelled && timer.nextDeadline == nil && timer.generation == nil)
      #expect(timer.explanation == "its target has gone, which has cancelled it.")
      for call in Self.calls { #expect(try call(timer) == .ignored) }
      #expect(try timer.cancel() == .ignored && timer.blockingCancelAndWait() == .ignored)
    }
  }

  @Test func aTokenFreesTheCapturesTheMomentItsObjectGoes() throws {
    var target: Tokened? = Tokened(Counter())
    let timers = try (0..<3).map { _ in
      try queue.schedule(.every(.seconds(3600)), target: target!, handler: capturing(captured))
    }
    #expect(captured.value == 3)
    target = nil
    #expect(captured.value == 0)  // nobody asked the timers
    withExtendedLifetime(timers) {}
  }

  @Test func anyCallOnATimerWhoseTargetHasGoneFreesItsCaptures() throws {
    let touches: [(ChimeTimer) -> Void] = [
      { _ = $0.state }, { _ = $0.nextDeadline }, { _ = $0.cancel() }, { _ = $0.fire() },
      { _ in try? queue.advanceTimers(by: .seconds(1)) },  // its tick
    ]
    for touch in touches {
      var target: Counted? = Counted(Counter())
      let timer = try queue.schedule(.every(.seconds(1)), target: target!, handler: capturing(captured))
      target = nil
      #expect(captured.value == 1)
      touch(timer)
      #expect(captured.value == 0)
      withExtendedLifetime(timer) {}
    }
  }

  @Test func theSweepFreesWhatDeadTargetsLeft() async throws {
    var held: [ChimeTimer] = []
    for _ in 0..<500 {
      held.append(try queue.schedule(.every(.seconds(3600)), target: Counted(alive), handler: capturing(captured)))
    }
    #expect(alive.value == 0)
    // Tests on other threads add to what is swept, and may be looking at one of these: so timers are created until all
    // have been found.
    let living = Counted(alive)
    #expect(
      await soon {
        for _ in 0..<100 { _ = try? queue.schedule(.once(after: .seconds(3600)), target: living) { _, _ in } }
        return captured.value == 0
      })
    #expect(held.allSatisfy { $0.state == .cancelled })
  }

  @Test(arguments: [false, true]) func aTargetMayGoInItsHandler(_ isTokened: Bool) throws {
    nonisolated(unsafe) var target: Counted? = Self.make(isTokened, alive)
    let timer = try unsafe queue.schedule(.every(.seconds(1)), target: target!) {
      [capture = Counted(captured)] object, _ in
      unsafe target = nil
      ticks.add(capture.alive.value * object.alive.value)
    }
    try queue.advanceTimers(by: .seconds(5))
    #expect(ticks.value == 1 && alive.value == 0)
    #expect(timer.state == .cancelled)
    #expect(captured.value == 0)
  }
}

import Dispatch
import Synchronization
import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Timers with targets in Swift: any object, held weakly; the timer says at once that it has gone, and releases its
/// handler at once (a `TargetToken`) or in time (any other).
@Suite(.serialized) struct TargetTests {
  static func make(_ isTokened: Bool, _ alive: Counter) -> Counted { isTokened ? Tokened(alive) : Counted(alive) }

  // MARK: On a virtual queue

  @Test(arguments: [false, true])
  func aTargetIsHandedOverAndHeldForTheCallOnly(_ isTokened: Bool) throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter(), ticks = Counter()
    var target: Counted? = Self.make(isTokened, alive)
    let timer = try queue.every(.seconds(1), target: target!) { object, tick in ticks.add(object.alive.value) }
    try queue.advance(by: .seconds(3))
    #expect(ticks.value == 3)
    target = nil
    #expect(alive.value == 0)
    try queue.advance(by: .seconds(3))
    #expect(ticks.value == 3)
    #expect(timer.state == .cancelled)
  }

  @Test(arguments: [false, true])
  func aTimerWhoseTargetHasGoneSaysSoAtOnce(_ isTokened: Bool) throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter()
    var target: Counted? = Self.make(isTokened, alive)
    let running = try queue.every(.seconds(1), target: target!) { _, _ in }
    let suspended = try queue.every(.seconds(1), target: target!) { _, _ in }
    let finished = try queue.after(.zero, target: target!) { _, _ in }
    let cancelled = try queue.after(.seconds(1), target: target!) { _, _ in }
    try queue.advance(by: .zero)
    try suspended.suspend()
    try cancelled.cancel()
    #expect(finished.state == .finished)
    target = nil
    for timer in [running, suspended, finished, cancelled] {
      #expect(timer.state == .cancelled)
      #expect(timer.nextDeadline == nil)
      #expect(throws: ChimeError.targetGone) { try timer.activate() }
      #expect(throws: ChimeError.targetGone) { try timer.restart() }
      #expect(throws: ChimeError.targetGone) { try timer.suspend() }
      #expect(throws: ChimeError.targetGone) { try timer.resume() }
      #expect(throws: ChimeError.targetGone) { try timer.fire() }
      #expect(throws: ChimeError.targetGone) { try timer.postpone(by: .seconds(1)) }
      #expect(throws: ChimeError.targetGone) { try timer.reschedule(every: .seconds(1)) }
      #expect(try timer.cancel() == .ignored)
      #expect(try timer.cancelAndWait() == .ignored)
    }
  }

  @Test func aTokenFreesTheCapturesTheMomentItsObjectGoes() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter(), captured = Counter()
    var target: Tokened? = Tokened(alive)
    let timers = try (0..<3).map { _ in
      let capture = Counted(captured)
      return try queue.every(.seconds(3600), target: target!) { _, _ in withExtendedLifetime(capture) {} }
    }
    #expect(captured.value == 3)
    target = nil
    #expect(alive.value == 0 && captured.value == 0)  // nobody asked the timers
    withExtendedLifetime(timers) {}
  }

  @Test func anyCallOnATimerWhoseTargetHasGoneFreesItsCaptures() throws {
    let queue = try VirtualTimerQueue()
    let captured = Counter()
    let touches: [(ChimeTimer) -> Void] = [
      { _ = $0.state }, { _ = $0.nextDeadline }, { _ = try? $0.cancel() }, { _ = try? $0.fire() },
      { _ in try? queue.advance(by: .seconds(1)) },  // its tick
    ]
    for touch in touches {
      var target: Counted? = Counted(Counter())
      let timer: ChimeTimer
      do {
        let capture = Counted(captured)
        timer = try queue.every(.seconds(1), target: target!) { _, _ in withExtendedLifetime(capture) {} }
      }
      target = nil
      #expect(captured.value == 1)
      touch(timer)
      #expect(captured.value == 0)
      withExtendedLifetime(timer) {}
    }
  }

  @Test func theSweepFreesWhatDeadTargetsLeft() throws {
    let queue = try VirtualTimerQueue()
    let captured = Counter(), alive = Counter()
    let before = TargetSweep.count
    var held: [ChimeTimer] = []
    for _ in 0..<500 {
      let target = Counted(alive), capture = Counted(captured)
      held.append(try queue.every(.seconds(3600), target: target) { _, _ in withExtendedLifetime(capture) {} })
    }
    #expect(alive.value == 0)
    // Half as many again are enough to look at each once, and some more than once.
    let living = Counted(alive)
    for _ in 0..<1000 + before { _ = try queue.after(.seconds(3600), target: living) { _, _ in } }
    #expect(captured.value == 0)
    #expect(held.allSatisfy { $0.state == .cancelled })
  }

  @Test func tenThousandMadeAndDroppedLeaveNothingBehind() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter(), captured = Counter()
    let before = TargetSweep.count
    for index in 0..<10_000 {
      let target = Self.make(index % 2 == 0, alive), capture = Counted(captured)
      let timer = try queue.every(.seconds(1), target: target) { _, _ in withExtendedLifetime(capture) {} }
      if index % 3 == 0 { try queue.advance(by: .seconds(1)) }
      if index % 5 == 0 { try timer.cancel() }
    }
    #expect(alive.value == 0 && captured.value == 0)  // their timers went, too
    let living = Counted(alive)
    for _ in 0..<2000 { _ = try queue.after(.seconds(1), target: living) { _, _ in } }
    #expect(TargetSweep.count <= before + 2100)
  }

  @Test func aTargetMayGoInItsHandler() throws {
    let queue = try VirtualTimerQueue()
    for isTokened in [false, true] {
      let alive = Counter(), captured = Counter(), ticks = Counter()
      nonisolated(unsafe) var target: Counted? = Self.make(isTokened, alive)
      let timer: ChimeTimer
      do {
        let capture = Counted(captured)
        timer = try queue.every(.seconds(1), target: target!) { object, _ in
          unsafe target = nil
          #expect(object.alive.value == 1)
          ticks.add(capture.alive.value)
        }
      }
      try queue.advance(by: .seconds(5))
      #expect(ticks.value == 1 && alive.value == 0)
      #expect(timer.state == .cancelled)
      #expect(captured.value == 0)
    }
  }

  @Test func aTargetsTimersOnSeveralQueuesEndTogether() throws {
    let queues = try [VirtualTimerQueue(), VirtualTimerQueue()]
    let ticks = Counter()
    var target: Tokened? = Tokened(Counter())
    let timers = try queues.map { queue in try queue.every(.seconds(1), target: target!) { _, _ in ticks.add() } }
    for queue in queues { try queue.advance(by: .seconds(1)) }
    target = nil
    for queue in queues { try queue.advance(by: .seconds(1)) }
    #expect(ticks.value == 2)
    #expect(timers.allSatisfy { $0.state == .cancelled })
  }

  @Test func badDurationsAreErrorsWithATargetToo() throws {
    let queue = try VirtualTimerQueue()
    let target = Counted(Counter())
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.zero, target: target) { _, _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.seconds(-1), target: target) { _, _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.after(.seconds(-1), target: target) { _, _ in } }
    #expect(throws: ChimeError.invalidArgument) {
      try queue.every(.seconds(1), leeway: .seconds(1), target: target) { _, _ in }
    }
    let far = try queue.after(.seconds(Int64.max), target: target) { _, _ in }
    #expect(far.state == .running && far.nextDeadline == nil)
  }

  // MARK: On dispatch queues

  static func makeQueue(_ kind: String) throws -> TimerQueue {
    switch kind {
    case "serial": try TimerQueue()
    case "concurrent": try TimerQueue(on: DispatchQueue(label: "concurrent", attributes: .concurrent))
    case "global": try TimerQueue(on: .global())
    default: try TimerQueue(on: DispatchQueue(label: "wrapped"))
    }
  }

  @Test(arguments: ["serial", "concurrent", "global", "wrapped"], [false, true])
  func targetsEndTheirTimersOnDispatchQueues(_ kind: String, _ isTokened: Bool) async throws {
    let queue = try Self.makeQueue(kind)
    let alive = Counter(), captured = Counter(), ticks = Counter()
    var target: Counted? = Self.make(isTokened, alive)
    let timer: ChimeTimer, later: ChimeTimer
    do {
      let capture = Counted(captured)
      timer = try queue.every(.milliseconds(1), target: target!) { object, _ in ticks.add(capture.alive.value) }
      later = try queue.after(.seconds(3600), target: target!) { object, _ in ticks.add(capture.alive.value) }
    }
    #expect(await soon { ticks.value >= 3 })
    target = nil
    #expect(timer.state == .cancelled && timer.nextDeadline == nil)
    #expect(later.state == .cancelled)
    #expect(await soon { alive.value == 0 && captured.value == 0 })
    let before = ticks.value
    let others = Counter()
    let other = try queue.every(.milliseconds(1)) { _ in others.add(1) }
    #expect(await soon { others.value >= 5 })
    #expect(ticks.value == before)
    try other.cancel()
    #expect(try queue.shutdown() == .done)
  }
}

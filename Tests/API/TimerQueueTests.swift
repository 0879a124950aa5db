import Chime
import Dispatch
import ChimeTestSupport
import Testing

/// The Swift interface: what it adds to the core is ownership, closures and typed errors.
@Suite struct TimerQueueTests {
  @Test func aTimerStopsWhenItsLastReferenceGoes() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Counter()
    var timer: ChimeTimer? = try queue.every(.seconds(1)) { _ in ticks.add(1) }
    try queue.advance(by: .seconds(2))
    #expect(timer?.state == .running)
    timer = nil
    try queue.advance(by: .seconds(5))
    #expect(ticks.value == 2)
  }

  /// Whatever the queue does: here a function occupies it, so that no pass can come before the captures have gone.
  @Test func aHandlersCapturesGoInTheReleasingCall() throws {
    let queue = try TimerQueue(label: "occupied")
    let alive = Counter(), inside = DispatchSemaphore(value: 0), gate = DispatchSemaphore(value: 0)
    try queue.async {
      inside.signal()
      gate.wait()
    }
    defer { gate.signal() }
    try #require(inside.wait(timeout: .now() + patience) == .success)
    var timer: ChimeTimer?
    do {
      let probe = Counted(alive)
      timer = try queue.every(.seconds(3600)) { _ in withExtendedLifetime(probe) {} }
    }
    #expect(alive.value == 1 && timer?.state == .running)
    timer = nil
    #expect(alive.value == 0)
  }

  @Test func aFireAndForgetTimerHoldsItselfUntilItHasTicked() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter()
    let ticks = Counter()
    do {
      let probe = Counted(alive)
      try queue.once(after: .seconds(1)) {
        ticks.add(alive.value); withExtendedLifetime(probe) {}
      }
    }
    #expect(alive.value == 1)
    try queue.advance(by: .seconds(1))
    #expect(ticks.value == 1 && alive.value == 0)
  }

  @Test func aQueueThatGoesEndsItsTimers() throws {
    var queue: VirtualTimerQueue? = try VirtualTimerQueue()
    let alive = Counter()
    var timer: ChimeTimer?
    do {
      let probe = Counted(alive)
      timer = try queue?.every(.seconds(1)) { _ in withExtendedLifetime(probe) {} }
    }
    queue = nil
    #expect(alive.value == 0)
    #expect(timer?.state == .cancelled)
    #expect(throws: ChimeError.invalidHandle) { try timer?.resume() }
  }

  @Test func badDurationsAreErrors() throws {
    let queue = try VirtualTimerQueue()
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.zero) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.after(.seconds(-1)) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.seconds(1), leeway: .seconds(1)) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.advance(by: .seconds(-1)) }
    let target = Counted(Counter())
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.zero, target: target) { _, _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.after(.seconds(-1), target: target) { _, _ in } }
    #expect(throws: ChimeError.invalidArgument) {
      try queue.every(.seconds(1), leeway: .seconds(1), target: target) { _, _ in }
    }
    let far = try queue.after(.seconds(Int64.max)) { _ in }
    #expect(far.state == .running && far.nextDeadline == nil)
  }

  @Test func aTimerExplainsItselfAndTheQueueCounts() throws {
    final class Owner: Target { let targetToken = TargetToken() }
    let queue = try VirtualTimerQueue()
    let timer = try queue.every(.seconds(2)) { _ in }
    #expect(timer.explanation == "it is due in 2 s, on a virtual clock, which somebody has to advance.")
    try queue.jump(by: .seconds(7))
    try queue.advance(by: .zero)
    try timer.suspend()
    try queue.advance(by: .seconds(5))
    #expect(timer.explanation == "it was suspended 5 s ago.")
    let statistics = try #require(queue.statistics)
    #expect(statistics.timers == 1 && statistics.running == 0 && statistics.ticks == 1 && statistics.missed == 2)
    #expect(statistics.lateness[20] == 1)  // by 1 s, from 2^29 to 2^30 ns
    #expect(queue.dump.hasSuffix("suspended, every 2 s, 1 ticks, 2 missed\n"))
    var owner: Owner? = Owner()
    let owned = try queue.every(.seconds(1), target: #require(owner)) { _, _ in }
    owner = nil
    #expect(owned.explanation == "its target has gone, which has cancelled it.")
    try queue.shutdown()
    #expect(timer.explanation == "its queue has ended." && queue.statistics == nil && queue.dump.isEmpty)
  }
}

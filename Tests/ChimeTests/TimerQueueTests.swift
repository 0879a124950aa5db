import Chime
import Dispatch
import Glibc
import ChimeTestSupport
import Testing

/// The Swift interface: what it adds to the core is ownership, closures and typed errors.
@Suite struct TimerQueueTests {
  /// Counts its instances, to see captures come and go.
  final class Probe {
    private let count: Counter
    init(_ count: Counter) {
      self.count = count
      count.add(1)
    }
    deinit { count.add(-1) }
  }

  @Test func everyTicksOnItsGrid() throws {
    let queue = try VirtualTimerQueue()
    let scheduled = Counter()
    let timer = try queue.every(.milliseconds(10)) { tick in scheduled.add(Int(tick.scheduled)) }
    try queue.advance(by: .milliseconds(35))
    #expect(scheduled.value == 60_000_000)
    #expect(timer.nextDeadline == 40_000_000)
  }

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

  @Test func aHandlerIsReleasedWithItsTimer() throws {
    let queue = try VirtualTimerQueue()
    let alive = Counter()
    var timer: ChimeTimer?
    do {
      let probe = Probe(alive)
      timer = try queue.after(.seconds(1)) { _ in withExtendedLifetime(probe) {} }
    }
    try queue.advance(by: .seconds(2))
    #expect(alive.value == 1 && timer?.state == .finished)
    timer = nil
    #expect(alive.value == 0)
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
      let probe = Probe(alive)
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
      let probe = Probe(alive)
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
      let probe = Probe(alive)
      timer = try queue?.every(.seconds(1)) { _ in withExtendedLifetime(probe) {} }
    }
    queue = nil
    #expect(alive.value == 0)
    #expect(timer?.state == .cancelled)
    #expect(throws: ChimeError.invalidHandle) { try timer?.resume() }
  }

  /// The pass that closes a queue runs beside the call that released it, and gives its memory to the next queue.
  @Test func theReleaseOfAQueueEndsNoTimerOfTheNext() {
    let wrong = Counter(), rounds = Counter()
    onNewThreads(4) { _ in
      // A queue that got the control block of a large one takes long to end: its end visits all slots.
      let end = Clock.monotonic.now + 5_000_000_000
      for _ in 0..<1500 where Clock.monotonic.now < end {
        guard let queue = try? TimerQueue(), let far = try? queue.after(.seconds(3600), handler: { _ in }),
          let near = try? queue.every(.microseconds(50), handler: { _ in })
        else { continue }
        try? queue.async {}
        usleep(100)
        rounds.add(1)
        if far.state != .running || near.state != .running { wrong.add(1) }
      }
    }
    #expect(wrong.value == 0 && rounds.value >= 4)
  }

  @Test func callsInTheWrongStateAreIgnored() throws {
    let queue = try VirtualTimerQueue()
    let timer = try queue.every(.seconds(1)) { _ in }
    #expect(try timer.resume() == .ignored)
    #expect(try timer.suspend() == .done)
    #expect(try timer.suspend() == .ignored)
    #expect(try timer.cancel() == .done)
    #expect(try timer.cancel() == .ignored)
    #expect(try timer.activate() == .done)
    #expect(try timer.fire() == .done)
    #expect(try timer.postpone(by: .seconds(5)) == .done)
    #expect(timer.nextDeadline == 5_000_000_000)
  }

  @Test func badDurationsAreErrors() throws {
    let queue = try VirtualTimerQueue()
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.zero) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.after(.seconds(-1)) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.seconds(1), leeway: .seconds(1)) { _ in } }
    #expect(throws: ChimeError.invalidArgument) { try queue.advance(by: .seconds(-1)) }
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

  @Test func handlersRunOnTheDispatchQueueTheyWereMadeFor() async throws {
    let key = DispatchSpecificKey<Int>()
    let host = DispatchQueue(label: "host")
    host.setSpecific(key: key, value: 7)
    let queue = try TimerQueue(on: host)
    let value = await withCheckedContinuation { continuation in
      try? queue.once(after: .milliseconds(1)) { continuation.resume(returning: DispatchQueue.getSpecific(key: key)) }
    }
    #expect(value == 7)
    #expect(try queue.shutdown() == .done)
  }

  @Test func aHandlerThatWaitsForItselfGetsAnError() async throws {
    let queue = try TimerQueue(label: "self")
    let answer = await withCheckedContinuation { continuation in
      try? queue.once(after: .zero) {
        continuation.resume(returning: Result { () throws(ChimeError) in try queue.shutdown() })
      }
    }
    #expect(throws: ChimeError.wouldDeadlock) { try answer.get() }
  }
}

import ChimeTestSupport
import Dispatch
import Synchronization
import Testing

@testable import Chime
@testable import ChimeCore

private typealias Machine = DispatchSourceTimerMachine

/// The machine on real sources, with threads that meet, and what it holds.
@Suite(.serialized) struct DispatchSourceTimerMachineThreadsTests {
  // MARK: In the handler

  @Test func insideTheHandlerCallsTakeEffectAndSayBusy() throws {
    let factory = RecordingTimerAdapterFactory()
    let outcomes = Log<Machine.Outcome>()
    let box = MachineBox()
    let machine = Machine(factory: factory) {
      let machine = box.machine!
      // A one-shot is finished before its handler starts, so it may be activated again.
      outcomes.add(machine.cancel())
      outcomes.add((try? machine.activate(deadline: DispatchTime(uptimeNanoseconds: 3000)))!)
      for call in [machine.suspend, machine.resume, machine.cancel, machine.cancel] { outcomes.add(call()) }
    }
    box.set(machine)
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 2000))
    factory.deliver(at: 2000)
    #expect(outcomes.all == [.ignored, .busy, .busy, .busy, .busy, .ignored])
    #expect(machine.state == .cancelled)
    #expect(try machine.restart() == .done)
    box.set(nil)
  }

  @Test(arguments: [false, true])
  func releasedInsideItsHandlerItStopsAndFreesTheHandlerAfterIt(_ suspends: Bool) async throws {
    let freed = Counter(), ticks = Counter(), stillHeld = Counter()
    let box = MachineBox()
    let queue = DispatchQueue(label: "release")
    do {
      let canary = Canary(freed)
      let machine = Machine(queue: queue)
      box.set(machine)
      try machine.activate(repeatTimeInterval: .milliseconds(1)) {
        ticks.add()
        if suspends { box.machine?.suspend() }
        box.set(nil)
        if freed.value == 0 { stillHeld.add() }
        withExtendedLifetime(canary) {}
      }
    }
    #expect(await soon { freed.value == 1 })
    try await laterTicks(on: queue)
    #expect((ticks.value, freed.value, stillHeld.value) == (1, 1, 1))
  }

  // MARK: What it holds

  @Test func capturesAreReleasedOnceByCancelByTheNextHandlerAndByDeinit() throws {
    let factory = RecordingTimerAdapterFactory()
    let freed = Counter(), standing = Counter()
    weak var gone: Machine?
    try {
      let machine = Machine(factory: factory, handler: Canary(standing).body)
      gone = machine
      // A canary looks at its machine when it goes, which would deadlock under the lock.
      try machine.activate(deadline: .distantFuture, handler: Canary(freed, machine).body)
      #expect(freed.value == 0)
      machine.cancel()
      #expect(freed.value == 1)
      try machine.activate(deadline: .distantFuture, handler: Canary(freed, machine).body)
      try machine.activate(deadline: .distantFuture, handler: Canary(freed, machine).body)
      #expect(freed.value == 2, "an ignored call lets go of its own handler only")
      try machine.restart(deadline: .distantFuture, handler: Canary(freed, machine).body)
      #expect(freed.value == 3)
      #expect(throws: Machine.ScheduleError.intervalNotPositive) {
        try machine.restart(deadline: .now(), repeating: .seconds(0), handler: Canary(freed, machine).body)
      }
      #expect((freed.value, standing.value) == (4, 0))
    }()
    #expect(gone == nil)
    #expect((freed.value, standing.value) == (5, 1))
    #expect(factory.violations.all == [])
  }

  @Test func machinesReleasedWhileTheyTickLeakNothing() async throws {
    let freed = Counter()
    let queue = DispatchQueue(label: "short lives")
    var random = SplitMix64(seed: 4)
    let lives = 1000
    for life in 0..<lives {
      let machine = Machine(queue: life % 2 == 0 ? queue : nil)
      let delay = DispatchTimeInterval.microseconds(.random(in: 0...50, using: &random))
      try machine.activate(deadline: .now() + delay, repeating: .microseconds(20), handler: Canary(freed).body)
      if life % 3 == 0 { machine.suspend() }
      spin(.random(in: 0...60_000, using: &random))
    }
    #expect(await soon { freed.value == lives })
  }

  // MARK: Races and real time

  @Test(arguments: [.suspend, .cancel, .restart, .reschedule] as [TimerEvent])
  func noTickStartsAfterTheCallReturned(call: TimerEvent) throws {
    let queue = DispatchQueue(label: "race")
    let forbidden = Atomic(false)
    let violations = Counter(), ticks = Counter()
    let machine = Machine(queue: queue) {
      if forbidden.load(ordering: .sequentiallyConsistent) { violations.add() }
      ticks.add()
    }
    var random = SplitMix64(seed: 5)
    let end = DispatchTime.now() + patience
    var rounds = 0
    // And on, more patiently each time, until both outcomes of the race were seen.
    while rounds < 1000 || ticks.value == 0 || ticks.value == rounds, DispatchTime.now() < end {
      rounds += 1
      try machine.restart(deadline: .now() + .microseconds(.random(in: 0...100, using: &random)))
      spin(.random(in: 0...(120_000 + UInt64(max(0, rounds - 1000)) * 10_000), using: &random))
      // Busy: a tick had started before. Ignored: it was the only one, and may be under way.
      if try machine.perform(call, .distantFuture) != .done { queue.sync {} }
      forbidden.store(true, ordering: .sequentiallyConsistent)
      spin(20_000)
      forbidden.store(false, ordering: .sequentiallyConsistent)
    }
    #expect(violations.value == 0)
    #expect(ticks.value > 0 && ticks.value < rounds, "both outcomes of the race were seen")
  }

  @Test func threadsAtRandomNeverOverlapTicksOnAConcurrentQueue() async throws {
    let inside = Counter(), overlaps = Counter(), ticks = Counter(), freed = Counter(), started = Counter()
    do {
      let machine = Machine(queue: .global())
      let makeHandler: @Sendable () -> @Sendable () -> Void = {
        let canary = Canary(freed)
        started.add()
        return {
          if inside.add() != 1 { overlaps.add() }
          spin(2000)
          withExtendedLifetime(canary) {}
          ticks.add()
          inside.add(-1)
        }
      }
      try await onAThread {
        onNewThreads(3) { seed in
          var random = SplitMix64(seed: UInt64(seed))
          let end = DispatchTime.now() + patience
          var calls = 0
          while calls < 5000 || ticks.value <= 100, DispatchTime.now() < end {
            calls += 1
            let deadline = DispatchTime.now() + .microseconds(.random(in: -5...30, using: &random))
            let repeating: DispatchTimeInterval = .random(using: &random) ? .never : .microseconds(10)
            switch TimerEvent.allCases.randomElement(using: &random)! {
            case .activate: _ = try? machine.activate(deadline: deadline, repeating: repeating, handler: makeHandler())
            case .lastTick: spin(10_000)
            case let event: _ = try? machine.perform(event, deadline, repeating: repeating)
            }
          }
        }
      }
      #expect(overlaps.value == 0 && ticks.value > 100)
      // Still alive after all that.
      machine.cancel()
      let before = ticks.value
      try machine.activate(deadline: .now(), handler: makeHandler())
      #expect(await soon { ticks.value > before })
    }
    #expect(await soon { freed.value == started.value })
  }

  @Test func aRestartWaitsForTheEarlierHandler() async throws {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let gate = DispatchSemaphore(value: 0)
    let first = Counter(), second = Counter()
    let machine = Machine(queue: queue)
    try machine.activate(deadline: .now()) {
      first.add()
      gate.wait()
    }
    #expect(await soon { first.value == 1 })
    #expect(machine.state == .finished)
    #expect(try machine.activate(deadline: .now()) { second.add() } == .busy)
    machine.cancel()
    #expect(try machine.activate(deadline: .now()) { second.add() } == .busy)
    #expect(machine.fire() == .busy)
    try await laterTicks(on: queue)
    #expect(second.value == 0)
    gate.signal()
    #expect(await soon { second.value == 2 })
  }
}

// MARK: - Help

/// Counts its end, and looks at a machine then.
private final class Canary: Sendable {
  private struct Weak: Sendable { weak let machine: Machine? }
  private let freed: Counter
  private let weak: Weak

  init(_ freed: Counter, _ machine: Machine? = nil) {
    self.freed = freed
    weak = Weak(machine: machine)
  }

  deinit {
    _ = weak.machine?.state
    freed.add()
  }

  /// A handler that holds it.
  var body: @Sendable () -> Void { { withExtendedLifetime(self) {} } }
}

private final class MachineBox: Sendable {
  private let held = Locked<Machine?>(nil)
  var machine: Machine? { held.withLock { $0 } }

  func set(_ machine: Machine?) {
    let old = held.withLock { held in
      defer { held = machine }
      return held
    }
    withExtendedLifetime(old) {}
  }
}

private func spin(_ nanoseconds: UInt64) {
  let end = DispatchTime.now().uptimeNanoseconds + nanoseconds
  while DispatchTime.now().uptimeNanoseconds < end {}
}

/// Waits until ticks that are due later than all that is due there now have come: shows by order that nothing else
/// does.
private func laterTicks(on queue: DispatchQueue) async throws {
  let ticks = Counter()
  let machine = Machine(queue: queue)
  try machine.activate(deadline: .now() + .milliseconds(3), repeating: .milliseconds(1)) { ticks.add() }
  #expect(await soon { ticks.value >= 3 })
}

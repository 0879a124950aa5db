import ChimeTestSupport
import Dispatch
import Glibc
import Synchronization
import Testing

@testable import Chime
@testable import ChimeCore

private typealias Machine = DispatchSourceTimerMachine

/// The machine on real sources, with threads that meet, and what it holds.
@Suite(.serialized)
struct DispatchSourceTimerMachineThreadsTests {
  // MARK: In the handler

  @Test func insideTheHandlerCallsTakeEffectAndSayBusy() throws {
    let factory = RecordingTimerAdapterFactory()
    let outcomes = Locked<[Machine.Outcome]>([])
    let box = MachineBox()
    let machine = Machine(factory: factory) {
      let machine = box.machine!
      // A one-shot is finished before its handler starts, so it may be activated again.
      let all = [
        machine.cancel(), (try? machine.activate(deadline: DispatchTime(uptimeNanoseconds: 3000)))!,
        machine.suspend(), machine.resume(), machine.cancel(), machine.cancel(),
      ]
      outcomes.withLock { $0 = all }
    }
    box.set(machine)
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 2000))
    factory.setNow(2000)
    factory.delivery()
    #expect(outcomes.withLock { $0 } == [.ignored, .busy, .busy, .busy, .busy, .ignored])
    #expect(machine.state == .cancelled)
    #expect(try machine.restart() == .done)
    box.set(nil)
  }

  @Test func cancelInsideTheHandlerStopsTheNextTick() async throws {
    let ticks = Counter()
    let box = MachineBox()
    let queue = DispatchQueue(label: "cancel")
    let machine = Machine(queue: queue)
    box.set(machine)
    try machine.activate(repeatTimeInterval: .milliseconds(1), deadline: .now()) {
      ticks.add()
      box.machine?.cancel()
    }
    await eventually { machine.state == .cancelled }
    try await laterTicks(on: queue)
    #expect(ticks.value == 1)
    box.set(nil)
  }

  @Test func aOneShotThatActivatesItselfAgainGoesOn() async throws {
    let ticks = Counter()
    let box = MachineBox()
    let machine = Machine(queue: DispatchQueue(label: "again")) {
      if ticks.add() < 100 { _ = try? box.machine?.activate(deadline: .now()) }
    }
    box.set(machine)
    try machine.activate(deadline: .now())
    await eventually { ticks.value == 100 }
    #expect(ticks.value == 100)
    box.set(nil)
  }

  // MARK: What it holds

  @Test func releasedInsideItsHandlerItStopsAndFreesTheHandlerAfterIt() async throws {
    for suspends in [false, true] {
      let freed = Counter()
      let ticks = Counter()
      let stillHeld = Counter()
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
          canary.touch()
        }
      }
      await eventually { freed.value == 1 }
      try await laterTicks(on: queue)
      #expect((ticks.value, freed.value, stillHeld.value) == (1, 1, 1))
    }
  }

  @Test func capturesAreReleasedOnceByCancelByTheNextHandlerAndByDeinit() throws {
    let factory = RecordingTimerAdapterFactory()
    let freed = Counter()
    let standing = Counter()
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
      #expect(freed.value == 4)
      #expect(standing.value == 0)
    }()
    #expect(gone == nil)
    #expect((freed.value, standing.value) == (5, 1))
    #expect(factory.log.violations == [])
  }

  @Test func releasingTheMachineFreesItsHandlersThoughItsQueueStandsStill() async throws {
    let freed = Counter()
    let queue = DispatchQueue(label: "still")
    queue.suspend()
    do {
      let machine = Machine(queue: queue)
      try machine.activate(repeatTimeInterval: .milliseconds(1), handler: Canary(freed).body)
      try await laterTicks(on: DispatchQueue(label: "goes"))
      #expect(freed.value == 0)
      withExtendedLifetime(machine) {}
    }
    #expect(freed.value == 1)
    queue.resume()
    queue.sync {}
  }

  @Test func machinesReleasedWhileTheyTickLeakNothing() async throws {
    let freed = Counter()
    let queue = DispatchQueue(label: "short lives")
    var random = SplitMix64(seed: 4)
    let lives = 3000
    for life in 0..<lives {
      let machine = Machine(queue: life % 2 == 0 ? queue : nil)
      let canary = Canary(freed)
      let delay = DispatchTimeInterval.microseconds(.random(in: 0...50, using: &random))
      try machine.activate(deadline: .now() + delay, repeating: .microseconds(20)) { canary.touch() }
      if life % 3 == 0 { machine.suspend() }
      spin(.random(in: 0...60_000, using: &random))
    }
    await eventually { freed.value == lives }
    #expect(freed.value == lives)
  }

  // MARK: Races and real time

  @Test(arguments: ["suspend", "cancel", "restart", "reschedule"])
  func noTickStartsAfterTheCallReturned(call: String) throws {
    let queue = DispatchQueue(label: "race")
    let forbidden = Atomic(false)
    let violations = Counter()
    let ticks = Counter()
    let machine = Machine(queue: queue) {
      if forbidden.load(ordering: .sequentiallyConsistent) { violations.add() }
      ticks.add()
    }
    var random = SplitMix64(seed: 5)
    let end = DispatchTime.now().uptimeNanoseconds + patience
    var rounds = 0
    // And on, more patiently each time, until both outcomes of the race were seen.
    while rounds < 2500 || ticks.value == 0 || ticks.value == rounds, DispatchTime.now().uptimeNanoseconds < end {
      rounds += 1
      try machine.restart(deadline: .now() + .microseconds(.random(in: 0...100, using: &random)))
      spin(.random(in: 0...(120_000 + UInt64(max(0, rounds - 2500)) * 10_000), using: &random))
      let outcome =
        switch call {
        case "suspend": machine.suspend()
        case "cancel": machine.cancel()
        case "restart": try machine.restart(deadline: .distantFuture)
        default: try machine.reschedule(deadline: .distantFuture)
        }
      // Busy: a tick had started before. Ignored: it was the only one, and may be under way.
      if outcome != .done { queue.sync {} }
      forbidden.store(true, ordering: .sequentiallyConsistent)
      spin(20_000)
      forbidden.store(false, ordering: .sequentiallyConsistent)
    }
    #expect(violations.value == 0)
    #expect(ticks.value > 0 && ticks.value < rounds, "both outcomes of the race were seen")
  }

  @Test func threadsAtRandomNeverOverlapTicksOnAConcurrentQueue() async throws {
    let inside = Atomic(0)
    let overlaps = Counter()
    let ticks = Counter()
    let freed = Counter()
    let started = Counter()
    do {
      let machine = Machine(queue: .global())
      let handler: @Sendable (Canary) -> Void = { canary in
        if inside.add(1, ordering: .sequentiallyConsistent).oldValue != 0 { overlaps.add() }
        spin(2000)
        canary.touch()
        ticks.add()
        inside.subtract(1, ordering: .sequentiallyConsistent)
      }
      // Serial queues have threads of their own and leave those of the global queue to the handlers.
      let running = DispatchGroup()
      for seed in 1...3 as ClosedRange<UInt64> {
        DispatchQueue(label: "caller \(seed)").async(group: running) {
          var random = SplitMix64(seed: seed)
          let end = DispatchTime.now().uptimeNanoseconds + patience
          var calls = 0
          while calls < 20_000 || ticks.value <= 100, DispatchTime.now().uptimeNanoseconds < end {
            calls += 1
            let deadline = DispatchTime.now() + .microseconds(.random(in: -5...30, using: &random))
            let repeating: DispatchTimeInterval = .random(using: &random) ? .never : .microseconds(10)
            switch Int.random(in: 0..<11, using: &random) {
            case 0...1:
              started.add()
              let canary = Canary(freed)
              _ = try? machine.activate(deadline: deadline, repeating: repeating) { handler(canary) }
            case 2: _ = try? machine.restart(deadline: deadline, repeating: repeating)
            case 3: machine.suspend()
            case 4: machine.resume()
            case 5: _ = try? machine.reschedule(deadline: deadline, repeating: repeating)
            case 6: machine.postpone(until: deadline)
            case 7: machine.fire()
            case 8: machine.cancel()
            default: spin(10_000)
            }
          }
        }
      }
      await withCheckedContinuation { continuation in
        running.notify(queue: DispatchQueue(label: "done")) { continuation.resume() }
      }
      #expect(overlaps.value == 0)
      #expect(ticks.value > 100)
      // Still alive after all that.
      machine.cancel()
      let before = ticks.value
      let canary = Canary(freed)
      started.add()
      try machine.activate(deadline: .now()) { handler(canary) }
      await eventually { ticks.value > before }
      #expect(ticks.value > before)
    }
    await eventually { freed.value == started.value }
    #expect(freed.value == started.value)
  }

  @Test func aRestartWaitsForTheEarlierHandler() async throws {
    let queue = DispatchQueue(label: "concurrent", attributes: .concurrent)
    let gate = DispatchSemaphore(value: 0)
    let first = Counter()
    let second = Counter()
    let machine = Machine(queue: queue)
    try machine.activate(deadline: .now()) {
      first.add()
      gate.wait()
    }
    await eventually { first.value == 1 }
    #expect(machine.state == .finished)
    #expect(try machine.activate(deadline: .now()) { second.add() } == .busy)
    machine.cancel()
    #expect(try machine.activate(deadline: .now()) { second.add() } == .busy)
    #expect(machine.fire() == .busy)
    try await laterTicks(on: queue)
    #expect(second.value == 0)
    gate.signal()
    await eventually { second.value == 2 }
    #expect((first.value, second.value) == (1, 2), "the tick and the extra one")
  }

  @Test func aTickThatFallsDueWhileBusyIsNotLost() async throws {
    let factory = RecordingTimerAdapterFactory()
    let queue = DispatchQueue(label: "busy")
    let gate = DispatchSemaphore(value: 0)
    let first = Counter()
    let second = Counter()
    let machine = Machine(factory: factory)
    try machine.activate(deadline: factory.now) {
      first.add()
      gate.wait()
    }
    queue.async(execute: factory.delivery)
    await eventually { first.value == 1 }
    #expect(try machine.activate(deadline: factory.now) { second.add() } == .busy)
    factory.delivery()
    #expect((machine.state, second.value) == (.running, 0))
    _ = factory.log.take()
    gate.signal()
    queue.sync {}
    #expect(factory.log.take() == [.schedule(deadline: 1000, repeating: .never, leeway: .nanoseconds(0))])
    factory.delivery()
    #expect((machine.state, second.value) == (.finished, 1))
  }

  @Test func realTicksAreNeverEarlyAndDoNotDrift() async throws {
    let interval: UInt64 = 4_000_000
    let times = Locked<[UInt64]>([])
    let first = DispatchTime.now().uptimeNanoseconds + interval
    let machine = Machine(queue: DispatchQueue(label: "grid"))
    try machine.activate(
      deadline: DispatchTime(uptimeNanoseconds: first), repeating: .nanoseconds(Int(interval))
    ) { times.withLock { $0.append(DispatchTime.now().uptimeNanoseconds) } }
    // After a hundred ticks one comes at its point of the grid, however late others are.
    let isOnTheGrid: @Sendable () -> Bool = {
      times.withLock { $0.dropFirst(100).contains { ($0 - first) % interval < interval / 4 } }
    }
    await eventually(isOnTheGrid)
    machine.cancel()
    #expect(isOnTheGrid())
    let seen = times.withLock { $0 }
    for (index, time) in seen.enumerated() { #expect(time >= first + UInt64(index) * interval) }
  }

  // MARK: Extreme arguments

  @Test func extremesNeitherTrapNorSpinNorTickEarly() async throws {
    let never: [UInt64] = [(1 << 62) - 1, 1 << 62, 1 << 63, .max - 1, .max]
    let intervals: [DispatchTimeInterval] = [.never, .nanoseconds(.max), .seconds(9_223_372_036), .milliseconds(1)]
    let leeways: [DispatchTimeInterval] = [.nanoseconds(0), .nanoseconds(.max), .never]
    let queue = DispatchQueue(label: "never")
    var sleepers: [Machine] = []
    let early = Counter()
    for repeating in intervals {
      for leeway in leeways {
        for deadline in never + [(1 << 62) - 2] {
          let machine = Machine(queue: queue) { early.add() }
          sleepers.append(machine)
          let deadline = DispatchTime(uptimeNanoseconds: deadline)
          try machine.activate(deadline: deadline, repeating: repeating, leeway: leeway)
          machine.suspend()
          machine.postpone(until: deadline)
          machine.resume()
        }
        for deadline: UInt64 in [0, 1] {
          let ticks = Counter()
          let machine = Machine(queue: DispatchQueue(label: "now")) { ticks.add() }
          let deadline = DispatchTime(uptimeNanoseconds: deadline)
          try machine.activate(deadline: deadline, repeating: repeating, leeway: leeway)
          await eventually { ticks.value > 0 }
          #expect(ticks.value > 0)
          #expect(machine.state == (repeating.isEndless ? .finished : .running))
        }
      }
    }
    let machine = Machine(queue: queue)
    try machine.activate(repeatTimeInterval: .nanoseconds(.max - 1)) { early.add() }
    sleepers.append(machine)
    try await laterTicks(on: queue)
    #expect(early.value == 0)
    #expect(sleepers.allSatisfy { $0.state == .running })
  }
}

// MARK: - Help

extension DispatchTimeInterval {
  fileprivate var isEndless: Bool { self == .never || self == .nanoseconds(.max) }
}

/// Counts its end, and looks at a machine then.
private final class Canary: Sendable {
  private let freed: Counter
  private let machine: WeakMachine

  init(_ freed: Counter, _ machine: Machine? = nil) {
    self.freed = freed
    self.machine = WeakMachine(machine: machine)
  }

  deinit {
    _ = machine.machine?.state
    freed.add()
  }

  func touch() {}
  var body: @Sendable () -> Void { { self.touch() } }
}

private struct WeakMachine: Sendable { weak let machine: Machine? }

private final class MachineBox: Sendable {
  private let held = Locked<Machine?>(nil)
  var machine: Machine? { held.withLock { $0 } }

  func set(_ machine: Machine?) {
    let old = held.withLock { held in
      let old = held
      held = machine
      return old
    }
    withExtendedLifetime(old) {}
  }
}

private func spin(_ nanoseconds: UInt64) {
  let end = DispatchTime.now().uptimeNanoseconds + nanoseconds
  while DispatchTime.now().uptimeNanoseconds < end {}
}

/// Nanoseconds to wait for what must come.
private let patience = 30_000_000_000 as UInt64

/// Waits until ticks that are due later than all that is due there now have come: shows by order that nothing else
/// does.
private func laterTicks(on queue: DispatchQueue) async throws {
  let ticks = Counter()
  let machine = Machine(queue: queue)
  try machine.activate(deadline: .now() + .milliseconds(3), repeating: .milliseconds(1)) { ticks.add() }
  await eventually { ticks.value >= 3 }
  #expect(ticks.value >= 3)
}

private func eventually(_ condition: () -> Bool) async {
  let end = DispatchTime.now().uptimeNanoseconds + patience
  while !condition(), DispatchTime.now().uptimeNanoseconds < end { try? await Task.sleep(nanoseconds: 500_000) }
}

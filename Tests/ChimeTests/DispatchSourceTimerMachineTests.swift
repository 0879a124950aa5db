import Dispatch
import Glibc
import Synchronization
import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

private typealias Machine = DispatchSourceTimerMachine
private typealias Call = RecordingTimerAdapter.Call

/// What a fake source would trap on is a violation in its log; with the real one it would end the process.
@Suite(.serialized)
struct DispatchSourceTimerMachineTests {
  // MARK: The table

  /// The rows of the table of `Transition`: events in the order of `TimerEvent.allCases`.
  private static let table: [(state: TimerState, cells: String)] = [
    (.idle, "running running – – idle – + – –"),
    (.running, "– running suspended – running running + finished cancelled"),
    (.suspended, "– running – running suspended suspended + – cancelled"),
    (.finished, "running running – – finished – + – –"),
    (.cancelled, "running running – – cancelled – – – –"),
  ]

  private static let cells = table.flatMap { row in
    zip(TimerEvent.allCases, row.cells.split(separator: " ")).map {
      Cell(state: row.state, event: $0, expected: String($1))
    }
  }

  struct Cell: CustomTestStringConvertible, Sendable {
    let state: TimerState
    let event: TimerEvent
    let expected: String
    var testDescription: String { "\(state) × \(event) → \(expected)" }
  }

  @Test(arguments: cells)
  func eachCellOfTheTableOnARecordingAdapter(cell: Cell) throws {
    let factory = RecordingTimerAdapterFactory()
    let queue = DispatchQueue(label: "table")
    let ticks = Counter()
    do {
      let machine = Machine(queue: queue, factory: factory) { ticks.add() }
      try bring(machine, to: cell.state) {
        factory.setNow(2000)
        factory.delivery()
      }
      try check(cell, machine, queue, ticks) {
        factory.setNow(1 << 61)
        factory.delivery()
      }
    }
    #expect(factory.log.violations == [])
    let calls = factory.log.calls
    #expect(calls.count { $0 == .make } == calls.count { $0 == .release }, "each source is let go")
  }

  @Test(arguments: cells)
  func eachCellOfTheTableOnARealSource(cell: Cell) throws {
    let queue = DispatchQueue(label: "table")
    let ticks = Counter()
    let machine = Machine(queue: queue) { ticks.add() }
    let lastTick: () throws -> Void = {
      guard machine.state == .running else {
        usleep(1000)
        return
      }
      try machine.restart(deadline: .now())
      for _ in 0..<30_000 where machine.state == .running { usleep(1000) }
      queue.sync {}
    }
    try bring(machine, to: cell.state, lastTick)
    try check(cell, machine, queue, ticks, lastTick)
  }

  /// An hour that does not come.
  private var far: DispatchTime { .now() + .seconds(3600) }

  private func bring(_ machine: Machine, to state: TimerState, _ lastTick: () throws -> Void) throws {
    switch state {
    case .idle: break
    case .running: #expect(try machine.activate(deadline: far) == .done)
    case .suspended:
      try machine.activate(deadline: far)
      #expect(machine.suspend() == .done)
    case .finished:
      // Past for a real source, ahead of the fake's first time.
      try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 1500))
      try lastTick()
    case .cancelled:
      try machine.activate(deadline: far)
      #expect(machine.cancel() == .done)
    }
    try #require(machine.state == state)
  }

  private func check(
    _ cell: Cell, _ machine: Machine, _ queue: DispatchQueue, _ ticks: Counter, _ lastTick: () throws -> Void
  ) throws {
    let ticksBefore = ticks.value
    let outcome: Machine.Outcome? =
      switch cell.event {
      case .activate: try machine.activate(deadline: far)
      case .restart: try machine.restart(deadline: far)
      case .suspend: machine.suspend()
      case .resume: machine.resume()
      case .reschedule: try machine.reschedule(deadline: far)
      case .postpone: machine.postpone(until: far)
      case .fire: machine.fire()
      case .lastTick: nil
      case .cancel: machine.cancel()
      }
    if cell.event == .lastTick { try lastTick() }
    queue.sync {}
    switch cell.expected {
    case "–":
      #expect(outcome == .ignored || outcome == nil)
      #expect(machine.state == cell.state)
      #expect(ticks.value == ticksBefore)
    case "+":
      #expect(outcome == .done)
      #expect(machine.state == cell.state)
      #expect(ticks.value == ticksBefore + 1)
    default:
      #expect(outcome == .done || outcome == nil)
      #expect("\(machine.state)" == cell.expected)
      #expect(ticks.value == ticksBefore + (cell.event == .lastTick ? 1 : 0))
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func randomOrdersAgreeWithTheTableAndBreakNoRule(seed: UInt64) throws {
    let factory = RecordingTimerAdapterFactory()
    let queue = DispatchQueue(label: "random")
    let ticks = Counter()
    var random = SplitMix64(seed: seed)
    var now: UInt64 = 1000
    do {
      let machine = Machine(queue: queue, factory: factory) { ticks.add() }
      var stale: [@Sendable () -> Void] = []
      for step in 0..<20_000 {
        let before = machine.state
        let event = TimerEvent.allCases.randomElement(using: &random)!
        let deadline = DispatchTime(uptimeNanoseconds: now + .random(in: 0...500, using: &random))
        let repeating: DispatchTimeInterval = .random(using: &random) ? .never : .nanoseconds(300)
        var expected = Transition(from: before, on: event).next
        let outcome: Machine.Outcome
        switch event {
        case .activate: outcome = try machine.activate(deadline: deadline, repeating: repeating)
        case .restart: outcome = try machine.restart(deadline: deadline, repeating: repeating)
        case .suspend: outcome = machine.suspend()
        case .resume: outcome = machine.resume()
        case .reschedule: outcome = try machine.reschedule(deadline: deadline, repeating: repeating)
        case .postpone: outcome = machine.postpone(until: deadline)
        case .fire:
          outcome = machine.fire()
          if .random(using: &random) { queue.sync {} }
        case .cancel: outcome = machine.cancel()
        case .lastTick:
          now += 200
          factory.setNow(now)
          stale.append(factory.delivery)
          stale.randomElement(using: &random)!()
          stale = stale.suffix(4)
          expected = machine.state == .finished ? .finished : before
          outcome = .done
        }
        #expect(machine.state == expected ?? before, "seed \(seed), step \(step), \(event) in \(before)")
        #expect((outcome == .ignored) == (expected == nil), "seed \(seed), step \(step), \(event) in \(before)")
      }
      stale = []
      queue.sync {}
    }
    #expect(factory.log.violations == [])
    #expect(ticks.value > 100)
    #expect(factory.log.calls.last == .release)
  }

  // MARK: What the source is told

  @Test func cancelWhileSuspendedResumesFirst() throws {
    let factory = RecordingTimerAdapterFactory()
    let machine = Machine(factory: factory)
    try machine.activate(repeatTimeInterval: .seconds(1)) {}
    machine.suspend()
    machine.cancel()
    let schedule = Call.schedule(deadline: 1_000_001_000, repeating: .seconds(1), leeway: .nanoseconds(0))
    #expect(
      factory.log.take() == [.make, .setEventHandler, schedule, .activate, .suspend, .resume, .cancel, .release])
    #expect(factory.log.violations == [])
  }

  @Test func deinitWhileSuspendedLeavesASourceThatMayBeFreed() throws {
    let factory = RecordingTimerAdapterFactory()
    try {
      let machine = Machine(factory: factory)
      try machine.activate(repeatTimeInterval: .seconds(1)) {}
      machine.suspend()
    }()
    #expect(factory.log.take().suffix(4) == [.suspend, .resume, .cancel, .release])
    #expect(factory.log.violations == [])
  }

  @Test func aMachineThatWasNeverActivatedMakesNoSource() throws {
    let factory = RecordingTimerAdapterFactory()
    try {
      let machine = Machine(factory: factory) {}
      machine.suspend()
      machine.resume()
      machine.cancel()
      try machine.reschedule(repeatTimeInterval: .seconds(1))
    }()
    #expect(factory.log.calls == [])
  }

  @Test func restartIsOneScheduleOfTheExistingSource() throws {
    let factory = RecordingTimerAdapterFactory()
    let ticks = Counter()
    let machine = Machine(factory: factory) { ticks.add() }
    try machine.restart(deadline: DispatchTime(uptimeNanoseconds: 1500))
    factory.setNow(1500)
    factory.delivery()
    #expect(machine.state == .finished)
    _ = factory.log.take()
    for deadline: UInt64 in [1600, 1700] {
      #expect(try machine.restart(deadline: DispatchTime(uptimeNanoseconds: deadline)) == .done)
      #expect(
        factory.log.take() == [.schedule(deadline: deadline, repeating: .never, leeway: .nanoseconds(0))])
    }
    try machine.restart(deadline: .distantFuture)
    #expect(factory.log.take() == [.schedule(deadline: .max, repeating: .never, leeway: .nanoseconds(0))])
    #expect(ticks.value == 1)
  }

  @Test func aCancelledMachineIsActivatedAgainWithANewSource() throws {
    let factory = RecordingTimerAdapterFactory()
    let first = Counter()
    let second = Counter()
    let machine = Machine(factory: factory)
    try machine.activate(repeatTimeInterval: .nanoseconds(100)) { first.add() }
    machine.cancel()
    #expect(throws: Machine.ScheduleError.handlerMissing) { try machine.restart() }
    #expect(machine.state == .cancelled)
    #expect(try machine.activate { second.add() } == .done)
    factory.setNow(1100)
    factory.delivery()
    #expect((first.value, second.value) == (0, 1))
    #expect(factory.log.calls.count { $0 == .make } == 2)
    #expect(factory.log.violations == [])
  }

  // MARK: When a tick starts

  @Test func theFirstTickComesAfterOneIntervalUnlessADeadlineIsGiven() throws {
    let factory = RecordingTimerAdapterFactory()
    let machine = Machine(factory: factory) {}
    try machine.activate(repeatTimeInterval: .microseconds(1))
    machine.cancel()
    try machine.activate(repeatTimeInterval: .microseconds(1), deadline: factory.now, leeway: .nanoseconds(7))
    machine.cancel()
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 0))
    let schedules = factory.log.calls.filter { if case .schedule = $0 { true } else { false } }
    #expect(
      schedules == [
        .schedule(deadline: 2000, repeating: .nanoseconds(1000), leeway: .nanoseconds(0)),
        .schedule(deadline: 1000, repeating: .nanoseconds(1000), leeway: .nanoseconds(7)),
        .schedule(deadline: 1000, repeating: .never, leeway: .nanoseconds(0)),
      ])
  }

  @Test func aDeliveryBeforeTheDeadlineIsNoTickAndSetsTheSourceAgain() throws {
    let factory = RecordingTimerAdapterFactory()
    let ticks = Counter()
    let machine = Machine(factory: factory) { ticks.add() }
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 2000))
    _ = factory.log.take()
    factory.setNow(1999)
    factory.delivery()
    #expect(ticks.value == 0)
    #expect(factory.log.take() == [.schedule(deadline: 2000, repeating: .never, leeway: .nanoseconds(0))])
    factory.setNow(2000)
    factory.delivery()
    factory.delivery()
    #expect(ticks.value == 1)
  }

  @Test func ticksKeepTheGridAndMissedOnesAreOne() throws {
    let factory = RecordingTimerAdapterFactory()
    let times = Locked<[UInt64]>([])
    let machine = Machine(factory: factory) { times.withLock { $0.append(factory.now.uptimeNanoseconds) } }
    try machine.activate(repeatTimeInterval: .nanoseconds(100))
    // Deliveries at every 10 ns, none between 1250 and 1680.
    for now in stride(from: 1000 as UInt64, through: 2000, by: 10) where !(1250...1680).contains(now) {
      factory.setNow(now)
      factory.delivery()
    }
    #expect(times.withLock { $0 } == [1100, 1200, 1690, 1700, 1800, 1900, 2000])
  }

  @Test func postponeMovesTheGridAndLeavesTheSourceAlone() throws {
    let factory = RecordingTimerAdapterFactory()
    let times = Locked<[UInt64]>([])
    let machine = Machine(factory: factory) { times.withLock { $0.append(factory.now.uptimeNanoseconds) } }
    try machine.activate(repeatTimeInterval: .nanoseconds(100))
    _ = factory.log.take()
    #expect(machine.postpone(until: DispatchTime(uptimeNanoseconds: 1050)) == .done)
    #expect(machine.postpone(until: DispatchTime(uptimeNanoseconds: 1130)) == .done)
    #expect(factory.log.take() == [])
    for now in stride(from: 1000 as UInt64, through: 1400, by: 10) {
      factory.setNow(now)
      factory.delivery()
    }
    #expect(times.withLock { $0 } == [1130, 1230, 1330])
  }

  @Test func aTickSwallowedWhileSuspendedComesWithResume() throws {
    let factory = RecordingTimerAdapterFactory()
    let ticks = Counter()
    let machine = Machine(factory: factory) { ticks.add() }
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 2000))
    factory.setNow(2500)
    machine.suspend()
    factory.delivery()
    #expect(ticks.value == 0)
    _ = factory.log.take()
    machine.resume()
    #expect(factory.log.take() == [.schedule(deadline: 2000, repeating: .never, leeway: .nanoseconds(0)), .resume])
    factory.delivery()
    #expect(ticks.value == 1)
    #expect(machine.state == .finished)
  }

  @Test func aStaleDeliveryStartsNothing() throws {
    let factory = RecordingTimerAdapterFactory()
    let ticks = Counter()
    let machine = Machine(factory: factory) { ticks.add() }
    let later = DispatchTime(uptimeNanoseconds: 9000)
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 2000))
    factory.setNow(2000)
    let stale = factory.delivery
    try machine.restart(deadline: later)
    stale()
    try machine.reschedule(deadline: later, repeating: .nanoseconds(10))
    stale()
    machine.suspend()
    stale()
    machine.cancel()
    stale()
    try machine.activate(deadline: later)
    stale()
    #expect(ticks.value == 0)
    #expect(factory.log.violations == [])
  }

  @Test func aScheduleStoredBeforeTheStartIsUsedByIt() throws {
    let factory = RecordingTimerAdapterFactory()
    let machine = Machine(factory: factory) {}
    #expect(throws: Machine.ScheduleError.scheduleMissing) { try machine.activate() }
    #expect(machine.state == .idle)
    try machine.reschedule(repeatTimeInterval: .nanoseconds(50))
    factory.setNow(4000)
    #expect(try machine.activate() == .done)
    machine.suspend()
    try machine.reschedule(repeatTimeInterval: .nanoseconds(70))
    machine.resume()
    let schedules = factory.log.calls.filter { if case .schedule = $0 { true } else { false } }
    #expect(
      schedules == [
        .schedule(deadline: 4050, repeating: .nanoseconds(50), leeway: .nanoseconds(0)),
        .schedule(deadline: 4070, repeating: .nanoseconds(70), leeway: .nanoseconds(0)),
      ])
  }

  @Test func fireIsOneTickHoweverOftenAndSuspendDropsIt() throws {
    let factory = RecordingTimerAdapterFactory()
    let queue = DispatchQueue(label: "fire")
    let ticks = Counter()
    let machine = Machine(queue: queue, factory: factory) { ticks.add() }
    queue.sync { for _ in 0..<5 { #expect(machine.fire() == .done) } }
    queue.sync {}
    #expect(ticks.value == 1)
    try machine.activate(repeatTimeInterval: .seconds(1))
    queue.sync {
      machine.fire()
      machine.suspend()
    }
    queue.sync {}
    #expect(ticks.value == 1)
    queue.sync {
      machine.fire()
      _ = try? machine.restart()
      machine.fire()
    }
    queue.sync {}
    #expect(ticks.value == 2)
    #expect(Machine(queue: queue, factory: factory).fire() == .ignored, "nothing to call")
  }

  // MARK: From inside the handler

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

  @Test func resumeGivesOneTickForAllThatWereMissed() async throws {
    let ticks = Counter()
    let queue = DispatchQueue(label: "resume")
    let machine = Machine(queue: queue) { ticks.add() }
    let interval = 50_000_000 as UInt64
    let first = DispatchTime.now().uptimeNanoseconds
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: first), repeating: .nanoseconds(Int(interval)))
    await eventually { ticks.value >= 1 }
    machine.suspend()
    queue.sync {}
    // To the middle between two points of the grid.
    while (DispatchTime.now().uptimeNanoseconds - first) < interval * 4 + interval / 2 { usleep(1000) }
    let before = ticks.value
    machine.resume()
    await eventually { ticks.value > before }
    machine.suspend()
    let last = DispatchTime.now().uptimeNanoseconds - first
    if last < interval * 5 { #expect(ticks.value == before + 1) }
  }

  // MARK: Bad and extreme arguments

  @Test func badIntervalsAreTypedErrorsInEveryState() throws {
    typealias Fault = Machine.ScheduleError
    let intervals: [(DispatchTimeInterval, Fault)] = [
      (.seconds(0), .intervalNotPositive), (.nanoseconds(0), .intervalNotPositive),
      (.seconds(-1), .intervalNotPositive), (.milliseconds(-1), .intervalNotPositive),
      (.microseconds(.min), .intervalNotPositive), (.nanoseconds(.min), .intervalNotPositive),
      (.seconds(.max), .intervalTooLong), (.milliseconds(.max), .intervalTooLong),
      (.seconds(9_223_372_037), .intervalTooLong),
    ]
    let leeways: [(DispatchTimeInterval, Fault)] = [
      (.nanoseconds(-1), .leewayNegative), (.seconds(.min), .leewayNegative), (.seconds(.max), .leewayTooLong),
    ]
    let factory = RecordingTimerAdapterFactory()
    for state in TimerState.allCases {
      let machine = Machine(queue: DispatchQueue(label: "bad"), factory: factory) {}
      try bring(machine, to: state) {
        factory.setNow(2000)
        factory.delivery()
      }
      for (interval, fault) in intervals {
        #expect(throws: fault) { try machine.activate(repeatTimeInterval: interval) {} }
        #expect(throws: fault) { try machine.activate(deadline: .now(), repeating: interval) {} }
        #expect(throws: fault) { try machine.restart(deadline: .now(), repeating: interval) }
        #expect(throws: fault) { try machine.reschedule(repeatTimeInterval: interval) }
        #expect(throws: fault) { try machine.reschedule(deadline: .now(), repeating: interval) }
      }
      for (leeway, fault) in leeways {
        #expect(throws: fault) { try machine.activate(repeatTimeInterval: .seconds(1), leeway: leeway) {} }
        #expect(throws: fault) { try machine.restart(deadline: .now(), leeway: leeway) }
        #expect(throws: fault) { try machine.reschedule(deadline: .now(), leeway: leeway) }
      }
      #expect(machine.state == state)
    }
    #expect(factory.log.violations == [])
  }

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

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

  @Test func cancelWhileSuspendedResumesFirst() {
    MachineScript.play(
      "activate every 100 | make handler 1100/100 activate; suspend; cancel | suspend resume cancel release")
  }

  @Test func deinitWhileSuspendedLeavesASourceThatMayBeFreed() {
    MachineScript.play(
      "activate every 100; suspend | make handler 1100/100 activate suspend; drop | resume cancel release")
  }

  @Test func aMachineThatWasNeverActivatedMakesNoSource() {
    MachineScript.play("suspend?; resume?; cancel?; reschedule every 100; drop |")
  }

  @Test func restartIsOneScheduleOfTheExistingSource() {
    MachineScript.play(
      """
      restart from 1500 | make handler 1500 activate; at 1500 | *1500; is finished; \
      restart from 1600 | 1600; restart from 1700 | 1700; restart never | never
      """)
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

  @Test func theFirstTickComesAfterOneIntervalUnlessADeadlineIsGiven() {
    MachineScript.play(
      """
      activate every 1000 | make handler 2000/1000 activate; cancel | cancel release; \
      activate every 1000 from 1000 leeway 7 | make handler 1000/1000~7 activate; cancel | cancel release; \
      activate from 0 | make handler 1000 activate
      """)
  }

  @Test func aDeliveryBeforeTheDeadlineIsNoTickAndSetsTheSourceAgain() {
    MachineScript.play("activate from 2000 | make handler 2000 activate; at 1999 | 2000; at 2000 | *2000; at 2000 |")
  }

  @Test func ticksKeepTheGridAndMissedOnesAreOne() {
    MachineScript.play(
      """
      activate every 100 | make handler 1100/100 activate; through 1240 | *1100 *1200; \
      now 1690; through 2000 | *1690 *1700 *1800 *1900 *2000
      """)
  }

  @Test func postponeMovesTheGridAndLeavesTheSourceAlone() {
    MachineScript.play(
      """
      activate every 100 | make handler 1100/100 activate; postpone 1050; postpone 1130 |; \
      through 1400 | *1130 *1230 *1330
      """)
  }

  @Test func aTickSwallowedWhileSuspendedComesWithResume() {
    MachineScript.play(
      """
      activate from 2000; suspend | make handler 2000 activate suspend; at 2500 |; resume | 2000 resume; \
      at 2500 | *2500; is finished
      """)
  }

  @Test func resumeGivesOneTickForAllThatWereMissed() {
    MachineScript.play(
      """
      activate every 100; suspend; at 1450 | make handler 1100/100 activate suspend; resume | 1100/100 resume; \
      at 1450 | *1450; at 1500 | *1500
      """)
  }

  @Test func aStaleDeliveryStartsNothing() {
    MachineScript.play(
      """
      activate from 2000; now 2000; keep; restart from 9000 | make handler 2000 activate 9000; late | 9000; \
      reschedule from 9000 every 10; late; suspend; late; cancel; late; activate from 9000; late; is running
      """)
  }

  @Test func aScheduleStoredBeforeTheStartIsUsedByIt() {
    MachineScript.play(
      """
      activate!; is idle; reschedule every 50; now 4000; activate | make handler 4050/50 activate; \
      suspend; reschedule every 70; resume | suspend 4070/70 resume
      """)
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
}

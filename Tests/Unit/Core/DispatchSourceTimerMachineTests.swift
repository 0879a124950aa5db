import ChimeTestSupport
import Dispatch
import Testing

@testable import Chime
import ChimeCompat
@testable import ChimeCore

private typealias Machine = DispatchSourceTimerMachine

extension DispatchSourceTimerMachine {
  /// The call that is the event: without a deadline the first tick counts from now, and without an interval, either, the
  /// schedule is the last one. The last tick is no call; it is left to the caller.
  func perform(
    _ event: TimerEvent, _ deadline: DispatchTime?, repeating: DispatchTimeInterval? = nil,
    leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws -> ChimeTimer.Outcome? {
    switch (event, deadline, repeating) {
    case (.activate, nil, nil): try activate()
    case (.activate, let deadline?, nil): try activate(deadline: deadline, leeway: leeway)
    case (.activate, _, let interval?):
      try activate(repeatTimeInterval: interval, deadline: deadline, leeway: leeway)
    case (.restart, nil, _): try restart()
    case (.restart, let deadline?, _): try restart(deadline: deadline, repeating: repeating ?? .never, leeway: leeway)
    case (.suspend, _, _): suspend()
    case (.resume, _, _): resume()
    case (.reschedule, nil, _): try reschedule(repeatTimeInterval: repeating!, leeway: leeway)
    case (.reschedule, let deadline?, _):
      try reschedule(deadline: deadline, repeating: repeating ?? .never, leeway: leeway)
    case (.postpone, _, _): postpone(until: deadline!)
    case (.fire, _, _): fire()
    case (.lastTick, _, _): nil
    case (.cancel, _, _): cancel()
    }
  }
}

/// What a fake source would trap on is a violation in its log; with the real one it would end the process. What each
/// event leads to is `Transition`'s to say, as the C suite's `each_call_in_each_state` and the model see it. [1]
@Suite("DispatchSourceTimerMachine") struct DispatchSourceTimerMachineTests {
  /// The calls that lead to each state.
  static let ways: [(state: TimerState, events: [TimerEvent])] = [
    (.idle, []), (.running, [.activate]), (.suspended, [.activate, .suspend]), (.finished, [.activate, .lastTick]),
    (.cancelled, [.activate, .cancel]),
  ]

  /// The last reference goes in the state that the event led to.
  @Test(arguments: ways, TimerEvent.allCases)
  func eachCellOfTheTableOnARealSource(
    _ way: (state: TimerState, events: [TimerEvent]), event: TimerEvent
  ) async throws {
    let queue = DispatchQueue(label: "table")
    let ticks = Counter(), alive = Counter()
    try {
      let machine = Machine(queue: queue) { [capture = Counted(alive)] in ticks.add(capture.alive.value) }
      func perform(_ event: TimerEvent) throws -> ChimeTimer.Outcome? {
        if event == .lastTick, machine.state == .running {
          try machine.restart(deadline: .now())
          let end = DispatchTime.now() + patience
          while machine.state == .running, DispatchTime.now() < end {}
        }
        defer { queue.sync {} }
        return try machine.perform(event, .now() + .seconds(3600))
      }
      for event in way.events { _ = try perform(event) }
      try #require(machine.state == way.state)
      let before = ticks.value
      let transition = Transition(from: way.state, on: event)
      let outcome = try perform(event)
      #expect(outcome == nil || outcome == (transition == .ignored ? .ignored : .done))
      #expect(machine.state == transition.next ?? way.state)
      #expect(ticks.value - before == (transition == .extraTick(way.state) || transition == .finish ? 1 : 0))
    }()
    #expect(await soon { alive.value == 0 })
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
      for step in 0..<10_000 {
        let before = machine.state
        let event = TimerEvent.allCases.randomElement(using: &random)!
        let deadline = DispatchTime(uptimeNanoseconds: now + .random(in: 0...500, using: &random))
        let outcome = try machine.perform(
          event, deadline, repeating: .random(using: &random) ? .never : .nanoseconds(300))
        var expected = Transition(from: before, on: event).next
        if event == .lastTick {
          now += 200
          factory.setNow(now)
          stale.append(factory.delivery)
          stale.randomElement(using: &random)!()
          stale = stale.suffix(4)
          expected = machine.state == .finished ? .finished : before
        }
        if event == .fire, .random(using: &random) { queue.sync {} }
        #expect(machine.state == expected ?? before, "seed \(seed), step \(step), \(event) in \(before)")
        // What the table ignores may take an extra tick back.
        let mayDrop = expected == nil && (event == .cancel || event == .suspend)
        #expect(
          (outcome == .ignored) == (expected == nil) || mayDrop, "seed \(seed), step \(step), \(event) in \(before)")
      }
      stale = []
      queue.sync {}
    }
    #expect(factory.violations.all == [])
    #expect(ticks.value > 100)
    let calls = factory.calls.all
    #expect(calls.last == "release" && calls.count { $0 == "make" } == calls.count { $0 == "release" })
  }
}

/// What a recording source is told, and when a tick starts.
@Suite("TimerAdapter and factory") struct TimerAdapterTests {
  /// Rules, and below each a script that shows it.
  static let rules: [(rule: String, script: String)] = """
    cancel while suspended resumes first
      activate every 100 | make handler 1100/100 activate; suspend; cancel | suspend resume cancel release
    what is dropped while suspended leaves a source that may be freed
      activate every 100; suspend | make handler 1100/100 activate suspend; drop | resume cancel release
    what was never activated makes no source
      suspend?; resume?; cancel?; reschedule every 100; drop |
    a restart is one schedule of the existing source
      restart from 1500 | make handler 1500 activate; at 1500 | *1500; is finished; restart from 1600 | 1600;
      restart from 1700 | 1700; restart never | never
    the first tick comes after one interval unless a deadline is given
      activate every 1000 | make handler 2000/1000 activate; cancel | cancel release;
      activate every 1000 from 1000 leeway 7 | make handler 1000/1000~7 activate; cancel | cancel release;
      activate from 0 | make handler 1000 activate
    a delivery before the deadline is no tick, and sets the source again
      activate from 2000 | make handler 2000 activate; at 1999 | 2000; at 2000 | *2000; at 2000 |
    ticks keep the grid, and missed ones are one
      activate every 100 | make handler 1100/100 activate; through 1240 | *1100 *1200; now 1690;
      through 2000 | *1690 *1700 *1800 *1900 *2000
    postpone moves the grid and leaves the source alone
      activate every 100 | make handler 1100/100 activate; postpone 1050; postpone 1130 |;
      through 1400 | *1130 *1230 *1330
    a tick swallowed while suspended comes with resume
      activate from 2000; suspend | make handler 2000 activate suspend; at 2500 |; resume | 2000 resume;
      at 2500 | *2500; is finished
    resume gives one tick for all that were missed
      activate every 100; suspend; at 1450 | make handler 1100/100 activate suspend; resume | 1100/100 resume;
      at 1450 | *1450; at 1500 | *1500
    a stale delivery starts nothing
      activate from 2000; now 2000; keep; restart from 9000 | make handler 2000 activate 9000; late | 9000;
      reschedule from 9000 every 10; late; suspend; late; cancel; late; activate from 9000; late; is running
    a cancelled machine is activated again, with a new source
      activate from 2000; cancel | make handler 2000 activate cancel release; activate from 3000; at 3000 |
      make handler 3000 activate *3000; is finished
    a schedule stored before the start is used by it
      activate!; is idle; reschedule every 50; now 4000; activate | make handler 4050/50 activate;
      suspend; reschedule every 70; resume | suspend 4070/70 resume
    """.split(separator: "\n").reduce(into: []) { rules, line in
      if line.hasPrefix(" ") { rules[rules.count - 1].script += line } else { rules.append(("\(line)", "")) }
    }

  @Test(arguments: rules) func theSourceIsTold(rule: String, script: String) { MachineScript.play(script) }

  @Test func fireIsOneTickHoweverOftenAndSuspendDropsIt() throws {
    let factory = RecordingTimerAdapterFactory()
    let queue = DispatchQueue(label: "fire")
    let ticks = Counter()
    let machine = Machine(queue: queue, factory: factory) { ticks.add() }
    func added(by events: TimerEvent...) throws -> Int {
      let before = ticks.value
      try queue.sync { for event in events { _ = try machine.perform(event, .distantFuture) } }
      queue.sync {}
      return ticks.value - before
    }
    #expect(try added(by: .fire, .fire, .fire) == 1)
    #expect(try added(by: .fire, .cancel) == 0 && machine.state == .idle)
    #expect(try added(by: .fire, .suspend) == 0 && machine.state == .idle)
    #expect(try added(by: .activate, .fire, .suspend) == 0)
    #expect(try added(by: .fire, .suspend) == 0 && machine.state == .suspended)
    #expect(try added(by: .fire, .restart, .fire) == 1)
    #expect(Machine(queue: queue, factory: factory).fire() == .ignored, "nothing to call")
  }

  // MARK: Extreme and bad arguments

  /// libdispatch takes 0 for now, and what does not fit in 62 bits for never or for a time on another clock.
  @Test(
    arguments: [
      (0, "1000"), (1, "1"), (1 << 62 - 2, "\(1 << 62 - 2)"), (1 << 62 - 1, "never"), (1 << 62, "never"),
      (1 << 63, "never"),
      (.max - 1, "never"), (.max, "never"),
    ] as [(UInt64, String)])
  func extremesReachTheSourceAsWhatItUnderstands(deadline: UInt64, text: String) throws {
    let repetitions: [(DispatchTimeInterval, String)] = [
      (.never, ""), (.nanoseconds(.max), ""), (.nanoseconds(.max - 1), "/\(Int.max - 1)"),
      (.seconds(9_223_372_036), "/9223372036000000000"),
    ]
    for (repeating, interval) in repetitions {
      for (leeway, window) in [(.nanoseconds(0), ""), (.never, "~\(Int.max)")] as [(DispatchTimeInterval, String)] {
        let factory = RecordingTimerAdapterFactory()
        let machine = Machine(factory: factory) {}
        try machine.activate(
          deadline: DispatchTime(uptimeNanoseconds: deadline), repeating: repeating, leeway: leeway)
        #expect(factory.calls.all[2] == text + interval + window)
        factory.deliver(at: 2000)
        #expect(machine.state == (deadline <= 1 && interval == "" ? .finished : .running))
      }
    }
  }

  private static let faults: [(DispatchTimeInterval, DispatchTimeInterval, Machine.ScheduleError)] =
    [.seconds(0), .milliseconds(-1), .microseconds(.min), .nanoseconds(.min)].map {
      ($0, .seconds(0), .intervalNotPositive)
    }
    + [.seconds(.max), .milliseconds(.max), .seconds(9_223_372_037)].map { ($0, .seconds(0), .intervalTooLong) }
    + [.nanoseconds(-1), .seconds(.min)].map { (.never, $0, .leewayNegative) }
    + [(.never, .seconds(.max), .leewayTooLong)]

  @Test(arguments: DispatchSourceTimerMachineTests.ways)
  func badIntervalsAreTypedErrorsInEveryState(_ state: TimerState, _ events: [TimerEvent]) throws {
    let factory = RecordingTimerAdapterFactory()
    let machine = Machine(queue: DispatchQueue(label: "bad"), factory: factory) {}
    for event in events where try machine.perform(event, DispatchTime(uptimeNanoseconds: 2000)) == nil {
      factory.deliver(at: 2000)
    }
    for (interval, leeway, fault) in Self.faults {
      #expect(throws: fault) { try machine.activate(repeatTimeInterval: interval, leeway: leeway) {} }
      #expect(throws: fault) { try machine.activate(deadline: .now(), repeating: interval, leeway: leeway) {} }
      #expect(throws: fault) { try machine.restart(deadline: .now(), repeating: interval, leeway: leeway) }
      #expect(throws: fault) { try machine.reschedule(repeatTimeInterval: interval, leeway: leeway) }
      #expect(throws: fault) { try machine.reschedule(deadline: .now(), repeating: interval, leeway: leeway) }
    }
    #expect(machine.state == state)
    #expect(factory.violations.all == [])
    let empty = Machine(factory: factory)
    #expect(throws: Machine.ScheduleError.handlerMissing) { try empty.restart(deadline: .now()) }
    #expect(empty.state == .idle)
  }
}

import Chime
import ChimeCompat
import ChimeTestSupport
import Dispatch
import Testing

/// Timers that people know by name: CGDTimer and SwiftTimer. (GCDTimer, RNTimer, MSWeakTimer, and what else CGDTimer does:
/// programs of the page `ComingFromSwift`, which have to print what it says.)

@Suite("CGDTimer", .serialized) struct CGDTimerSystem {
  /// Sources that the caller makes, with flags of its own.
  struct StrictSources: TimerAdapterFactory {
    let made = Counter()

    func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
      made.add()
      return DispatchSourceTimerAdapter(adopting: DispatchSource.makeTimerSource(flags: .strict, queue: queue))
    }
  }

  @Test func aMachineDrivesTheCallersOwnSource() async throws {
    let sources = StrictSources()
    let ticks = Counter()
    let machine = DispatchSourceTimerMachine(queue: DispatchQueue(label: "caller"), factory: sources)
    try machine.activate(repeatTimeInterval: .milliseconds(1)) { ticks.add() }
    #expect(await soon { ticks.value >= 2 })
    machine.suspend()
    machine.suspend()
    machine.cancel()
    #expect(machine.state == .cancelled && sources.made.value == 1)
  }
}

@Suite("DispatchSourceTimer's names") struct DispatchSourceTimerNames {
  @Test func anAdapterTakesTheCallsOfASource() async {
    let ticks = Counter(), once = Counter()
    let adapters = [
      DispatchSourceTimerAdapter(label: "one"), DispatchSourceTimerAdapterFactory().makeTimer(label: "two"),
    ]
    for adapter in adapters { adapter.setEventHandler(handler: { ticks.add() }) }
    adapters[0].schedule(repeating: 0.001)
    adapters[1].schedule(deadline: .now(), repeating: .milliseconds(1))
    for adapter in adapters { adapter.activate() }
    #expect(await soon { ticks.value >= 4 })
    for adapter in adapters { adapter.cancel() }
    let last = DispatchSourceTimerAdapter(label: "three")
    last.setEventHandler(handler: nil)
    last.setEventHandler { once.add() }
    last.schedule(repeating: .infinity)
    last.activate()
    #expect(await soon { once.value == 1 })
    last.cancel()
  }

  @Test func secondsMakeTheScheduleThatIntervalsMake() throws {
    let deadline = DispatchTime(uptimeNanoseconds: 7)
    let leeway = DispatchTimeInterval.milliseconds(5)
    #expect(try Schedule(repeating: 0.5) == Schedule(repeating: .milliseconds(500)))
    #expect(
      try Schedule(deadline: deadline, repeating: 0.5, leeway: leeway)
        == Schedule(deadline: deadline, repeating: .milliseconds(500), leeway: leeway))
    #expect(try Schedule(deadline: deadline, repeating: .infinity) == Schedule(deadline: deadline))
    for seconds in [-1, 0, 1e10, .nan, -.infinity] {
      #expect(throws: ChimeError.invalidArgument) { try Schedule(deadline: deadline, repeating: seconds) }
      #expect(throws: ChimeError.invalidArgument) { try Schedule(repeating: seconds) }
    }
    #expect(throws: ChimeError.invalidArgument) { try Schedule(repeating: .infinity) }
  }
}

@Suite("SwiftTimer") struct SwiftTimer {
  /// The original forgets its leeway there.
  @Test func rescheduleRepeatingKeepsTheLeeway() throws {
    let queue = try VirtualTimerQueue(honoursLeeway: true)
    let late = Log<Duration>()
    // Due at odd times; with leeway they come together, without it each at its own time.
    let timer = try queue.schedule(every: .milliseconds(1013), leeway: .milliseconds(500)) {
      late.add($0.actual - $0.scheduled)
    }
    func isLate(after change: () throws -> ChimeTimer.Outcome) throws -> Bool {
      #expect(try change() == .done)
      return try late.during(.seconds(10), on: queue).contains { $0 > .zero }
    }
    #expect(try isLate { try timer.reschedule(every: .milliseconds(1017)) })
    #expect(try !isLate { try timer.reschedule(every: .milliseconds(1013), leeway: .zero) })
    // A new one can be given, and one that is too long for the new interval is shortened.
    #expect(try isLate { try timer.reschedule(every: .milliseconds(1013), leeway: .milliseconds(500)) })
    _ = try isLate { try timer.reschedule(every: .milliseconds(13)) }
    #expect(throws: ChimeError.invalidArgument) { try timer.reschedule(every: .seconds(1), leeway: .seconds(1)) }
    #expect(throws: ChimeError.invalidArgument) { try timer.reschedule(every: .seconds(1), leeway: .seconds(-1)) }
  }

  @Test func rescheduleRepeatingKeepsTheLimitAndThePolicies() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<UInt64>()
    let timer = try queue.schedule(.every(.seconds(1), limit: 3, missed: .delay)) { ticks.add($0.missed) }
    try queue.advanceTimers(by: .seconds(2))
    try timer.reschedule(every: .seconds(2))
    try queue.jump(by: .seconds(60))
    try queue.advanceTimers(by: .seconds(60))
    #expect(ticks.all == [0, 0, 0, 0, 0] && timer.state == .finished)

    let held = try queue.schedule(.every(.seconds(10), resume: .remaining)) { ticks.add($0.missed) }
    try held.reschedule(every: .seconds(4))
    try queue.advanceTimers(by: .seconds(3))
    held.suspend()
    try queue.advanceTimers(by: .seconds(60))
    held.resume()
    #expect(held.nextDeadline == queue.now + .seconds(1))
  }
}

import ChimeTestSupport
import Dispatch
import Testing

@testable import Chime
import ChimeCompat
@testable import ChimeCore

private typealias Machine = DispatchSourceTimerMachine

/// The machine in its handler and with threads that meet, and what it holds. (Its end in each state of a real source:
/// `DispatchSourceTimerMachineTests`. That no stale delivery is a tick: the rules of `TimerAdapterTests`.)
@Suite("Serialized operations", .serialized) struct DispatchSourceTimerMachineThreadsTests {
  // MARK: In the handler

  @Test func insideTheHandlerCallsTakeEffectAndSayBusy() throws {
    let factory = RecordingTimerAdapterFactory()
    let outcomes = Log<ChimeTimer.Outcome>()
    let held = Locked<Machine?>(nil)
    let machine = Machine(factory: factory) {
      let machine = held.withLock { $0! }
      // A one-shot is finished before its handler starts, so it may be activated again.
      outcomes.add(machine.cancel())
      outcomes.add((try? machine.activate(deadline: DispatchTime(uptimeNanoseconds: 3000)))!)
      for call in [machine.suspend, machine.resume, machine.cancel, machine.cancel] { outcomes.add(call()) }
    }
    held.withLock { $0 = machine }
    try machine.activate(deadline: DispatchTime(uptimeNanoseconds: 2000))
    factory.deliver(at: 2000)
    #expect(outcomes.all == [.ignoredRunning, .running, .running, .running, .running, .ignoredRunning])
    #expect(machine.state == .cancelled)
    #expect(try machine.restart() == .done)
    held.withLock { $0 = nil }
  }

  /// The system that it comes from waits for its private queue in deinit, where it may already be.
  @Test(arguments: [false, true])
  func releasedInsideItsHandlerItStopsAndFreesTheHandlerAfterIt(_ suspends: Bool) async throws {
    let alive = Counter(), ticks = Counter(), stillHeld = Counter()
    let held = Locked<Machine?>(nil)
    func handler() -> @Sendable () -> Void {
      { [capture = Counted(alive)] in
        ticks.add()
        held.withLock { machine in
          if suspends { machine?.suspend() }
          machine = nil
        }
        stillHeld.add(capture.alive.value)
      }
    }
    // The only reference, which the first tick waits for.
    try held.withLock { machine in
      machine = Machine(queue: DispatchQueue(label: "release"))
      try machine?.activate(repeatTimeInterval: .milliseconds(1), handler: handler())
    }
    #expect(await soon { alive.value == 0 })  // a handler that has gone runs no more
    #expect(ticks.value == 1 && stillHeld.value == 1)
  }

  // MARK: What it holds

  @Test func capturesAreReleasedOnceByCancelByTheNextHandlerAndByDeinit() throws {
    /// Looks at its machine when it goes, which would deadlock under the machine's lock.
    final class Canary: Counted, @unchecked Sendable {
      weak let machine: Machine?
      init(_ alive: Counter, _ machine: Machine) {
        self.machine = machine
        super.init(alive)
      }
      deinit { _ = machine?.state }
    }
    let factory = RecordingTimerAdapterFactory()
    let alive = Counter(), standing = Counter()
    weak var gone: Machine?
    try {
      let machine = Machine(factory: factory, handler: capturing(standing))
      gone = machine
      func handler() -> @Sendable () -> Void {
        { [canary = Canary(alive, machine)] in withExtendedLifetime(canary) {} }
      }
      try machine.activate(deadline: .distantFuture, handler: handler())
      #expect(alive.value == 1)
      machine.cancel()
      #expect(alive.value == 0)
      try machine.activate(deadline: .distantFuture, handler: handler())
      try machine.activate(deadline: .distantFuture, handler: handler())
      #expect(alive.value == 1, "an ignored call lets go of its own handler only")
      try machine.restart(deadline: .distantFuture, handler: handler())
      #expect(alive.value == 1)
      #expect(throws: Machine.ScheduleError.intervalNotPositive) {
        try machine.restart(deadline: .now(), repeating: .seconds(0), handler: handler())
      }
      #expect(alive.value == 1 && standing.value == 1)
    }()
    #expect(gone == nil)
    #expect(alive.value == 0 && standing.value == 0)
    #expect(factory.violations.all == [])
  }

  // MARK: Races and real time

  /// As many suspends as resumes took effect, except the last.
  @Test func suspendsAndResumesOfManyThreadsAreOneSequence() async throws {
    let ticks = Counter(), sum = Counter()
    let machine = Machine(queue: DispatchQueue(label: "many"))
    func race() async throws {
      try await onAThread {
        onNewThreads(4) { number in
          for _ in 0..<1000 where !(number % 2 == 0 ? machine.suspend() : machine.resume()).isIgnored {
            sum.add(number % 2 == 0 ? 1 : -1)
          }
        }
      }
    }
    try machine.activate(deadline: .distantFuture) {}
    try await race()
    #expect(sum.value == (machine.state == .suspended ? 1 : 0))
    try machine.restart(deadline: .now(), repeating: .microseconds(100)) { ticks.add() }
    try await race()
    machine.resume()
    let before = ticks.value
    #expect(await soon { ticks.value > before + 3 })
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
    #expect(try machine.activate(deadline: .now()) { second.add() } == .running)
    machine.cancel()
    #expect(try machine.activate(deadline: .now()) { second.add() } == .running)
    #expect(machine.fire() == .running)
    let later = Counter()  // ticks that are due after all that is due there now
    let other = Machine(queue: queue) { later.add() }
    try other.activate(deadline: .now() + .milliseconds(3), repeating: .milliseconds(1))
    #expect(await soon { later.value >= 3 })
    #expect(second.value == 0)
    gate.signal()
    #expect(await soon { second.value == 2 })
  }
}

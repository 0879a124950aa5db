import Chime
import Dispatch
import ChimeTestSupport
import Foundation
import Testing

/// The systems around a `DispatchSourceTimer`: the state machine, its serialized operations, the adapter that is
/// injected, and the bare source itself.

@Suite("DispatchSourceTimerMachine", .serialized) struct DispatchSourceTimerMachineSystem {
  @Test(.tags(.promise1AnyOrder, .promise2Linearizable))
  func theUsualCallsAndTheirStatesWhichCanBeReadBackAtOnce() async throws {
    let ticks = Counter()
    let machine = DispatchSourceTimerMachine(queue: DispatchQueue(label: "machine"))
    #expect(machine.state == .idle)
    #expect(try machine.activate(repeatTimeInterval: .milliseconds(1)) { ticks.add() } == .done)
    #expect(machine.state == .running)
    #expect(await soon { ticks.value >= 3 })
    #expect(machine.suspend() != .ignored && machine.state == .suspended)
    #expect(machine.resume() != .ignored && machine.state == .running)
    let before = ticks.value
    #expect(await soon { ticks.value > before })
    #expect(machine.cancel() != .ignored && machine.state == .cancelled)
  }

  @Test(.tags(.promise1AnyOrder)) func aCallInTheWrongStateIsIgnored() throws {
    let machine = DispatchSourceTimerMachine()
    #expect(machine.suspend() == .ignored && machine.resume() == .ignored && machine.cancel() == .ignored)
    try machine.activate(repeatTimeInterval: .seconds(3600)) {}
    #expect(try machine.activate(repeatTimeInterval: .seconds(1)) {} == .ignored)
    #expect(machine.resume() == .ignored)
    #expect(machine.suspend() == .done && machine.suspend() == .ignored)
    #expect(machine.cancel() == .done && machine.cancel() == .ignored && machine.resume() == .ignored)
  }

  @Test(.tags(.promise3NeverEarly)) func theFirstTickComesAfterTheIntervalAndNotAtOnce() throws {
    let factory = RecordingTimerFactory()
    let ticks = Counter()
    let machine = DispatchSourceTimerMachine(factory: factory)
    try machine.activate(repeatTimeInterval: .nanoseconds(500)) { ticks.add() }
    #expect(factory.calls.all.contains("schedule at 1500 every 500"))
    factory.tick()
    factory.setNow(1499)
    factory.tick()
    #expect(ticks.value == 0)
    factory.setNow(1500)
    factory.tick()
    #expect(ticks.value == 1)
  }

  @Test(.tags(.promise1AnyOrder), arguments: TimerState.allCases)
  func theLastReferenceMayGoInEveryState(_ state: TimerState) async throws {
    let captured = Counter()
    do {
      let capture = Counted(captured)
      let machine = DispatchSourceTimerMachine(queue: DispatchQueue(label: "release")) {
        withExtendedLifetime(capture) {}
      }
      let far = DispatchTime.now() + .seconds(3600)
      if state != .idle { try machine.activate(deadline: state == .finished ? .now() : far) }
      if state == .suspended { machine.suspend() }
      if state == .cancelled { machine.cancel() }
      if state == .finished { #expect(await soon { machine.state == .finished }) }
      #expect(machine.state == state)
    }
    #expect(await soon { captured.value == 0 })
  }
}

@Suite("Serialized operations", .serialized) struct SerializedOperations {
  /// As many suspends as resumes took effect, but for the last.
  @Test(.tags(.promise1AnyOrder, .promise2Linearizable))
  func transitionsFromManyThreadsAndTheHandlerAreOneSequence() async throws {
    let queue = try TimerQueue()
    let machineTicks = Counter(), timerTicks = Counter()
    let machine = DispatchSourceTimerMachine(queue: DispatchQueue(label: "many"))
    let timer = try queue.makeTimer { _ in timerTicks.add() }
    try machine.activate(repeatTimeInterval: .microseconds(100)) { machineTicks.add() }
    try timer.activate(.every(.microseconds(100)))
    let machineSum = Counter(), timerSum = Counter()
    try await onAThread {
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        for _ in 0..<1000 {
          if number % 2 == 0 {
            if machine.suspend() != .ignored { machineSum.add(1) }
            if (try? timer.suspend()) != .ignored { timerSum.add(1) }
          } else {
            if machine.resume() != .ignored { machineSum.add(-1) }
            if (try? timer.resume()) != .ignored { timerSum.add(-1) }
          }
        }
      }
    }
    #expect(machineSum.value == (machine.state == .suspended ? 1 : 0))
    #expect(timerSum.value == (timer.state == .suspended ? 1 : 0))
    machine.resume()
    try timer.resume()
    #expect(await soon { machineTicks.value > 0 && timerTicks.value > 0 })
  }

  /// The original waits for its private queue in deinit, where it may already be.
  @Test(.tags(.promise9Handlers)) func releaseOnItsOwnQueueAndInItsOwnHandlerWaitsForNothing() async throws {
    let host = DispatchQueue(label: "own")
    let holder = Locked<DispatchSourceTimerMachine?>(nil)
    let released = Counter()
    let machine = DispatchSourceTimerMachine(queue: host)
    holder.withLock { $0 = machine }
    try machine.activate(repeatTimeInterval: .milliseconds(1)) {
      let last = holder.withLock { holder in
        defer { holder = nil }
        return holder
      }
      if last != nil { released.add() }
    }
    #expect(await soon { released.value == 1 })
    try await onAThread {
      try host.sync {
        for _ in 0..<100 {
          let machine = DispatchSourceTimerMachine(queue: host)
          try machine.activate(repeatTimeInterval: .milliseconds(1)) {}
        }
      }
    }
  }
}

@Suite("TimerAdapter and factory") struct TimerAdapterAndFactory {
  @Test func aRecordingFakeIsInjectedAndSeesEachCall() throws {
    let factory = RecordingTimerFactory()
    let ticks = Counter()
    do {
      let machine = DispatchSourceTimerMachine(factory: factory) { ticks.add() }
      try machine.activate(repeatTimeInterval: .nanoseconds(100))
      machine.suspend()
      machine.resume()
      factory.setNow(1100)
      factory.tick()
      machine.cancel()
      #expect(machine.state == .cancelled)
    }
    #expect(ticks.value == 1)
    #expect(
      factory.calls.all == [
        "make", "schedule at 1100 every 100", "activate", "suspend", "schedule at 1100 every 100", "resume", "cancel",
        "release",
      ])
  }
}

@Suite("Plain DispatchSourceTimer", .serialized) struct PlainDispatchSourceTimer {
  enum Place: CaseIterable { case main, global, custom, concurrent }

  static func queue(_ place: Place) throws -> TimerQueue {
    switch place {
    case .main: try TimerQueue(on: .main)
    case .global: try TimerQueue(on: .global(qos: .utility))
    case .custom: try TimerQueue(on: DispatchQueue(label: "custom"))
    case .concurrent: try TimerQueue(on: DispatchQueue(label: "concurrent", attributes: .concurrent))
    }
  }

  @Test(.tags(.promise3NeverEarly), arguments: Place.allCases)
  func repeatingWithLeewayAndRegistrationHandler(_ place: Place) async throws {
    let queue = try Self.queue(place)
    let events = Log<String>()
    let timer = try queue.makeTimer(
      registrationHandler: { events.add("registered") },
      cancelHandler: { events.add("cancelled") },
      handler: { tick in
        #expect(tick.actual >= tick.scheduled)
        if place == .main { MainActor.assertIsolated() }
        events.add("tick")
      })
    try timer.activate(Schedule(repeating: .milliseconds(2), leeway: .milliseconds(1)))
    #expect(await soon { events.count >= 4 })
    try timer.cancel()
    #expect(await soon { events.all.last == "cancelled" })
    #expect(events.all.first == "registered")
    #expect(events.all.count { $0 == "registered" } == 1 && events.all.count { $0 == "cancelled" } == 1)
  }

  @Test(arguments: Place.allCases) func aOneShotAtADispatchTime(_ place: Place) async throws {
    let queue = try Self.queue(place)
    let ticks = Counter()
    let due = DispatchTime.now() + .milliseconds(5)
    let timer = try queue.start(Schedule(deadline: due)) { _ in
      #expect(DispatchTime.now() >= due)
      ticks.add()
    }
    #expect(await soon { ticks.value == 1 })
    #expect(timer.state == .finished)
  }

  @MainActor final class Label {
    private(set) var text = "0"
    private var timer: ChimeTimer?
    func start(on queue: MainTimerQueue) throws {
      timer = try queue.every(.milliseconds(1), target: self) { label, tick in label.text = "\(tick.sequence)" }
    }
  }

  @Test @MainActor func handlersOfTheMainQueueAreOnTheMainActor() async throws {
    let queue = try MainTimerQueue()
    let label = Label()
    try label.start(on: queue)
    #expect(await soon { label.text != "0" })
    withExtendedLifetime(queue) {}
  }

  /// On Linux a program whose `main` is async, such as this one, has no main thread any more: its main queue is drained
  /// by others. Who stands on it must not wait for it.
  @Test(.tags(.promise1AnyOrder)) @MainActor func mainActorCodeIsOnTheMainQueueOnAnyThread() async throws {
    await Task.yield()
    let queue = try TimerQueue(on: .main)
    try #require(QueueCore.sync(queue.id, timeout: 0) {} == .ok)
    #expect(try queue.shutdown() == .done)
    #expect(try SerialTimerQueue(on: .main).isIsolatingCurrentContext() == true)
    let elsewhere = try await onAThread { try SerialTimerQueue(on: .main).isIsolatingCurrentContext() }
    #expect(elsewhere == false)
  }

  /// Each of them is a SIGILL with the bare source.
  @Test(.tags(.promise1AnyOrder)) func whatTrapsWithTheBareSourceIsAnswered() throws {
    let queue = try TimerQueue(on: DispatchQueue(label: "traps"))
    let running = try queue.every(.seconds(3600)) { _ in }
    #expect(try running.resume() == .ignored)
    #expect(try running.cancel() == .done && running.resume() == .ignored && running.cancel() == .ignored)
    do {
      let suspended = try queue.every(.seconds(3600)) { _ in }
      try suspended.suspend()
      _ = try queue.makeTimer { _ in }  // never activated
    }
    #expect(throws: ChimeError.invalidArgument) { try Schedule(repeating: .nanoseconds(-1)) }
    #expect(throws: ChimeError.invalidArgument) { try Schedule(repeating: .seconds(1), leeway: .seconds(-1)) }
    #expect(throws: ChimeError.invalidArgument) { try Schedule(timeInterval: .nan, repeats: true) }
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.zero) { _ in } }  // spins there
  }
}

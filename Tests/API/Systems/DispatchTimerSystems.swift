import Chime
import Dispatch
import ChimeTestSupport
import Foundation
import Testing

/// The systems around a `DispatchSourceTimer`: the state machine, its serialized operations, the adapter that is
/// injected, and the bare source itself.

@Suite("DispatchSourceTimerMachine", .serialized) struct DispatchSourceTimerMachineSystem {
  @Test func theUsualCallsAndTheirStatesWhichCanBeReadBackAtOnce() async throws {
    let ticks = Counter()
    var machine: DispatchSourceTimerMachine? = DispatchSourceTimerMachine(queue: DispatchQueue(label: "machine"))
    #expect(machine?.state == .idle)
    #expect(try machine?.activate(repeatTimeInterval: .milliseconds(1)) { ticks.add() } == .done)
    #expect(machine?.state == .running)
    #expect(await soon { ticks.value >= 3 })
    #expect(machine?.suspend() != .ignored && machine?.state == .suspended)
    #expect(machine?.resume() != .ignored && machine?.state == .running)
    let before = ticks.value
    #expect(await soon { ticks.value > before })
    #expect(machine?.suspend() != .ignored && machine?.suspend() == .ignored)
    #expect(machine?.cancel() != .ignored && machine?.state == .cancelled)
    let alive = Counter()
    #expect(try machine?.activate(repeatTimeInterval: .seconds(3600), handler: capturing(alive)) != .ignored)
    #expect(machine?.suspend() != .ignored && alive.value == 1)
    machine = nil  // the original's source must not be freed while it is suspended
    #expect(await soon { alive.value == 0 })
  }
}

@Suite("Serialized operations", .serialized) struct SerializedOperations {
  /// As many suspends as resumes took effect, but for the last.
  @Test func transitionsFromManyThreadsAndTheHandlerAreOneSequence() async throws {
    let ticks = Counter(), sum = Counter()
    let machine = DispatchSourceTimerMachine(queue: DispatchQueue(label: "many"))
    try machine.activate(repeatTimeInterval: .microseconds(100)) { ticks.add() }
    try await onAThread {
      DispatchQueue.concurrentPerform(iterations: 4) { number in
        for _ in 0..<1000 {
          if number % 2 == 0 {
            if machine.suspend() != .ignored { sum.add(1) }
          } else {
            if machine.resume() != .ignored { sum.add(-1) }
          }
        }
      }
    }
    #expect(sum.value == (machine.state == .suspended ? 1 : 0))
    machine.resume()
    #expect(await soon { ticks.value > 0 })
  }

  /// The original waits for its private queue in deinit, where it may already be.
  @Test func releaseOnItsOwnQueueWaitsForNothing() async throws {
    try await onAThread {
      let host = DispatchQueue(label: "own")
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
    let factory = RecordingTimerAdapterFactory()
    let ticks = Counter()
    do {
      let machine = DispatchSourceTimerMachine(timerFactory: factory) { ticks.add() }
      try machine.activate(repeatTimeInterval: .nanoseconds(100))
      machine.suspend()
      machine.resume()
      factory.deliver(at: 1100)
      machine.cancel()
    }
    #expect(ticks.value == 1)
    let calls = "make handler 1100/100 activate suspend 1100/100 resume cancel release"
    #expect(factory.calls.all.joined(separator: " ") == calls)
  }
}

@Suite("Plain DispatchSourceTimer", .serialized) struct PlainDispatchSourceTimer {
  static let queues: [(name: String, DispatchQueue)] = [
    ("main", .main), ("global", .global(qos: .utility)), ("custom", DispatchQueue(label: "custom")),
    ("concurrent", DispatchQueue(label: "concurrent", attributes: .concurrent)),
  ]

  @Test(arguments: queues)
  func repeatingWithLeewayAndRegistrationHandler(name: String, dispatchQueue: DispatchQueue) async throws {
    let queue = try TimerQueue(on: dispatchQueue)
    let events = Log<String>()
    let timer = try queue.makeTimer(
      registrationHandler: { events.add("registered") },
      cancelHandler: { events.add("cancelled") },
      handler: { tick in
        #expect(tick.actual >= tick.scheduled)
        if name == "main" { MainActor.assertIsolated() }
        events.add("tick")
      })
    try timer.activate(Schedule(repeating: .milliseconds(2), leeway: .milliseconds(1)))
    #expect(await soon { events.count >= 4 })
    try timer.cancel()
    #expect(await soon { events.all.last == "cancelled" })
    #expect(events.all.first == "registered")
    #expect(events.all.count { $0 == "registered" } == 1 && events.all.count { $0 == "cancelled" } == 1)
  }

  @Test func aOneShotAtADispatchTime() async throws {
    let due = DispatchTime.now() + .milliseconds(5)
    let queue = try TimerQueue()
    let timer = try queue.start(Schedule(deadline: due)) { _ in #expect(DispatchTime.now() >= due) }
    #expect(await soon { timer.state == .finished })
    withExtendedLifetime(queue) {}
  }

  @Test @MainActor func handlersOfTheMainQueueAreOnTheMainActor() async throws {
    let queue = try MainTimerQueue()
    var ticks = 0
    let timer = try queue.every(.milliseconds(1)) { _ in ticks += 1 }
    #expect(await soon { ticks > 0 })
    withExtendedLifetime((queue, timer)) {}
  }

  /// On Linux a program whose `main` is async, such as this one, has no main thread any more: its main queue is drained
  /// by others. Who stands on it must not wait for it.
  @Test @MainActor func mainActorCodeIsOnTheMainQueueOnAnyThread() async throws {
    await Task.yield()
    let queue = try TimerQueue(on: .main)
    try #require(QueueCore.sync(queue.id, timeout: 0) {} == .ok)
    #expect(try queue.shutdown() == .done)
    #expect(try SerialTimerQueue(on: .main).isIsolatingCurrentContext() == true)
    let elsewhere = try await onAThread { try SerialTimerQueue(on: .main).isIsolatingCurrentContext() }
    #expect(elsewhere == false)
  }

  /// Each of them is a SIGILL with the bare source.
  @Test func whatTrapsWithTheBareSourceIsAnswered() throws {
    let queue = try TimerQueue(on: DispatchQueue(label: "traps"))
    let running = try queue.every(.seconds(3600)) { _ in }
    #expect(try running.resume() == .ignored)
    #expect(try running.cancel() == .done && running.resume() == .ignored && running.cancel() == .ignored)
    do {
      let suspended = try queue.every(.seconds(3600)) { _ in }
      try suspended.suspend()
      _ = try queue.makeTimer { _ in }  // never activated
    }
    #expect(throws: ChimeError.invalidArgument) { try queue.every(.zero) { _ in } }  // spins there
  }
}

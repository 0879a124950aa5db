import Chime
import ChimeCompat
import ChimeCore
import Dispatch
import ChimeTestSupport
import Foundation
import Testing

/// The bare `DispatchSourceTimer`. (The state machine around it, its serialized operations, and the adapter that is
/// injected: ChimeCoreTests.)

@Suite("Plain DispatchSourceTimer", .serialized) struct PlainDispatchSourceTimer {
  static let queues: [(name: String, DispatchQueue)] = [
    ("main", .main), ("global", .global(qos: .utility)), ("custom", DispatchQueue(label: "custom")),
    ("concurrent", DispatchQueue(label: "concurrent", attributes: .concurrent)),
  ]

  @Test(arguments: queues)
  func repeatingWithLeewayAndRegistrationHandler(name: String, dispatchQueue: DispatchQueue) async throws {
    let queue = try TimerQueue(dispatchQueue: dispatchQueue)
    let events = Log<String>()
    let timer = try queue.makeTimer(
      handlers: {
        .init(registration: { events.add("registered") }, cancel: { events.add("cancelled") }) { tick in
          #expect(tick.actual >= tick.scheduled)
          if name == "main" { MainActor.assertIsolated() }
          events.add("tick")
        }
      })
    try timer.activate(Schedule(repeating: .milliseconds(2), leeway: .milliseconds(1)))
    #expect(await soon { events.count >= 4 })
    timer.cancel()
    #expect(await soon { events.all.last == "cancelled" })
    #expect(events.all.first == "registered")
    #expect(events.all.count { $0 == "registered" } == 1 && events.all.count { $0 == "cancelled" } == 1)
  }

  @Test func aOneShotAtADispatchTime() async throws {
    let due = DispatchTime.now() + .milliseconds(5)
    let queue = try TimerQueue()
    let timer = try queue.schedule(Schedule(deadline: due)) { _ in #expect(DispatchTime.now() >= due) }
    #expect(await soon { timer.state == .finished })
    withExtendedLifetime(queue) {}
  }

  /// On Linux a program whose `main` is async, such as this one, has no main thread any more: its main queue is drained
  /// by others. Who stands on it must not wait for it.
  @Test @MainActor func mainActorCodeIsOnTheMainQueueOnAnyThread() async throws {
    await Task.yield()
    let queue = try TimerQueue(dispatchQueue: .main)
    try #require(QueueCore.sync(queue.id, timeout: 0) {} == .ok)
    #expect(try await queue.shutdown() == .done)
    #expect(try SerialTimerQueue(dispatchQueue: .main).isIsolatingCurrentContext() == true)
    let elsewhere = try await onAThread { try SerialTimerQueue(dispatchQueue: .main).isIsolatingCurrentContext() }
    #expect(elsewhere == false)
  }

  /// Each of them is a SIGILL with the bare source.
  @Test func whatTrapsWithTheBareSourceIsAnswered() throws {
    let queue = try TimerQueue(dispatchQueue: DispatchQueue(label: "traps"))
    let running = try queue.schedule(every: .seconds(3600)) { _ in }
    #expect(running.resume() == .ignored)
    #expect(running.cancel() == .done && running.resume() == .ignored && running.cancel() == .ignored)
    do {
      let suspended = try queue.schedule(every: .seconds(3600)) { _ in }
      suspended.suspend()
      _ = try queue.makeTimer { _ in }  // never activated
    }
    #expect(throws: ChimeError.invalidArgument) { try queue.schedule(every: .zero) { _ in } }  // spins there
  }
}

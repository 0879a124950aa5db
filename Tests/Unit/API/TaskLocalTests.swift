import Chime
import ChimeTestSupport
import Testing

/// Task-local values of the code that makes an asynchronous handler. A call begins in a tick, where there is no task: so it has
/// none of them. What a handler needs it captures, and binds; a task that reads ticks keeps all.
@Suite(.timeLimit(.minutes(20))) struct TaskLocalTests {
  enum Request {
    @TaskLocal static var id = "none"
  }

  /// What handlers have seen, without a binding and with one.
  actor Service {
    private(set) var seen: [String: [String]] = [:]
    private var timers: [ChimeTimer] = []
    private var actions: [TriggeredAction] = []
    private var reader: Task<Void, any Error>?
    private let own: SerialTimerQueue?
    private let fallback = Fallback()
    actor Fallback {}

    init(on queue: AnyTimerQueue) { own = queue as? SerialTimerQueue }

    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe own?.asUnownedSerialExecutor() ?? fallback.unownedExecutor
    }

    func start(on queue: AnyTimerQueue) throws {
      let id = Request.id
      timers.append(
        try queue.scheduleTask(.once(after: .milliseconds(1))) { _ in
          let bare = Request.id
          await Request.$id.withValue(id) {
            await Task.yield()
            self.seen["scheduleTask"] = [bare, Request.id]
          }
        })
      timers.append(
        try queue.scheduleTask(.once(after: .milliseconds(1)), actor: self) { service, _ in
          let bare = Request.id
          await Request.$id.withValue(id) {
            await Task.yield()
            service.seen["scheduleTask, actor"] = [bare, Request.id]
          }
        })
      actions.append(
        try TriggeredAction(
          .throttle(.milliseconds(1)), on: queue,
          task: {
            let bare = Request.id
            await Request.$id.withValue(id) {
              await Task.yield()
              self.seen["action"] = [bare, Request.id]
            }
          }))
      let other = try TriggeredAction(.throttle(.milliseconds(1)), on: queue)
      other.setAction(on: self) { service in
        let bare = Request.id
        await Request.$id.withValue(id) {
          await Task.yield()
          service.seen["setAction"] = [bare, Request.id]
        }
      }
      actions.append(other)
      for action in actions { action.trigger() }
      reader = Task {
        for await _ in try queue.ticks(.once(after: .milliseconds(1))) { self.seen["ticks"] = [Request.id] }
      }
    }

    /// What handlers capture goes with them.
    func stop() {
      reader?.cancel()
      (timers, actions, reader) = ([], [], nil)
    }
  }

  @Test(arguments: TaskCallTests.Kind.allCases) func aHandlerHasTheValuesThatItBinds(
    _ kind: TaskCallTests.Kind
  ) async throws {
    let queue = try kind.make()
    let service = Service(on: queue)
    try await Request.$id.withValue("request 17") { try await service.start(on: queue) }
    for _ in 0..<30_000 {
      if await service.seen.count == 5 { break }
      try await Task.sleep(for: .milliseconds(1))
    }
    let bound = ["none", "request 17"]
    #expect(
      await service.seen == [
        "scheduleTask": bound, "scheduleTask, actor": bound, "action": bound, "setAction": bound,
        "ticks": ["request 17"],
      ])
    await service.stop()
    try await queue.shutdown()
  }

  /// Why nobody may rely on a value that a test sees: `advance` is called in a task, and calls may begin in it.
  @Test func onVirtualTimeACallHasTheValuesOfWhoMovesTime() async throws {
    let (queue, log) = (try VirtualTimerQueue(), Log<String>())
    let timer = try Request.$id.withValue("maker") {
      try queue.scheduleTask(.every(.seconds(1))) { _ in log.add(Request.id) }
    }
    try await queue.advance(by: .seconds(1))
    try await Request.$id.withValue("mover") { try await queue.advance(by: .seconds(1)) }
    #expect(log.all == ["none", "mover"] && timer.cancel() == .done)
  }
}

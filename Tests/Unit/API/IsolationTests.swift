import Chime
import ChimeTestSupport
import Testing

/// Asynchronous handlers are isolated as the code around them is: what a `Task` could use there, they can use, too.
@Suite(.timeLimit(.minutes(20))) struct IsolationTests {
  @MainActor final class Model {
    private(set) var ticks = 0
    private(set) var saves = 0
    private var (timer, saving): (ChimeTimer?, TriggeredAction?)

    func start(on queue: AnyTimerQueue) throws {
      timer = try queue.scheduleTask(.every(.milliseconds(1), limit: 2)) { [weak self] _ in
        self?.ticks += 1
        await Task.yield()
        MainActor.assertIsolated()
      }
      saving = try TriggeredAction(.throttle(.milliseconds(1)), on: queue, task: { [weak self] in self?.saves += 1 })
      saving?.trigger()
    }
  }

  actor Counting {
    private(set) var ticks = 0
    private(set) var saves = 0
    private var (timer, saving): (ChimeTimer?, TriggeredAction?)

    func start(on queue: AnyTimerQueue) throws {
      timer = try queue.scheduleTask(.every(.milliseconds(1), limit: 2)) { _ in
        self.ticks += 1
        await Task.yield()
        self.assertIsolated()
      }
      saving = try TriggeredAction(.throttle(.milliseconds(1)), on: queue, task: { self.saves += 1 })
      saving?.trigger()
    }

    /// What handlers capture goes with them.
    func stop() { (timer, saving) = (nil, nil) }
  }

  @Test(arguments: TaskCallTests.Kind.allCases) func handlersUseTheStateOfTheCodeAroundThem(
    _ kind: TaskCallTests.Kind
  ) async throws {
    let queue = try kind.make()
    let counting = Counting()
    let model = Model()
    try await model.start(on: queue)
    try await counting.start(on: queue)
    for _ in 0..<3000 {
      if await model.ticks > 0, await model.saves > 0, await counting.ticks > 0, await counting.saves > 0 { break }
      try await Task.sleep(for: .milliseconds(1))
    }
    // A tick that comes late counts for the one that was missed.
    let ticks = await [model.ticks, counting.ticks]
    let saves = await [model.saves, counting.saves]
    #expect(ticks.allSatisfy((1...2).contains) && saves == [1, 1])
    await counting.stop()
    try await queue.shutdown()
  }

  /// An actor's action is made in its `init`, and never changes.
  actor Store {
    nonisolated let saving: TriggeredAction
    private(set) var written = 0

    init(on queue: AnyTimerQueue) throws {
      saving = try TriggeredAction(.throttle(.milliseconds(1), leading: false), on: queue)
      saving.setAction(on: self) { store in
        store.assertIsolated()
        store.written += 1
      }
    }
  }

  @Test(arguments: TaskCallTests.Kind.allCases) func anActorStoresAnActionAsAConstant(
    _ kind: TaskCallTests.Kind
  ) async throws {
    let queue = try kind.make()
    var store: Store? = try Store(on: queue)
    let saving = try #require(store?.saving)
    saving.trigger()
    try await saving.flush()
    #expect(await store?.written == 1)
    store = nil
    saving.trigger()
    try await saving.flush()  // there is nothing to wait for
    #expect(!saving.isPending)
    try await queue.shutdown()
  }

  /// What is triggered before there is an action waits for it; a new one takes the place of the one before.
  @Test func whatIsTriggeredWaitsForItsAction() async throws {
    actor Home {}
    let (queue, log, home, alive) = (try VirtualTimerQueue(), Log<String>(), Home(), Counter())
    let action = try TriggeredAction(.throttle(.seconds(1)), on: queue)
    action.trigger()
    try await queue.advance(by: .seconds(2))
    #expect(action.isPending)
    action.setAction(on: home) { [held = Counted(alive)] _ in
      withExtendedLifetime(held) {}
      log.add("first")
    }
    try await queue.advance(by: .zero)
    #expect(log.take() == ["first"] && !action.isPending && alive.value == 1)
    action.setAction(on: home) { [held = Counted(alive)] _ in
      withExtendedLifetime(held) {}
      log.add("second")
    }
    #expect(alive.value == 1)
    action.trigger()
    try await queue.advance(by: .seconds(2))
    #expect(log.take() == ["second"])
    try await queue.shutdown()
    #expect(alive.value == 0)
    // One that was made with its action keeps it.
    let other = try VirtualTimerQueue()
    let own = try TriggeredAction(.throttle(.seconds(1)), on: other) { log.add("own") }
    own.setAction(on: home) { _ in log.add("another") }
    own.trigger()
    try await other.advance(by: .seconds(1))
    #expect(log.take() == ["own"])
  }
}

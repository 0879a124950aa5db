import Chime
import ChimeDiagnostics
import ChimeTestSupport
import Foundation
import Testing

/// What stands above timers and waits for tasks: handlers on actors, asynchronous handlers, executors; and where runs of
/// virtual time end. (That it is exact, again and again, and that retries wait so long: Tests/Unit/VirtualTime.)
@Suite(.timeLimit(.minutes(20))) struct TaskTests {
  let queue: VirtualTimerQueue
  let clock: TimerQueueClock
  let log = Log<String>()

  init() throws {
    queue = try VirtualTimerQueue()
    clock = queue.clock
  }

  private var now: Int64 { queue.now.nanoseconds / 1_000_000 }

  actor Model {
    var ticks: [UInt64] = []
    func add(_ sequence: UInt64) { ticks.append(sequence) }
  }

  // MARK: Handlers

  @Test func aHandlerOnAnActorUsesItsStateAndEndsWithIt() async throws {
    var model: Model? = Model()
    let timer = try queue.scheduleTask(.every(.seconds(1)), actor: try #require(model)) { model, tick in
      model.add(tick.sequence)
    }
    let once = try queue.scheduleTask(.once(after: .milliseconds(2500)), actor: try #require(model)) { model, _ in
      model.add(100)
    }
    try await queue.advance(by: .seconds(3))
    #expect(await model?.ticks == [1, 2, 100, 3] && once.state == .finished)
    model = nil
    #expect(timer.state == .cancelled)
  }

  @Test func asynchronousHandlersNeverOverlapAndCountWhatTheyMissed() async throws {
    let (clock, log) = (clock, log)
    let timer = try queue.scheduleTask(.every(.seconds(1))) { tick in
      log.add("begin \(tick.sequence), missed \(tick.missed)")
      try? await clock.sleep(for: .milliseconds(2500))
      log.add("end \(tick.sequence)")
    }
    try await queue.advance(by: .seconds(6))
    // At 1 s; at 3.5 s, after 2 and 3; at 6 s after 4, 5 and 6.
    #expect(
      log.all == [
        "begin 1, missed 0", "end 1", "begin 3, missed 1", "end 3", "begin 6, missed 2",
      ])
    timer.invalidate()  // the call that sleeps ends by itself
    try await queue.run()
    #expect(log.all.last == "end 6" && now == 8500)
  }

  @Test func tasksRunOnAQueueInTurnWithItsHandlers() async throws {
    let queue = try TimerQueue(label: "executor")
    let executor = queue.executor
    let inside = Counter()
    await withTaskExecutorPreference(executor) {
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<100 {
          group.addTask {
            #expect(inside.add() == 1)
            inside.add(-1)
            await Task.yield()
          }
        }
      }
    }
    try await queue.shutdown()
    let after = await withTaskExecutorPreference(executor) { 7 }
    #expect(after == 7)
  }

  // MARK: Jitter, and backoff between retries

  /// What jitter does: `Tests/Model`.
  @Test func jitterRepeatsWithTheSeedOfTheQueue() throws {
    func ticks(_ queue: VirtualTimerQueue) throws -> [TimerInstant] {
      let ticks = Log<TimerInstant>()
      let timer = try queue.schedule(.every(.seconds(10), jitter: .seconds(10))) { ticks.add($0.actual) }
      try queue.advanceTimers(by: .seconds(1010))
      timer.cancel()
      return ticks.all
    }
    let first = try ticks(VirtualTimerQueue(seed: 1))
    #expect(try first.count == 100 && first == ticks(VirtualTimerQueue(seed: 1)))
    #expect(try first != ticks(VirtualTimerQueue(seed: 2)))
  }

  @Test func aBackoffKeepsItsBoundsAndRepeatsWithItsGenerator() {
    struct Counter: RandomNumberGenerator, Sendable {
      var state: UInt64
      mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        return state
      }
    }
    let most: [(Backoff, [Int])] = [
      (Backoff(from: .seconds(1), upTo: .seconds(3), jitter: 0), [1, 2, 3, 3]),
      (Backoff(from: .seconds(1), factor: 1e30, upTo: .seconds(9), jitter: 0), [1, 9, 9, 9]),
      (Backoff(from: .seconds(1), factor: .infinity, upTo: .seconds(9), jitter: 0), [1, 9, 9, 9]),
      // What is out of range counts as the nearest.
      (Backoff(from: .seconds(1), factor: 0.5, jitter: -1), [1, 1, 1, 1]),
      (Backoff(from: .seconds(1), factor: .nan, jitter: .nan), [1, 1, 1, 1]),
      (Backoff(from: .seconds(-1)), [0, 0, 0, 0]), (Backoff(from: .seconds(1), upTo: .seconds(-1)), [0, 0, 0, 0]),
      (Backoff(from: .zero, factor: .infinity), [0, 0, 0, 0]),
    ]
    for (backoff, delays) in most { #expect(Array(backoff.prefix(4)) == delays.map { .seconds($0) }) }
    let longest = Duration(secondsComponent: .max, attosecondsComponent: 999_999_999_999_999_999)
    for delay in Backoff(from: .seconds(1), factor: 1e30, upTo: longest).prefix(5) {
      #expect(delay >= .milliseconds(500))
    }
    for (delay, most) in zip(Backoff(from: .seconds(1)), [1, 2, 4, 8]) {
      #expect(delay <= .seconds(most) && delay >= .seconds(most) / 2)
    }
    func delays(_ seed: UInt64) -> [Duration] {
      Array(Backoff(from: .seconds(1), using: Counter(state: seed)).prefix(10))
    }
    #expect(delays(1) == delays(1) && delays(1) != delays(1 << 60))
  }

  // MARK: Triggered actions

  /// A trigger at each of the times, in milliseconds, and when the action ran.
  private func actions(_ triggers: [Int64], _ trigger: () -> Void) throws -> [String] {
    for time in triggers {
      try queue.advanceTimers(by: .milliseconds(time - now))
      trigger()
    }
    try queue.advanceTimers(by: .seconds(10))
    return log.take()
  }

  struct Edges: Sendable {
    let leading: Bool
    let trailing: Bool
  }

  static let debounces: [(Edges, [String])] = [
    (Edges(leading: false, trailing: true), ["500", "1300"]), (Edges(leading: true, trailing: false), ["0", "1000"]),
    (Edges(leading: true, trailing: true), ["0", "500", "1000"]),
  ]

  @Test(arguments: debounces) func aDebouncedActionRunsWhenItIsQuiet(_ edges: Edges, _ expected: [String]) throws {
    let search = try TriggeredAction(
      .debounce(.milliseconds(300), leading: edges.leading, trailing: edges.trailing), on: queue
    ) { [log, queue] in log.add("\(queue.now.nanoseconds / 1_000_000)") }
    #expect(try actions([0, 100, 200, 1000]) { search.trigger() } == expected)
    #expect(!search.isPending)
    search.trigger()
    #expect(search.isPending)
    search.cancel()
    #expect(try actions([]) {} == [] && !search.isPending)
  }

  static let throttles: [(Edges, [String])] = [
    (Edges(leading: true, trailing: true), ["0", "300", "1000"]),
    (Edges(leading: true, trailing: false), ["0", "1000"]),
    (Edges(leading: false, trailing: true), ["300", "1300"]),
  ]

  @Test(arguments: throttles) func aThrottledActionRunsAtMostOnceAnInterval(
    _ edges: Edges, _ expected: [String]
  ) throws {
    let save = try TriggeredAction(
      .throttle(.milliseconds(300), leading: edges.leading, trailing: edges.trailing), on: queue
    ) { [log, queue] in log.add("\(queue.now.nanoseconds / 1_000_000)") }
    #expect(try actions([0, 100, 200, 1000]) { save.trigger() } == expected)
    #expect(throws: ChimeError.invalidArgument) { try TriggeredAction(.throttle(.zero), on: queue) {} }
    #expect(throws: ChimeError.invalidArgument) {
      try TriggeredAction(.throttle(.seconds(1), leading: false, trailing: false), on: queue) {}
    }
  }

  @Test func constantTriggersDelayADebouncedActionOnlySoLong() throws {
    let save = try TriggeredAction(.debounce(.milliseconds(300), atMost: .milliseconds(500)), on: queue) {
      [log, queue] in log.add("\(queue.now.nanoseconds / 1_000_000)")
    }
    #expect(try actions(Array(stride(from: 0, through: 1200, by: 100))) { save.trigger() } == ["500", "1000", "1500"])
  }

  /// Asynchronous actions, on an actor that made its own: calls do not overlap, none begins after `cancel`, and `flush` waits.
  @Test func anActorsActionRunsOnItAndIsFlushed() async throws {
    actor Store {
      let log: Log<String>
      let clock: TimerQueueClock
      var saving: TriggeredAction?
      init(_ queue: VirtualTimerQueue, _ log: Log<String>) async throws {
        (self.log, clock) = (log, queue.clock)
        saving = try TriggeredAction(.throttle(.seconds(1), leading: false), on: queue)
        saving?.setAction(on: self) { store in
          store.log.add("begin")
          try? await store.clock.sleep(for: .milliseconds(2500))
          store.log.add("end")
        }
      }
      func change() { saving?.trigger() }
      func flush() async throws { try await saving?.flush() }
      func cancel() { saving?.cancel() }
    }
    let store = try await Store(queue, log)
    for _ in 1...4 {  // at 0, 1, 2 and 3 s: what is due at 2 and 3 s waits for the call of 1 s
      await store.change()
      try await queue.advance(by: .seconds(1))
    }
    #expect(log.take() == ["begin", "end", "begin"])
    await store.cancel()
    try await queue.run()
    #expect(log.take() == ["end"])
    await store.change()
    let flushed = Task { [log] in
      try await store.flush()
      log.add("flushed")
    }
    try await queue.advance(by: .zero)
    #expect(log.all == ["begin"])
    try await queue.advance(by: .seconds(3))
    try await flushed.value
    #expect(log.take() == ["begin", "end", "flushed"])
    try await store.flush()  // nothing is pending
    await store.change()
    try await queue.shutdown()
    await #expect(throws: ChimeError.shutDown) { try await store.flush() }
  }

  @Test func anActionThatWouldWaitForItselfIsTold() async throws {
    let (own, log) = (Log<TriggeredAction>(), log)
    let save = try TriggeredAction(
      .debounce(.seconds(1)), on: queue,
      task: {
        let save = own.take()[0]
        await #expect(throws: ChimeError.wouldDeadlock) { try await save.flush() }
        save.trigger()
        await #expect(throws: ChimeError.wouldDeadlock) { try await save.flush() }
        log.add("acted")
      })
    own.add(save)
    save.trigger()
    try await queue.advance(by: .seconds(1))
    #expect(log.all == ["acted"])
    save.cancel()
  }

  @Test @MainActor func anActionOfAnActorEndsWithIt() async throws {
    actor Store {}
    let log = log
    var store: Store? = Store()
    let storing = try TriggeredAction(.debounce(.seconds(1)), on: queue)
    storing.setAction(on: try #require(store)) { _ in log.add("stored") }
    for _ in 1...2 {
      storing.trigger()
      try await queue.advance(by: .seconds(1))
      store = nil
    }
    #expect(log.take() == ["stored"])
    // Nobody waits for what will not run.
    storing.trigger()
    let flush = Task { try await storing.flush() }
    try await queue.advance(by: .zero)
    try await flush.value
    #expect(log.all.isEmpty)
  }

  /// From many threads: the action never overlaps itself, and the last trigger is not lost.
  @Test(.timeLimit(.minutes(20))) func triggersFromManyThreadsLoseNothing() async throws {
    let queue = try TimerQueue()
    let (triggered, seen, inside) = (Counter(), Counter(), Counter())
    let save = try TriggeredAction(.throttle(.microseconds(100)), on: queue) {
      #expect(inside.add() == 1)
      seen.add(triggered.value - seen.value)
      inside.add(-1)
    }
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          for round in 0..<2000 {
            triggered.add()
            save.trigger()
            if round % 50 == 0 { await Task.yield() }
          }
        }
      }
    }
    #expect(await soon { seen.value == 8000 })
  }

  // MARK: Virtual time

  @Test func advanceLetsEverythingGoOnAtEachInstant() async throws {
    let (clock, log) = (clock, log)
    let tasks = (1...3).map { number in
      Task {
        for round in 1...3 {
          try await clock.sleep(for: .seconds(1))
          for _ in 0..<number { await Task.yield() }
          log.add("\(number).\(round) at \(clock.now.nanoseconds / 1_000_000_000)")
        }
      }
    }
    try await queue.advance(by: .seconds(2))
    #expect(log.take().sorted() == ["1.1 at 1", "1.2 at 2", "2.1 at 1", "2.2 at 2", "3.1 at 1", "3.2 at 2"])
    try await queue.run()
    for task in tasks { try await task.value }
    #expect(log.take().sorted() == ["1.3 at 3", "2.3 at 3", "3.3 at 3"] && now == 3000)
  }

  @Test func runEndsWithItsTaskAndTimeNeverStandsStillForEver() async throws {
    let timer = try queue.schedule(every: .seconds(1)) { tick in
      if tick.sequence == 50 { unsafe withUnsafeCurrentTask { unsafe $0?.cancel() } }
    }
    let queue = queue
    let task = Task { try await queue.run() }
    await #expect(throws: CancellationError.self) { try await task.value }
    timer.invalidate()
    let clock = clock
    let spins = Task { while !Task.isCancelled { try? await clock.sleep(until: clock.now + .nanoseconds(1)) } }
    try await queue.advance(by: .nanoseconds(50))
    spins.cancel()
    // Due again and again at one instant.
    let again = try queue.schedule(after: .zero) { tick in _ = try? tick.timer.restart(.once(after: .zero)) }
    await #expect(throws: ChimeError.limit) { try await queue.advance(by: .zero) }
    again.invalidate()
    // Without end: it may be a sum that has saturated.
    await #expect(throws: ChimeError.invalidArgument) { try await queue.advance(by: .seconds(Int64.max)) }
    #expect(throws: ChimeError.invalidArgument) { try queue.advanceTimers(by: .seconds(Int64.max)) }
  }

  // MARK: Diagnostics

  @Test func anObserverHearsOfEveryTimer() throws {
    let queue = try VirtualTimerQueue(label: "observed")
    let events = Log<ChimeDiagnostics.Event>()
    let seconds = Log<ChimeDiagnostics.Event>()
    let observation = ChimeDiagnostics.observe { events.add($0) }
    var second: ChimeDiagnostics.Observation? = ChimeDiagnostics.observe { seconds.add($0) }
    let timer = try queue.schedule(after: .seconds(1), label: "alarm") { _ in }
    try queue.advanceTimers(by: .seconds(1))
    #expect(second != nil)
    second = nil
    timer.invalidate()
    observation.end()
    _ = try queue.schedule(after: .seconds(1)) { _ in }
    // Other tests' timers are heard of, too.
    let own = events.all.filter { $0.timer == timer.id }
    #expect(own.map(\.kind) == [.created, .started, .finished, .due, .returned, .released])
    #expect(seconds.all.filter { $0.timer == timer.id }.map(\.kind) == own.map(\.kind).dropLast())
    #expect(own.allSatisfy { $0.label == "alarm" })
    #expect(own[3].sequence == 1 && own[3].lateness == .zero)
    #expect(own[3].description == "timer \(timer.id) \"alarm\": due, tick 1, late by 0.0 seconds")
    #expect(ChimeDiagnostics.queues.contains { $0.contains("\"observed\"") })
  }
}

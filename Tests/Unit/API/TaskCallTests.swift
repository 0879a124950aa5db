import Chime
import ChimeCompat
import ChimeDiagnostics
import ChimeRunLoop
import ChimeTestSupport
import Dispatch
import Foundation
import Testing

/// Asynchronous handlers keep every promise: no call begins that is not current (7), calls never overlap (6), whoever stops a
/// timer learns whether one runs, and can wait for it (1, 9).
@Suite(.timeLimit(.minutes(20))) struct TaskCallTests {
  let queue: VirtualTimerQueue
  let clock: TimerQueueClock
  let log = Log<String>()

  init() throws {
    queue = try VirtualTimerQueue()
    clock = queue.clock
  }

  private static var rounds: Int { ProcessInfo.processInfo.environment["CHIME_ROUNDS"].flatMap { Int($0) } ?? 200 }

  // MARK: What waits for a call that runs

  /// Its first call takes 2.5 s, each second, so that a tick waits for it.
  private func slow() throws -> ChimeTimer {
    let (clock, log) = (clock, log)
    return try queue.scheduleTask(.every(.seconds(1))) { tick in
      log.add("begin \(tick.sequence)")
      try? await clock.sleep(for: .milliseconds(2500))
      log.add("end \(tick.sequence)")
    }
  }

  static let ways: [(String, @Sendable (inout ChimeTimer?, VirtualTimerQueue) async throws -> ChimeTimer.Outcome?)] = [
    ("cancel", { timer, _ in timer?.cancel() }),
    ("suspend", { timer, _ in timer?.suspend() }),
    ("invalidate", { timer, _ in timer?.invalidate() }),
    ("restart", { timer, _ in try timer?.restart(.once(after: .seconds(100))) }),
    ("reschedule", { timer, _ in try timer?.reschedule(every: .seconds(100)) }),
    (
      "cancelAndWait",
      { timer, _ in
        try await timer?.cancelAndWait(timeout: .zero) == .timedOut ? .running : nil
      }
    ),
    (
      "the last reference",
      { timer, _ in
        timer = nil
        return .running
      }
    ),
  ]

  @Test(arguments: ways.indices) func whatWaitsWhenATimerIsStoppedNeverBegins(_ way: Int) async throws {
    var timer: ChimeTimer? = try slow()
    try await queue.advance(by: .milliseconds(3200))  // call 1 runs; ticks 2 and 3 wait for it
    let outcome = try await Self.ways[way].1(&timer, queue)
    #expect(outcome == .running, "\(Self.ways[way].0)")
    try await queue.advance(by: .seconds(10))
    #expect(log.all == ["begin 1", "end 1"], "\(Self.ways[way].0)")
    if way == 0 {
      // Nothing runs: there is nothing to stop.
      #expect(timer?.cancel() == .ignored)
      try #expect(timer?.restart(.once(after: .seconds(1))) == .done)
      try await queue.advance(by: .seconds(1))
      #expect(timer?.cancel() == .ignoredRunning && log.all.last == "begin 1")
    }
  }

  /// The last tick has finished its timer: there is nothing to cancel but the call.
  @Test func theLastTickOfALimitIsStoppedToo() async throws {
    let (clock, log) = (clock, log)
    let timer = try queue.scheduleTask(.every(.seconds(1), limit: 2)) { tick in
      log.add("begin \(tick.sequence)")
      try? await clock.sleep(for: .milliseconds(1500))
    }
    try await queue.advance(by: .seconds(2))
    #expect(timer.state == .finished && timer.cancel() == .running)
    try await queue.run()
    #expect(log.all == ["begin 1"])
  }

  @Test func shutdownWaitsForCallsAndEndsWhatWaits() async throws {
    let timer = try slow()
    try await queue.advance(by: .milliseconds(3200))
    // Its sleep on the queue's clock ends with the queue.
    #expect(try await queue.shutdown() == .done)
    #expect(log.all == ["begin 1", "end 1"] && timer.state == .cancelled && timer.cancel() == .ignored)
    #expect(try await queue.shutdown() == .ignored)
  }

  @Test func missedTicksOfACallThatWasCalledOffAreNotCounted() async throws {
    let (clock, log) = (clock, log)
    let timer = try queue.scheduleTask(.every(.seconds(1))) { tick in
      log.add("\(tick.sequence), missed \(tick.missed)")
      try? await clock.sleep(for: .milliseconds(2450))
    }
    try await queue.advance(by: .milliseconds(3200))
    try timer.restart(.every(.milliseconds(100)))  // call 1 runs until 3.45 s
    try await queue.advance(by: .milliseconds(400))
    #expect(log.all == ["1, missed 0", "5, missed 1"])
  }

  // MARK: A call that runs

  /// A call in real time that ends when the gate opens.
  private final class Gate: Sendable {
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let (opened, open) = AsyncStream.makeStream(of: Void.self)
    let ended = Counter()

    @Sendable func pass() async {
      begin.yield()
      for await _ in opened { break }
      #expect(!Task.isCancelled)
      ended.add()
    }
    func hasBegun() async { for await _ in begun { break } }
  }

  @Test func theEndOfATimerWaitsForItsCall() async throws {
    let (queue, gate) = (try TimerQueue(), Gate())
    let timer = try queue.scheduleTask(.once(after: .zero)) { _ in await gate.pass() }
    await gate.hasBegun()
    #expect(timer.cancel() == .ignoredRunning)
    #expect(try await timer.cancelAndWait(timeout: .milliseconds(1)) == .timedOut)
    #expect(try await onAThread { try timer.blockingCancelAndWait(timeout: .milliseconds(1)) } == .timedOut)
    let waiter = Task { try await timer.cancelAndWait() }
    let cancelled = Task { try await timer.cancelAndWait() }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    let thread = Task { try await onAThread { try timer.blockingCancelAndWait() } }
    #expect(gate.ended.value == 0)
    gate.open.yield()
    #expect(try await waiter.value == .ignored)
    _ = try await thread.value
    #expect(gate.ended.value == 1)
  }

  @Test func theEndOfAQueueWaitsForTheCallsOfItsTimers() async throws {
    for blocks in [false, true] {
      let (queue, gate) = (try TimerQueue(), Gate())
      var timer: ChimeTimer? = try queue.scheduleTask(.once(after: .zero)) { _ in await gate.pass() }
      #expect(timer != nil)
      await gate.hasBegun()
      timer = nil  // stops the timer, and not its call
      let end = Task {
        let outcome = try await blocks ? onAThread { try queue.blockingShutdown() } : queue.shutdown()
        return (outcome, gate.ended.value)
      }
      while queue.statistics != nil { await Task.yield() }
      gate.open.yield()
      #expect(try await end.value == (.done, 1))
    }
  }

  /// Its handler runs until the semaphore is signalled.
  private func timerWhoseHandlerHangs() async throws -> (TimerQueue, ChimeTimer, DispatchSemaphore) {
    let queue = try TimerQueue()
    let (begun, begin) = AsyncStream.makeStream(of: Void.self)
    let open = DispatchSemaphore(value: 0)
    let timer = try queue.schedule(after: .zero) { _ in
      begin.yield()
      open.wait()
    }
    for await _ in begun { break }
    return (queue, timer, open)
  }

  /// Who waits for plain handlers blocks no thread either, and gives way.
  @Test func aTaskThatWaitsForAPlainHandlerGivesWay() async throws {
    let (queue, timer, open) = try await timerWhoseHandlerHangs()
    let waiter = Task { try await timer.cancelAndWait() }
    waiter.cancel()
    await #expect(throws: CancellationError.self) { try await waiter.value }
    let ending = Task { try await queue.shutdown() }
    ending.cancel()
    await #expect(throws: CancellationError.self) { try await ending.value }
    open.signal()
  }

  /// A handler that hangs, and one task after the other that gives up: none of them leaves behind a thread that tasks need.
  @Test func tasksRunHoweverManyWaitsForAPlainHandlerWereGivenUp() async throws {
    let (queue, timer, open) = try await timerWhoseHandlerHangs()
    let ended = Counter()
    let attempts = Task {
      for _ in 0..<100 {
        let waiter = Task { try await timer.cancelAndWait() }
        let ending = Task { try await timer.cancelAndWait(timeout: .seconds(1000)) }
        await Task.yield()
        waiter.cancel()
        ending.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
        await #expect(throws: CancellationError.self) { try await ending.value }
        ended.add()
      }
    }
    // On a thread, which runs on when no task does. Beside other tests' tasks a hundred attempts may take minutes.
    let allEnded = try await onAThread {
      var (seen, end) = (0, Date(timeIntervalSinceNow: patience))
      while ended.value < 100, Date() < end {
        if ended.value > seen { (seen, end) = (ended.value, Date(timeIntervalSinceNow: patience)) }
        usleep(1000)
      }
      defer { open.signal() }
      return ended.value
    }
    #expect(allEnded == 100)
    await attempts.value
    #expect(try await timer.cancelAndWait(timeout: .milliseconds(1)) != .running)
    try await queue.shutdown()
  }

  @Test func aCallThatWouldWaitForItselfIsTold() async throws {
    let (clock, log) = (clock, log)
    let queue = queue
    let both = Log<ChimeTimer>()
    for number in 0..<2 {
      both.add(
        try queue.scheduleTask(.once(after: .seconds(1))) { tick in
          #expect(tick.timer.cancel() == .ignoredRunning)
          await #expect(throws: ChimeError.wouldDeadlock) { try await tick.timer.cancelAndWait() }
          try? await clock.sleep(for: .seconds(1))
          do {
            log.add("\(try await both.all[1 - number].cancelAndWait())")
          } catch {
            log.add("\(error as? ChimeError == .wouldDeadlock ? "circle" : "\(error)")")
          }
        })
    }
    try await queue.run()
    #expect(Set(log.all) == ["circle", "ignored"])
    let last = try queue.scheduleTask(.once(after: .seconds(1))) { _ in
      await #expect(throws: ChimeError.wouldDeadlock) { try await queue.shutdown() }
      log.add("ended")
    }
    // The queue has ended under the advance, which then waits for no call.
    _ = try? await queue.advance(by: .seconds(1))
    #expect(await soon { log.all.last == "ended" } && last.state == .cancelled)
  }

  /// A child task of a call is in it. A task of its own is not, and waits for its end.
  @Test func aChildOfACallThatWouldWaitForItIsTold() async throws {
    @Sendable func isTold(_ timer: ChimeTimer.Reference) async -> Bool {
      do { return try await timer.cancelAndWait() == .timedOut } catch { return error as? ChimeError == .wouldDeadlock }
    }
    let (log, own) = (log, Log<Task<Bool, Never>>())
    let timer = try queue.scheduleTask(.once(after: .seconds(1))) { tick in
      async let child = isTold(tick.timer)
      let inGroup = await withTaskGroup(of: Bool.self) { group in
        group.addTask { await isTold(tick.timer) }
        return await group.next()
      }
      own.add(Task { await isTold(tick.timer) })
      log.add("\(await child), \(inGroup == true)")
    }
    try await queue.advance(by: .seconds(1))
    #expect(log.all == ["true, true"] && timer.state == .finished)
    #expect(await own.all.first?.value == false)
  }

  /// What waits for the caller's actor is known from the call, on whatever queue: nobody waits for his own thread.
  @Test(arguments: [false, true]) func aThreadThatHoldsTheActorOfACallIsTold(_ shutsDown: Bool) async throws {
    actor Keeper {
      var timer: ChimeTimer?
      func start(on queue: TimerQueue, _ gate: Gate) throws {
        timer = try queue.scheduleTask(.once(after: .zero), actor: self) { _, _ in await gate.pass() }
      }
      func stop(_ queue: TimerQueue, _ shutsDown: Bool) throws {
        if shutsDown {
          try queue.blockingShutdown(timeout: .seconds(60))
        } else {
          try timer?.blockingCancelAndWait(timeout: .seconds(60))
        }
      }
    }
    let (queue, keeper, gate) = (try TimerQueue(), Keeper(), Gate())
    try await keeper.start(on: queue, gate)
    await gate.hasBegun()
    await #expect(throws: ChimeError.wouldDeadlock) { try await keeper.stop(queue, shutsDown) }
    gate.open.yield()
    try await queue.shutdown()
    #expect(await soon { gate.ended.value == 1 })
  }

  /// Who holds up the executor of the actor that a call is on, which several actors may share, without being on that actor.
  enum Holder: CaseIterable { case mainActor, ownQueue, otherActorOfItsQueue, handlerOfItsQueue }

  @Test(arguments: Holder.allCases, [false, true])
  func aThreadThatHoldsTheExecutorOfACallIsTold(_ holder: Holder, _ shutsDown: Bool) async throws {
    let own = holder == .mainActor ? nil : try SerialTimerQueue()
    let (queue, owner, gate) = (try TimerQueue(), Owner(own), Gate())
    let timer = try queue.scheduleTask(.once(after: .zero), actor: owner) { _, _ in await gate.pass() }
    await gate.hasBegun()
    let told = Log<Bool>()
    @Sendable func stop() {
      #expect(throws: ChimeError.wouldDeadlock) {
        let limit = Duration.seconds(60)
        _ = try shutsDown ? queue.blockingShutdown(timeout: limit) : timer.blockingCancelAndWait(timeout: limit)
      }
      told.add(true)
    }
    switch holder {
    case .mainActor: await MainActor.run { stop() }
    case .ownQueue: await owner.run(stop)
    case .otherActorOfItsQueue: await Owner(own).run(stop)
    case .handlerOfItsQueue:
      try own?.perform { stop() }
      try #require(await soon { told.count == 1 })
    }
    #expect(told.count == 1)
    gate.open.yield()
    try await queue.shutdown()
    #expect(await soon { gate.ended.value == 1 })
  }

  @Test func aTimerThatItsOwnCallReplacesLetsTheCallEnd() async throws {
    actor Saver {
      var timer: ChimeTimer?
      var (began, saved) = (0, 0)
      func saveSoon(on queue: VirtualTimerQueue) throws {
        timer = try queue.scheduleTask(.once(after: .seconds(1)), actor: self) { saver, _ in
          saver.began += 1
          if saver.began == 1 { try? saver.saveSoon(on: queue) }
          try? await queue.clock.sleep(for: .seconds(1))
          if !Task.isCancelled { saver.saved += 1 }
        }
      }
    }
    let saver = Saver()
    try await saver.saveSoon(on: queue)
    try await queue.advance(by: .seconds(10))
    #expect(await (saver.began, saver.saved) == (2, 2))
  }

  // MARK: Where calls run

  @Test @MainActor func onAMainTimerQueueCallsStayOnTheMainActor() async throws {
    let queue = try MainTimerQueue(virtual: .zero)
    let log = log
    let timer = try queue.scheduleTask(.every(.seconds(1))) { _ in
      MainActor.assertIsolated()
      await Task.yield()
      MainActor.assertIsolated()
      log.add("called")
    }
    let seen: AnyTimerQueue = queue
    let other = try seen.scheduleTask(.every(.seconds(1))) { @MainActor _ in log.add("called") }
    try await queue.advance(by: .seconds(1))
    #expect(log.all == ["called", "called"] && timer.state == .running && other.state == .running)
  }

  /// A store whose keys live for a while and are renewed: a renewed key does not vanish, and a stopped timer calls nothing.
  private actor Owner {
    let own: SerialTimerQueue?
    nonisolated var unownedExecutor: UnownedSerialExecutor {
      unsafe own?.asUnownedSerialExecutor() ?? MainActor.sharedUnownedExecutor
    }
    var (timer, action): (ChimeTimer?, TriggeredAction?) = (nil, nil)
    var stale = 0
    /// The round whose calls are wanted.
    var wanted: Int?
    init(_ own: SerialTimerQueue?) { self.own = own }

    func run(_ body: @Sendable () -> Void) { body() }

    private func call(in round: Int) {
      assertIsolated()
      if round != wanted { stale += 1 }
    }

    func start(_ round: Int, on queue: AnyTimerQueue) throws {
      wanted = round
      switch round / 8 % 3 {
      case 0:
        timer = try queue.scheduleTask(.every(.microseconds(20)), actor: self) { owner, _ in owner.call(in: round) }
      case 1:
        timer = try queue.scheduleTask(.once(after: .zero), actor: self) { owner, _ in owner.call(in: round) }
      default:
        action = try TriggeredAction(.throttle(.microseconds(20)), on: queue)
        action?.setAction(on: self) { owner in owner.call(in: round) }
        action?.trigger()
      }
    }

    /// What waits has stopped the timer before it lets others onto the actor.
    func stop(_ way: Int, on queue: AnyTimerQueue) async throws {
      wanted = nil
      if way == 2 { action = nil } else if way < 7 { action?.cancel() }
      switch way {
      case 0: timer?.cancel()
      case 1: timer?.suspend()
      case 2: timer = nil
      case 3: timer?.invalidate()
      case 4: try timer?.reschedule(every: .seconds(1000))
      case 5: try timer?.restart(.once(after: .seconds(1000)))
      case 6: try await timer?.cancelAndWait()
      default: try await queue.shutdown()
      }
    }
  }

  /// Every kind of queue in real time.
  enum Kind: CaseIterable, Sendable {
    case serial, own, dispatch, concurrent, main, host, precise, runLoop

    func make() throws -> AnyTimerQueue {
      switch self {
      case .serial: return try TimerQueue()
      case .own: return try SerialTimerQueue()
      case .dispatch: return try TimerQueue(dispatchQueue: DispatchQueue(label: "races"))
      case .concurrent: return try TimerQueue(dispatchQueue: .global())
      case .main: return try MainTimerQueue()
      case .precise: return try PreciseTimerQueue()
      case .host:
        let queue = try HostTimerQueue()
        Thread.detachNewThread { try? queue.run(untilStopped: true) }  // until it is shut down
        return queue
      case .runLoop:
        let (made, queues) = (DispatchSemaphore(value: 0), Log<TimerQueue>())
        Thread.detachNewThread {
          let queue = try? TimerQueue(runLoop: .current)
          if let queue { queues.add(queue) }
          made.signal()
          while !run(until: { queue?.statistics == nil }) {}
        }
        made.wait()
        return try #require(queues.all.first)
      }
    }
  }

  /// The tick may come before the call that has brought it returns.
  @Test(arguments: Kind.allCases) func aRestartLosesNoTickThatComesMeanwhile(_ kind: Kind) async throws {
    let (queue, calls, reads) = (try kind.make(), Counter(), Counter())
    let timer = try queue.scheduleTask(.once(after: .seconds(3600))) { _ in calls.add() }
    let ticks = try queue.tickSequence(.every(.seconds(3600)))
    let reader = Task { for await _ in ticks { reads.add() } }
    for round in 1...Self.rounds {
      try timer.restart(.once(after: .zero))
      try ticks.timer.restart(.every(.seconds(3600), after: .zero))
      try #require(await soon { calls.value >= round && reads.value >= round })
    }
    ticks.timer.cancel()
    await reader.value
    try await queue.shutdown()
  }

  /// What the list gives is as good as what a tick gives, also before there was one.
  @Test(arguments: Kind.allCases) func aQueueListsItsTimers(_ kind: Kind) async throws {
    let (queue, gate) = (try kind.make(), Gate())
    let idle = try queue.makeTimer { _ in }
    let calls = try queue.scheduleTask(.once(after: .seconds(3600))) { _ in await gate.pass() }
    try queue.perform(after: .seconds(3600)) {}
    let listed = queue.timers
    #expect(listed.count == 3 && Set(listed).isSuperset(of: [idle.reference, calls.reference]))
    let call = try #require(listed.first { $0 == calls.reference })
    #expect(call.state == .running && call.id == calls.id)
    try call.restart(.once(after: .zero))
    await gate.hasBegun()
    #expect(call.cancel() == .ignoredRunning)
    gate.open.yield()
    #expect(try await call.cancelAndWait() == .ignored && gate.ended.value == 1)
    for timer in listed { timer.invalidate() }
    #expect(queue.timers == [] && idle.state == .cancelled)
    try await queue.shutdown()
    #expect(queue.timers == [])
  }

  @Test(arguments: Kind.allCases) func anActorThatStopsItsTimerGetsNoFurtherCall(_ kind: Kind) async throws {
    var (queue, stale) = (try kind.make(), 0)
    var owner = Owner(queue as? SerialTimerQueue)
    for round in 0..<Self.rounds {
      try await owner.start(round, on: queue)
      if round % 3 == 0 { try await Task.sleep(for: .microseconds(50)) }
      try await owner.stop(round % 8, on: queue)
      await Task.yield()
      if round % 8 < 7 { continue }
      stale += await owner.stale
      queue = try kind.make()
      owner = Owner(queue as? SerialTimerQueue)
    }
    try await queue.shutdown()
    #expect(await owner.stale + stale == 0)
  }

  /// From another thread than the handler's: what has begun is `running`, and what has not never begins. What a call starts
  /// again ends with who waits for it, as with the kernel's del_timer_sync.
  @Test(arguments: Kind.allCases) func outcomesAndCallsAgreeInEveryRace(_ kind: Kind) async throws {
    let queue = try kind.make()
    for round in 0..<Self.rounds {
      let (begun, ended, startsAgain) = (Counter(), Counter(), round % 4 < 3)
      let timer = try queue.scheduleTask(.once(after: .zero)) { tick in
        begun.add()
        await Task.yield()
        if round % 4 < 2 { _ = try? tick.timer.restart(.once(after: .zero)) }
        if round % 4 == 2 { tick.timer.fire() }
        ended.add()
      }
      if round % 2 == 0 { await Task.yield() }
      if round % 3 == 0 { try await Task.sleep(for: .microseconds(round % 50)) }
      let outcome = timer.cancel()
      if !outcome.isRunning { #expect(begun.value == ended.value) }
      let calls = begun.value
      if outcome == .done, !startsAgain { #expect(calls == 0) }
      _ = try await round % 8 == 0 ? onAThread { try timer.blockingCancelAndWait() } : timer.cancelAndWait()
      #expect(ended.value == begun.value && timer.state != .running)
      let all = begun.value
      await Task.yield()
      #expect(begun.value == all)
    }
    try await queue.shutdown()
  }

  /// On the actor's own queue a call begins inside its tick, in the order of the ticks.
  @Test func onItsActorsOwnQueueACallBeginsInsideItsTick() async throws {
    let own = try SerialTimerQueue(virtual: .zero)
    let owner = Owner(own)
    let log = log
    let first = try own.scheduleTask(.once(after: .seconds(1)), actor: owner) { _, _ in log.add("1") }
    let second = try own.schedule(after: .seconds(1)) { _ in log.add("2") }
    try await own.advance(by: .seconds(1))
    #expect(log.all == ["1", "2"] && first.state == .finished && second.state == .finished)
  }
}

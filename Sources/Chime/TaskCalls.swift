import ChimeCore
import Dispatch

/// The calls of one timer's asynchronous handler, one at a time, and what makes them keep the promises of plain handlers: a
/// call begins only if its tick is current at that moment, on the actor that it runs on; and whoever stops the timer learns
/// whether one runs, and can wait for it.
///
/// The timer's handler only puts ticks in here, for a task to take. A call that has begun ends by itself: no way of stopping
/// the timer cancels it.
package final class TaskCalls: Sendable {
  private struct State {
    /// The timer; 0 as long as it is not known.
    var handle: UInt64 = 0
    /// The newest tick that no call has taken.
    var due = DueTick()
    /// Lives as long as the handler.
    weak var starter: TaskStarter<Occasion>?
    /// Whether there is a task that will look for it.
    var hasTask = false
    /// The generation in which the running call has asked for another tick.
    var started: UInt64?
    /// How many wait for the end of the timer, or are about to.
    var waiters = 0
  }

  private let state = Locked(State())
  /// The one that runs.
  let calls: HandlerCalls
  let targetHasGone: (@Sendable () -> Bool)?

  init(on queue: AnyTimerQueue, targetHasGone: (@Sendable () -> Bool)? = nil) {
    calls = HandlerCalls(on: queue)
    self.targetHasGone = targetHasGone
  }

  // MARK: Calls

  /// The first that knows the timer says which it is: who has made it, or its first tick.
  func register(_ handle: UInt64) {
    let isFirst = state.withLock { state in
      defer { state.handle = handle }
      return state.handle == 0
    }
    if isFirst { ChimeTimer.Watched.note(handle, calls: self) }
  }

  /// On the queue: notes a tick. Gives whether a task has to come for it.
  func put(_ tick: ChimeTimer.Tick) -> Bool {
    register(tick.handle)
    var tick = tick
    tick.isOfTask = true
    return state.withLock { state in
      if !state.due.put(tick) || state.hasTask { return false }
      state.hasTask = true
      return true
    }
  }

  /// In the task: calls the handler for each tick that is current.
  ///
  /// - Parameters:
  ///   - actor: the handler's, so that nothing can come between the look at the timer and the call.
  ///   - call: the handler.
  func run(on actor: isolated (any Actor)?, _ call: nonisolated(nonsending) (ChimeTimer.Tick) async -> Void) async {
    while let tick = begin(on: actor) {
      await calls.call(on: actor) { await call(tick) }
      end(tick)
    }
  }

  /// The task cannot call the handler any more.
  func giveUp() { state.withLock { ($0.due, $0.hasTask) = (DueTick(), false) } }

  private func begin(on actor: (any Actor)?) -> ChimeTimer.Tick? {
    calls.begin(on: actor) { begin in
      state.withLock { state in
        guard let tick = state.due.take() else {
          state.hasTask = false
          return nil
        }
        begin()
        return tick
      }
    }
  }

  private func end(_ tick: ChimeTimer.Tick) {
    let started: UInt64? = state.withLock { state in
      defer { state.started = nil }
      return state.waiters > 0 ? state.started : nil
    }
    // Who waits for the end of a timer waits for what its own handler starts, too.
    if let started, let timer = TimerRef(tick.handle), timer.generation == started {
      _ = timer.stopCalls { $0.cancel() }
      state.withLock { _ = $0.due.drop(timer.generation, keepsCurrent: false) }
    }
    calls.end()
  }

  // MARK: Stopping

  /// After a call that stops what was due: drops the tick that no call has taken. Gives what that call has done.
  ///
  /// - Parameter keepsCurrent: whether a tick of that generation stays, which has come since.
  func stop(
    _ outcome: ChimeTimer.Outcome, _ generation: UInt64?, keepsCurrent: Bool = false
  ) -> ChimeTimer.Outcome {
    state.withLock { state in
      let hasDropped = state.due.drop(generation, keepsCurrent: keepsCurrent)
      return outcome.with(hasChanged: hasDropped, isRunning: calls.running.isAny)
    }
  }

  /// Whether a suspension holds a tick back.
  var isHeld: Bool { state.withLock { $0.due.isHeld } }

  /// After a suspend: holds back the tick that no call has taken. Gives what the suspend has done.
  func suspend(
    _ outcome: ChimeTimer.Outcome, _ generation: UInt64, isAccepted: Bool
  ) -> ChimeTimer.Outcome {
    state.withLock { state in
      let hasHeld = state.due.suspend(generation, isAccepted: isAccepted)
      return outcome.with(hasChanged: hasHeld, isRunning: calls.running.isAny)
    }
  }

  /// After a resume: lets go of that tick. Gives what the resume has done.
  func resume(_ outcome: ChimeTimer.Outcome, _ generation: UInt64, isDue: Bool) -> ChimeTimer.Outcome {
    let (hadHeld, starter): (Bool, TaskStarter<Occasion>?) = state.withLock { state in
      let hadHeld = state.due.resume(generation, isDue: isDue)
      guard state.due.waiting != nil, !state.hasTask, let starter = state.starter else { return (hadHeld, nil) }
      state.hasTask = true
      return (hadHeld, starter)
    }
    starter?.start(.resume)
    return outcome.with(hasChanged: hadHeld, isRunning: false)
  }

  /// What a task is begun for.
  enum Occasion {
    /// A tick, whose handler begins it.
    case tick
    /// A tick that was held back.
    case resume
  }

  /// Makes what starts tasks that look for ticks. Held by the handler, and not by what others have of the timer.
  ///
  /// - Parameter begin: begins one.
  func makeStarter(_ begin: @escaping @Sendable (Occasion) -> Void) -> TaskStarter<Occasion> {
    let starter = TaskStarter(begin)
    state.withLock { $0.starter = starter }
    return starter
  }

  /// After a call by which another tick comes, in that generation.
  func noteStart(_ generation: UInt64) {
    if HandlerCalls.current === calls { state.withLock { $0.started = generation } }
  }

  // MARK: Waiting

  /// Before the call that stops the timer and waits for its end, and after it: whether what the handler starts is stopped, too.
  func changeWaiters(by count: Int) { state.withLock { $0.waiters += count } }

  deinit {
    let handle = state.withLock { $0.handle }
    if handle != 0 { ChimeTimer.Watched.forget(handle) }
  }
}

/// Calls of the core that wait for a handler, for tasks, which must not block their threads.
///
/// For each timer and queue a few threads wait, which are none of those that tasks run on. A thread waits on when its task gives
/// way to its cancellation; tasks that come when all of them wait have a turn, in that order, when one has returned.
enum Blocking {
  private struct Waits {
    var threads = 0
    /// By number; the numbers between that are missing gave way.
    private var queued: [UInt64: @Sendable () -> Void] = [:]
    private var (first, next): (UInt64, UInt64) = (0, 0)

    mutating func append(_ turn: @escaping @Sendable () -> Void) -> UInt64 {
      defer { next += 1 }
      queued[next] = turn
      return next
    }

    mutating func remove(_ number: UInt64) { queued[number] = nil }

    mutating func popFirst() -> (@Sendable () -> Void)? {
      while first < next {
        defer { first += 1 }
        if let turn = queued.removeValue(forKey: first) { return turn }
      }
      return nil
    }
  }

  /// By the id of the timer or queue.
  private static let waits = Locked<[UInt64: Waits]>([:])

  /// The threads for one of them. Without a limit, a program that tries again whenever a wait was too long for it would have
  /// one for each attempt.
  private static let mostThreads = 8

  /// Waits until `wait` has returned, until the timeout, or until the task is cancelled.
  ///
  /// - Parameters:
  ///   - id: of the timer or queue that it waits for.
  ///   - timeout: 0 or more; `Int64.max` without limit.
  ///   - wait: with a timeout; 0 does not wait.
  nonisolated(nonsending) static func run(
    for id: UInt64, timeout: Int64, _ wait: @escaping @Sendable (_ timeout: Int64) -> Status
  ) async throws -> Status {
    if timeout == 0 { return wait(0) }
    let end = FirstEnd<Status>()
    let limit = Clock.monotonic.now.saturatingAdd(timeout)
    let turn: @Sendable () -> Void = {
      end.end(.success(wait(timeout == .max ? .max : max(0, limit.saturatingSubtract(Clock.monotonic.now)))))
    }
    let number: UInt64? = waits.withLock { waits in
      if waits[id, default: Waits()].threads < mostThreads {
        waits[id, default: Waits()].threads += 1
        return nil
      }
      return waits[id]?.append(turn)
    }
    guard let number else {
      // A queue of its own: the global ones have as many threads as there are processors, and tasks run on them.
      DispatchQueue(label: "chime.wait").async { takeTurns(id, turn) }
      return try await end.wait()
    }
    // A source, since one that is cancelled lets go of the wait at once: what `asyncAfter` has is kept until its time.
    let timer = timeout == .max ? nil : DispatchSource.makeTimerSource(queue: .global())
    timer?.schedule(deadline: .now() + .nanoseconds(Int(timeout)))
    timer?.setEventHandler { end.end(.success(wait(0))) }
    timer?.activate()
    defer {
      timer?.cancel()
      waits.withLock { $0[id]?.remove(number) }
    }
    return try await end.wait()
  }

  /// On such a thread.
  private static func takeTurns(_ id: UInt64, _ first: @Sendable () -> Void) {
    first()
    while let next = nextTurn(id) { next() }
  }

  private static func nextTurn(_ id: UInt64) -> (@Sendable () -> Void)? {
    waits.withLock { waits in
      if let next = waits[id]?.popFirst() { return next }
      waits[id]?.threads -= 1
      if waits[id]?.threads == 0 { waits[id] = nil }
      return nil
    }
  }
}

extension TimerRef {
  /// Stops a timer whose handler only starts calls. Its last tick has finished it, so that a cancel changes nothing, and may
  /// be on its way to `TaskCalls.put`: a reschedule, which moves nothing there, makes that tick stale.
  func stopCalls(_ operation: (TimerRef) -> Status) -> Status {
    let before = generation
    let status = operation(self)
    if [.running, .ignoredRunning, .timedOut, .wouldDeadlock].contains(status), generation == before, state == .finished
    {
      _ = reschedule(nil)
    }
    return status
  }
}

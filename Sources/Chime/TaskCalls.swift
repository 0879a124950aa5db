import ChimeCore
import Dispatch

/// The calls of one timer's asynchronous handler, one at a time, and what makes them keep the promises of plain handlers: a
/// call begins only if its tick is current at that moment, on the actor that it runs on; and whoever stops the timer learns
/// whether one runs, and can wait for it.
///
/// The timer's handler only puts ticks in here, for a task to take. A call that has begun ends by itself: no way of stopping
/// the timer cancels it.
package final class TaskCalls: Sendable {
  // SAFETY: the task lives as long as its name is here; it is only compared.
  @safe private struct State: @unchecked Sendable {
    /// The timer; 0 before its first tick.
    var handle: UInt64 = 0
    /// The newest tick that no call has taken.
    var waiting: ChimeTimer.Tick?
    /// Whether there is a task that will look for it.
    var hasTask = false
    /// The task whose call runs.
    var task: UnsafeCurrentTask?
    /// What that call waits for.
    var awaited: TaskCalls?
    /// The generation in which the call has asked for another tick.
    var started: UInt64?
    /// How many wait for the end of the timer, or are about to.
    var waiters = 0
    /// How often what was due has been called off.
    var stops = 0
  }

  private let state = Locked(State())
  /// Of this timer: one or none.
  let running = RunningCalls()
  /// Of its queue.
  private let ofQueue: RunningCalls
  private let home: HandlerHome?
  let targetHasGone: (@Sendable () -> Bool)?

  /// Whether a tick has to be of the timer's present generation; otherwise `stop` alone calls ticks off.
  private let checksGeneration: Bool

  init(on queue: AnyTimerQueue, checksGeneration: Bool = true, targetHasGone: (@Sendable () -> Bool)? = nil) {
    (ofQueue, home, self.checksGeneration) = (queue.calls, queue.home, checksGeneration)
    self.targetHasGone = targetHasGone
  }

  // MARK: Calls

  /// How often what was due has been called off: for `put`.
  var stops: Int { state.withLock { $0.stops } }

  /// On the queue: notes a tick. Gives whether a task has to come for it.
  ///
  /// - Parameter stops: if it is no longer that often, the tick is dropped; `nil` for a tick that knows its generation.
  func put(_ tick: ChimeTimer.Tick, unlessAfter stops: Int? = nil) -> Bool {
    let isFirst = state.withLock { state in
      defer { state.handle = tick.handle }
      return state.handle == 0
    }
    if isFirst { TaskCalls.all.withLock { $0[tick.handle] = WeakCalls(calls: self) } }
    var tick = tick
    tick.isOfTask = true
    return state.withLock { state in
      if let stops, stops != state.stops { return false }
      if let previous = state.waiting, !checksGeneration || previous.generation == tick.generation {
        tick = tick.after(previous)
      }
      state.waiting = tick
      defer { state.hasTask = true }
      return !state.hasTask
    }
  }

  /// In the task: calls the handler for each tick that is current.
  ///
  /// - Parameters:
  ///   - actor: the handler's, so that nothing can come between the look at the timer and the call.
  ///   - call: the handler.
  func run(on actor: isolated (any Actor)?, _ call: nonisolated(nonsending) (ChimeTimer.Tick) async -> Void) async {
    while let tick = begin() {
      await call(tick)
      end(tick)
    }
  }

  /// The task cannot call the handler any more.
  func giveUp() { state.withLock { ($0.waiting, $0.hasTask) = (nil, false) } }

  private func isCurrent(_ tick: ChimeTimer.Tick) -> Bool {
    checksGeneration ? tick.isCurrent : TimerRef(tick.handle)?.generation != nil
  }

  private func begin() -> ChimeTimer.Tick? {
    // First counted, then looked at: a shutdown ends the timer, then looks at the count.
    ofQueue.begin()
    let tick: ChimeTimer.Tick? = unsafe withUnsafeCurrentTask { task in
      state.withLock { state in
        defer { state.waiting = nil }
        guard let tick = state.waiting, isCurrent(tick) else {
          state.hasTask = false
          return nil
        }
        unsafe state.task = task
        running.begin()
        return tick
      }
    }
    if tick == nil { ofQueue.end() }
    return tick
  }

  private func end(_ tick: ChimeTimer.Tick) {
    let started: UInt64? = state.withLock { state in
      defer { unsafe (state.task, state.started) = (nil, nil) }
      return state.waiters > 0 ? state.started : nil
    }
    // Who waits for the end of a timer waits for what its own handler starts, too.
    if let started, let timer = TimerRef(tick.handle), timer.generation == started {
      _ = timer.stopCalls { $0.cancel() }
      state.withLock { $0.waiting = nil }
    }
    running.end()
    ofQueue.end()
  }

  // MARK: Stopping

  /// After a call that stops what was due: drops the tick that no call has taken. Gives what that call has done.
  func stop(_ outcome: ChimeTimer.Outcome) -> ChimeTimer.Outcome {
    state.withLock { state in
      let hasDropped = state.waiting != nil
      state.waiting = nil
      state.stops += 1
      if unsafe state.task != nil { return .running }
      return hasDropped && outcome == .ignored ? .done : outcome
    }
  }

  /// After a call by which another tick comes, in that generation.
  func noteStart(_ generation: UInt64) {
    unsafe withUnsafeCurrentTask { current in
      guard let current = unsafe current else { return }
      state.withLock { if unsafe $0.task == current { $0.started = generation } }
    }
  }

  /// Whether the calling task is in a call of this timer.
  private var isOwn: Bool {
    unsafe withUnsafeCurrentTask { current in
      guard let current = unsafe current else { return false }
      return state.withLock { unsafe $0.task == current }
    }
  }

  // MARK: Waiting

  /// Before the call that stops the timer and waits for its end, and after it: whether what the handler starts is stopped, too.
  func changeWaiters(by count: Int) { state.withLock { $0.waiters += count } }

  private struct WeakCalls {
    weak var calls: TaskCalls?
  }

  /// Of all timers that have had a tick, by handle.
  private static let all = Locked<[UInt64: WeakCalls]>([:])
  /// Held while somebody looks whether he may wait.
  private static let waits = Locked(())

  /// What the timer with that handle has; `nil` once it has ended.
  static func of(_ handle: UInt64) -> TaskCalls? { all.withLock { $0[handle]?.calls } }

  deinit {
    let handle = state.withLock { $0.handle }
    if handle != 0 { TaskCalls.all.withLock { $0[handle] = nil } }
  }

  /// The call that the calling task is in.
  static var current: TaskCalls? { all.withLock { $0.values.compactMap(\.calls) }.first { $0.isOwn } }

  private static var wouldDeadlock: ChimeError {
    ChimeError(.wouldDeadlock, "the call of the handler that it would wait for waits for the caller")
  }

  /// Throws if the calling task is in a call of one of a queue's timers, or holds up the actor where they may run.
  static func checkWait(for calls: RunningCalls, on home: HandlerHome?) throws(ChimeError) {
    if calls.isAny, home?.isHere() == true || current?.ofQueue === calls { throw wouldDeadlock }
  }

  /// Notes that the calling task's call waits for this timer's.
  ///
  /// - Returns: that call; `nil` if the task is in none.
  /// - Throws: `wouldDeadlock` if this timer's call waits for it, by way of others or not.
  func beginWait() throws(ChimeError) -> TaskCalls? {
    guard let caller = TaskCalls.current else { return nil }
    let isCircle = TaskCalls.waits.withLock { _ in
      var next: TaskCalls? = self
      while let calls = next, calls !== caller { next = calls.state.withLock { $0.awaited } }
      if next == nil { caller.state.withLock { $0.awaited = self } }
      return next != nil
    }
    if isCircle { throw TaskCalls.wouldDeadlock }
    return caller
  }

  /// Waits until no call runs. False if the time is over before.
  func waitForNone(until end: ContinuousClock.Instant?) throws(ChimeError) -> Bool {
    if running.isAny, home?.isHere() == true { throw TaskCalls.wouldDeadlock }
    let caller = try beginWait()
    defer { caller?.endWait() }
    return running.waitForNone(until: end)
  }

  /// Likewise, and gives way to cancellation.
  nonisolated(nonsending) func waitForNone(until end: ContinuousClock.Instant?) async throws -> Bool {
    let caller = try beginWait()
    defer { caller?.endWait() }
    return try await running.waitForNone(until: end)
  }

  func endWait() { state.withLock { $0.awaited = nil } }
}

/// Calls of the core that wait for a handler, for tasks, which must not block their threads.
enum Blocking {
  /// Runs `wait` on a thread that may block, until its end or the cancellation of the task. Then the thread waits on.
  nonisolated(nonsending) static func run(_ wait: @escaping @Sendable () -> Status) async throws -> Status {
    let end = FirstEnd<Status>()
    DispatchQueue.global().async { end.end(.success(wait())) }
    return try await end.wait()
  }
}

extension TimerRef {
  /// Stops a timer whose handler only starts calls. Its last tick has finished it, so that a cancel changes nothing, and may
  /// be on its way to `TaskCalls.put`: a reschedule, which moves nothing there, makes that tick stale.
  func stopCalls(_ operation: (TimerRef) -> Status) -> Status {
    let before = generation
    let status = operation(self)
    if [.running, .timedOut, .wouldDeadlock].contains(status), generation == before, state == .finished {
      _ = reschedule(nil)
    }
    return status
  }
}

extension ChimeTimer.Tick {
  /// This tick, with the one before it, which nobody has seen, counted as missed.
  func after(_ previous: ChimeTimer.Tick) -> ChimeTimer.Tick {
    var tick = self
    let (sum, overflows) = missed.addingReportingOverflow(previous.missed)
    tick.missed = overflows || sum == .max ? .max : sum + 1
    return tick
  }
}

import ChimeCore

// Handlers that wait, on any queue: each call is a task, and the calls of one timer never overlap.
extension AnyTimerQueue {
  /// Calls an asynchronous handler by a schedule. Calls never overlap: for ticks that come while one runs there is one
  /// more call, of the newest of them, whose `missed` counts the others.
  ///
  /// The queue only starts the calls; they run as tasks. A call that is running is cancelled when the timer ends.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - handler: runs in a task of its own.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule(
    _ schedule: Schedule, task handler: @escaping @Sendable (ChimeTimer.Tick) async -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let calls = AsyncCalls { tick in
      await handler(tick)
      return true
    }
    return try ChimeTimer.start(on: self, schedule) { tick in calls.put(tick) }
  }

  /// Calls an asynchronous handler once, at a point on the queue's clock or after a delay, or every `interval` from then
  /// on; see `schedule(_:task:)`.
  ///
  /// - Parameters:
  ///   - deadline: of the first call, on the queue's clock; one in the past is due at once.
  ///   - delay: of the first call, from now; 0 or more.
  ///   - interval: above 0; `nil` for one call. Without a deadline or a delay the first call comes one interval from now.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs in a task of its own.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock, for a deadline and a delay together, and for none
  ///   of the three; `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule(
    at deadline: TimerInstant? = nil, after delay: Duration? = nil, every interval: Duration? = nil,
    leeway: Duration = .zero,
    task handler: @escaping @Sendable (ChimeTimer.Tick) async -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.from(deadline, delay, interval, leeway), task: handler)
  }

  /// Calls `handler` on an actor by a schedule, as long as the actor lives. The handler is isolated to the actor, and can
  /// use its state. Calls never overlap; see `schedule(_:task:)`.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - actor: held only during a call.
  ///   - handler: runs on the actor.
  /// - Returns: the timer; it stops when its last reference goes, or the actor does.
  /// - Throws: as `schedule(_:task:)`.
  public func schedule<Isolation: Actor>(
    _ schedule: Schedule, on actor: Isolation,
    handler: @escaping @Sendable (isolated Isolation, ChimeTimer.Tick) async -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let target = try WeakTarget(actor)
    let calls = AsyncCalls { tick in
      guard let actor = target.object else { return false }
      await handler(actor, tick)
      return true
    }
    return try ChimeTimer.start(on: self, schedule, target) { _, tick in calls.put(tick) }
  }

  /// Calls `handler` on an actor once, at a point on the queue's clock or after a delay, or every `interval` from then on,
  /// as long as the actor lives; see `schedule(_:on:handler:)`.
  ///
  /// - Parameters:
  ///   - deadline: of the first call, on the queue's clock; one in the past is due at once.
  ///   - delay: of the first call, from now; 0 or more.
  ///   - interval: above 0; `nil` for one call. Without a deadline or a delay the first call comes one interval from now.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - actor: held only during a call.
  ///   - handler: runs on the actor.
  /// - Returns: the timer; it stops when its last reference goes, or the actor does.
  /// - Throws: `invalidArgument`, also for a deadline on another clock, for a deadline and a delay together, and for none
  ///   of the three; `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Isolation: Actor>(
    at deadline: TimerInstant? = nil, after delay: Duration? = nil, every interval: Duration? = nil,
    leeway: Duration = .zero, on actor: Isolation,
    handler: @escaping @Sendable (isolated Isolation, ChimeTimer.Tick) async -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.from(deadline, delay, interval, leeway), on: actor, handler: handler)
  }
}

/// The calls of an asynchronous handler, one at a time. Held by the timer's handler: when that goes, so does the call that
/// is running.
private final class AsyncCalls: Sendable {
  private struct State {
    /// The newest tick that no call has taken.
    var waiting: ChimeTimer.Tick?
    var call: Task<Void, Never>?
    var isCalling = false
    /// Counts the tasks.
    var number = 0
  }

  /// The part that calls keep.
  private final class Shared: Sendable {
    let state = Locked(State())

    /// The next tick; if there is none, no call is running any more.
    func take() -> ChimeTimer.Tick? {
      state.withLock { state in
        defer { state.waiting = nil }
        if state.waiting == nil { (state.isCalling, state.call) = (false, nil) }
        return state.waiting
      }
    }
  }

  private let shared = Shared()
  private let body: @Sendable (ChimeTimer.Tick) async -> Bool

  /// - Parameter body: answers whether there will be further calls.
  init(_ body: @escaping @Sendable (ChimeTimer.Tick) async -> Bool) { self.body = body }

  deinit { shared.state.withLock { $0.call }?.cancel() }

  func put(_ tick: ChimeTimer.Tick) {
    let number: Int? = shared.state.withLock { state in
      state.waiting = state.waiting.map { tick.after($0) } ?? tick
      if state.isCalling { return nil }
      state.isCalling = true
      state.number += 1
      return state.number
    }
    guard let number else { return }
    let call = Task { [shared, body] in
      while let tick = shared.take(), await body(tick) {}
    }
    // Unless it has ended by now.
    shared.state.withLock { state in if state.isCalling, state.number == number { state.call = call } }
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

import ChimeCore

// Timers with a target: an object that is held weakly, and handed to the handler. Two of each, since the type of a handler
// says where it runs.
extension TimerQueueProtocol where Handler == (ChimeTimer.Tick) -> Void {
  /// Calls `handler` with `target` once, at a point on the queue's clock or after a delay, or every `interval` from then
  /// on, as long as the target lives. The target is held only during a call.
  ///
  /// - Parameters:
  ///   - deadline: of the first call, on the queue's clock; one in the past is due at once.
  ///   - delay: of the first call, from now; 0 or more.
  ///   - interval: above 0; `nil` for one call. Without a deadline or a delay the first call comes one interval from now.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - target: an object that may be used by any thread. One that adopts `ChimeTimer.Target` ends the timer at once when
  ///     it goes.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument`, also for a deadline on another clock, for a deadline and a delay together, and for none
  ///   of the three; `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    at deadline: TimerInstant? = nil, after delay: Duration? = nil, every interval: Duration? = nil,
    leeway: Duration = .zero, target: Object,
    handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.from(deadline, delay, interval, leeway), target: target, handler: handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - target: held only during a call; see `schedule(at:after:every:leeway:target:handler:)`.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    _ schedule: Schedule, target: Object, handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, WeakTarget(target), handler)
  }
}

extension TimerQueueProtocol where Handler == @MainActor (ChimeTimer.Tick) -> Void {
  /// Calls `handler` with `target` once, at a point on the queue's clock or after a delay, or every `interval` from then
  /// on, as long as the target lives. The target is held only during a call.
  ///
  /// - Parameters:
  ///   - deadline: of the first call, on the queue's clock; one in the past is due at once.
  ///   - delay: of the first call, from now; 0 or more.
  ///   - interval: above 0; `nil` for one call. Without a deadline or a delay the first call comes one interval from now.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - target: an object of the main actor, or one that may be used by any thread.
  ///   - handler: runs on the main actor, and gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument`, also for a deadline on another clock, for a deadline and a delay together, and for none
  ///   of the three; `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    at deadline: TimerInstant? = nil, after delay: Duration? = nil, every interval: Duration? = nil,
    leeway: Duration = .zero, target: Object,
    handler: @escaping @MainActor (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.from(deadline, delay, interval, leeway), target: target, handler: handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - target: held only during a call; see `schedule(at:after:every:leeway:target:handler:)`.
  ///   - handler: runs on the main actor, and gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    _ schedule: Schedule, target: Object, handler: @escaping @MainActor (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, WeakTarget(target)) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }
}

import ChimeCore

// Timers with a target: an object that is held weakly, and handed to the handler.
extension TimerQueue {
  /// Calls `handler` with `target` every `interval`, as long as the target lives. The target is held only during a
  /// call.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - target: an object that may be used by any thread. One that adopts `ChimeTimer.Target` ends the timer at once when
  ///     it goes.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    every interval: Duration, leeway: Duration = .zero, target: Object,
    handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, TimerQueue.repeating(interval, leeway), WeakTarget(target), handler)
  }

  /// Calls `handler` once with `target`, `delay` from now, if the target is alive then.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - target: held only during the call; see `schedule(every:leeway:target:handler:)`.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    after delay: Duration, leeway: Duration = .zero, target: Object,
    handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let schedule = Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds)
    return try ChimeTimer.start(on: self, schedule, WeakTarget(target), handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - target: held only during a call; see `schedule(every:leeway:target:handler:)`.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    _ schedule: Schedule, target: Object, handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, WeakTarget(target), handler)
  }

  /// Calls `handler` by a schedule with a target that the compiler does not know to be safe on the queue.
  ///
  /// The handler runs on the queue, and nothing keeps other threads from the target meanwhile: the caller has to. With a
  /// `Sendable` target, `schedule(_:target:handler:)` does the same, checked.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - target: held only during a call. Whoever else uses it does so on the queue, or under a lock.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: as `schedule(_:target:handler:)`.
  @unsafe
  public func schedule<Object: AnyObject>(
    _ schedule: Schedule, unsafeTarget target: Object,
    handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, WeakTarget(target), handler)
  }
}

import ChimeCore

/// What every kind of timer queue does, for code that is to run on any of them: all calls rest on one,
/// `schedule(_:label:handler:)`.
///
/// A handler is isolated to the main actor on a `MainTimerQueue`, and to nothing on every other queue. Generic code writes one
/// that is `@Sendable`, which every queue takes: `AnyTimerQueue.schedule(_:label:anywhere:)`. The classes of this module are
/// the only ones that adopt the protocol.
public protocol TimerQueueProtocol: AnyTimerQueue {
  /// What a tick calls: `(ChimeTimer.Tick) -> Void`, on a `MainTimerQueue` isolated to the main actor.
  associatedtype Handler

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers: `dump`, traces and `ChimeDiagnostics` name the timer by it. It ends at its first NUL.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `shutDown` if the queue
  ///   has ended.
  func schedule(_ schedule: Schedule, label: String, handler: sending Handler) throws(ChimeError) -> ChimeTimer
}

// The times of a call, each once for every queue. Inlinable, so that a handler is passed on as what it is: behind a protocol
// it would be wrapped, at the cost of two allocations for each timer.
extension TimerQueueProtocol {
  /// Calls `handler` once, after a delay.
  ///
  /// - Parameters:
  ///   - delay: from now; 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the queue. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  @inlinable
  public func schedule(
    after delay: Duration, leeway: Duration = .zero, label: String = "", handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.shorthand(delay, nil, leeway), label: label, handler: handler)
  }

  /// Calls `handler` once, at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past is due at once.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the queue. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock; `limit`, `noMemory`; `shutDown` if the queue has ended.
  @inlinable
  public func schedule(
    at deadline: TimerInstant, leeway: Duration = .zero, label: String = "", handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.once(at: deadline, leeway: leeway), label: label, handler: handler)
  }

  /// Calls `handler` every `interval`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first call, from now, 0 or more; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  @inlinable
  public func schedule(
    every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero, label: String = "",
    handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.shorthand(delay, interval, leeway), label: label, handler: handler)
  }

  /// Calls `handler` every `interval`, for the first time at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - deadline: of the first call, on the queue's clock; one in the past is due at once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock; `limit`, `noMemory`; `shutDown` if the queue has ended.
  @inlinable
  public func schedule(
    every interval: Duration, at deadline: TimerInstant, leeway: Duration = .zero, label: String = "",
    handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(.every(interval, at: deadline, leeway: leeway), label: label, handler: handler)
  }
}

extension AnyTimerQueue {
  /// Calls a handler that may run anywhere by a schedule: for code that does not know on which kind of queue it is.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers: `dump`, traces and `ChimeDiagnostics` name the timer by it. It ends at its first NUL.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `shutDown` if the queue
  ///   has ended.
  @_disfavoredOverload
  public func schedule(
    _ schedule: Schedule, label: String = "", anywhere handler: @escaping @Sendable (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label, handler)
  }
}

extension Schedule {
  /// What a call of `schedule(after:)` or `schedule(every:)` says; checked when the timer is made.
  @usableFromInline
  package static func shorthand(
    _ delay: Duration?, _ interval: Duration?, _ leeway: Duration
  ) throws(ChimeError) -> Schedule {
    if let interval { try checkInterval(interval) }
    let length = interval?.nanoseconds ?? 0
    return Schedule(first: delay?.nanoseconds ?? length, interval: length, leeway: leeway.nanoseconds)
  }
}

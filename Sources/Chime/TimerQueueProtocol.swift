import ChimeCore

/// What every timer queue does: all of its calls rest on one, `schedule(_:handler:)`.
///
/// A handler is a function of the tick. It is isolated to the main actor on a `MainTimerQueue`, and to nothing on every
/// other queue. The classes of this module are the only ones that adopt the protocol.
public protocol TimerQueueProtocol: AnyTimerQueue {
  /// What a tick calls: `(ChimeTimer.Tick) -> Void`, on a `MainTimerQueue` isolated to the main actor.
  associatedtype Handler
  /// A function without parameters, isolated as `Handler` is.
  associatedtype Action

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  func schedule(_ schedule: Schedule, handler: sending Handler) throws(ChimeError) -> ChimeTimer

  /// For Chime: the function as the core calls it.
  static func _function(_ action: sending Action) -> sending () -> Void

  /// For Chime: the handler as the core calls it.
  static func _function(ticking handler: sending Handler) -> sending (ChimeTimer.Tick) -> Void
}

// Inlinable, so that a handler is passed on as what it is: behind a protocol it would be wrapped, at the cost of two
// allocations for each timer.
extension TimerQueueProtocol {
  // MARK: Timers

  /// Calls `handler` every `interval`, for the first time one interval from now.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  @inlinable
  public func schedule(
    every interval: Duration, leeway: Duration = .zero, handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(Schedule.repeating(interval, leeway), handler: handler)
  }

  /// Calls `handler` once, `delay` from now, or every `interval` from then on.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - interval: above 0; `nil` for once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  @inlinable
  public func schedule(
    after delay: Duration, every interval: Duration? = nil, leeway: Duration = .zero, handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(Schedule.from(delay, interval, leeway), handler: handler)
  }

  /// Calls `handler` at a point on the queue's clock, once, or every `interval` from then on.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past is due at once.
  ///   - interval: above 0; `nil` for once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock; `limit`, `noMemory`; `invalidHandle` if the queue
  ///   was shut down.
  @inlinable
  public func schedule(
    at deadline: TimerInstant, every interval: Duration? = nil, leeway: Duration = .zero, handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try schedule(Schedule.from(deadline, interval, leeway), handler: handler)
  }

  /// Makes an idle timer: `ChimeTimer.restart` gives it a schedule.
  ///
  /// - Parameters:
  ///   - label: for debuggers: `dump` and traces name the timer by it.
  ///   - registrationHandler: called on the queue at each start, before the first tick.
  ///   - cancelHandler: called on the queue after each cancel, and when the timer is released while running or
  ///     suspended.
  ///   - handler: called on the queue at each tick.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func makeTimer(
    label: String = "", registrationHandler: sending Action? = nil, cancelHandler: sending Action? = nil,
    handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    try makeIdle(
      label: label, registrationHandler: Self.function(registrationHandler),
      cancelHandler: Self.function(cancelHandler), handler: Self._function(ticking: handler))
  }

  static func function(_ action: sending Action?) -> sending (() -> Void)? {
    if let action { Self._function(action) } else { nil }
  }

  // MARK: Functions

  /// Runs `body` once, `delay` from now. Nobody holds the timer, and nobody can stop it but `shutdown`: until then the
  /// queue lives.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - body: runs on the queue.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  @inlinable
  public func perform(after delay: Duration, _ body: sending Action) throws(ChimeError) {
    try run(after: delay, Self._function(body))
  }

  /// Runs `body` on the queue as soon as possible, in turn with its handlers.
  ///
  /// - Parameter body: runs on the queue.
  /// - Throws: `noMemory`; `invalidHandle` if the queue was shut down.
  @inlinable
  public func perform(_ body: sending Action) throws(ChimeError) { try run(Self._function(body)) }
}

extension Schedule {
  /// A schedule of `schedule(every:)`.
  @usableFromInline
  package static func repeating(_ interval: Duration, _ leeway: Duration) throws(ChimeError) -> Schedule {
    try checkInterval(interval)
    let nanoseconds = interval.nanoseconds
    return Schedule(first: nanoseconds, interval: nanoseconds, leeway: leeway.nanoseconds)
  }

  /// A schedule of `schedule(after:)`.
  @usableFromInline
  package static func from(
    _ delay: Duration, _ interval: Duration?, _ leeway: Duration
  ) throws(ChimeError) -> Schedule {
    if let interval { try checkInterval(interval) }
    return Schedule(
      first: delay.nanoseconds, interval: interval?.nanoseconds ?? 0, leeway: leeway.nanoseconds)
  }

  /// A schedule of `schedule(at:)`.
  @usableFromInline
  package static func from(
    _ deadline: TimerInstant, _ interval: Duration?, _ leeway: Duration
  ) throws(ChimeError) -> Schedule {
    if let interval { try checkInterval(interval) }
    return try Schedule(
      first: deadline.nanoseconds, firstIsDeadline: true, interval: interval?.nanoseconds ?? 0,
      leeway: leeway.nanoseconds
    ).checked(deadline)
  }
}

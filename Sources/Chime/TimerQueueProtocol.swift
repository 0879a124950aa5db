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
  /// What a countdown calls: `(Duration) -> Void`, isolated as `Handler` is.
  associatedtype _CountdownHandler

  /// For Chime: the function as the core calls it.
  static func _function(_ action: sending Action) -> sending () -> Void

  /// For Chime: the handler as the core calls it.
  static func _function(ticking handler: sending Handler) -> sending _Kept<(ChimeTimer.Tick) -> Void>

  /// For Chime: the handler as a countdown calls it.
  static func _function(counting handler: sending _CountdownHandler) -> sending (Duration) -> Void
}

// Inlinable, so that a handler is passed on as what it is: behind a protocol it would be wrapped, at the cost of two
// allocations for each timer.
extension TimerQueueProtocol {
  // MARK: Timers

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  @inlinable
  public func schedule(_ schedule: Schedule, handler: sending Handler) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: "", Self._function(ticking: handler))
  }

  /// Calls `handler` once, at a point on the queue's clock or after a delay, or every `interval` from then on.
  ///
  ///     try queue.schedule(every: .seconds(1)) { tick in … }
  ///     try queue.schedule(after: .seconds(5)) { tick in … }
  ///     try queue.schedule(at: deadline, every: .seconds(60)) { tick in … }
  ///
  /// - Parameters:
  ///   - deadline: of the first call, on the queue's clock; one in the past is due at once.
  ///   - delay: of the first call, from now; 0 or more.
  ///   - interval: above 0; `nil` for one call. Without a deadline or a delay the first call comes one interval from now.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock, for a deadline and a delay together, and for none
  ///   of the three; `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  @inlinable
  public func schedule(
    at deadline: TimerInstant? = nil, after delay: Duration? = nil, every interval: Duration? = nil,
    leeway: Duration = .zero, handler: sending Handler
  ) throws(ChimeError) -> ChimeTimer {
    // What the compiler knows of the call is decided there.
    if deadline == nil, interval == nil, let delay {
      return try ChimeTimer.start(on: self, after: delay, leeway: leeway, Self._function(ticking: handler))
    }
    return try schedule(.from(deadline, delay, interval, leeway), handler: handler)
  }

  /// Makes an idle timer: `TimerReference.restart(_:)` gives it a schedule and starts it.
  ///
  /// - Parameters:
  ///   - label: for debuggers: `dump` and traces name the timer by it. It ends at its first NUL.
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
      cancelHandler: Self.function(cancelHandler), handler: Self._function(ticking: handler).function)
  }

  static func function(_ action: sending Action?) -> sending (() -> Void)? {
    if let action { Self._function(action) } else { nil }
  }

  // MARK: Functions

  /// Runs `body` on the queue, in turn with its handlers: as soon as possible, or `delay` from now. Nobody can stop it but
  /// `shutdown`: until then the queue lives.
  ///
  /// - Parameters:
  ///   - delay: 0 or more; `nil` for as soon as possible.
  ///   - body: runs on the queue.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  @inlinable
  public func perform(after delay: Duration? = nil, _ body: sending Action) throws(ChimeError) {
    let body = Self._function(body)
    if let delay { try run(after: delay, body) } else { try run(body) }
  }
}

extension Schedule {
  /// When a call of `schedule(at:after:every:)` says.
  @usableFromInline
  package static func from(
    _ deadline: TimerInstant?, _ delay: Duration?, _ interval: Duration?, _ leeway: Duration
  ) throws(ChimeError) -> Schedule {
    if let interval { try checkInterval(interval) }
    let (length, late) = (interval?.nanoseconds, leeway.nanoseconds)
    if let deadline {
      if delay != nil { throw .argument("at and after are both given: the first call has one time") }
      return try Schedule(
        first: deadline.nanoseconds, firstIsDeadline: true, interval: length ?? 0, leeway: late
      ).checked(deadline)
    }
    guard let first = delay?.nanoseconds ?? length else {
      throw .argument("neither at, after nor every is given: the handler would never run")
    }
    return Schedule(first: first, interval: length ?? 0, leeway: late)
  }
}

/// For Chime: a function as generic code passes it. A handler comes that way, and a function type of its own would have it
/// wrapped, at the cost of an allocation for each timer.
@frozen public struct _Kept<Function> {
  @usableFromInline let function: Function

  @inlinable @inline(__always)
  init(_ function: Function) { self.function = function }
}

import ChimeCore

// Timers of every queue. A handler may run anywhere, and is sent to the queue: it is isolated to nothing. A `MainTimerQueue` has
// the same calls for handlers of the main actor, which come first there.
extension AnyTimerQueue {
  /// Calls `handler` by a schedule.
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
    _ schedule: Schedule, label: String = "", handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label, handler)
  }

  /// Calls `handler` once, after a delay.
  ///
  /// - Parameters:
  ///   - delay: from now; 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the queue. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  @_disfavoredOverload
  @inlinable
  public func schedule(
    after delay: Duration, leeway: Duration = .zero, label: String = "",
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, after: delay, leeway: leeway, label: label, handler)
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
  @_disfavoredOverload
  public func schedule(
    at deadline: TimerInstant, leeway: Duration = .zero, label: String = "",
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, .once(at: deadline, leeway: leeway), label: label, handler)
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
  @_disfavoredOverload
  public func schedule(
    every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero, label: String = "",
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, .shorthand(delay, interval, leeway), label: label, handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives. The target is held only during a call.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - target: an object that may be used by any thread. One that adopts `ChimeTimer.Target` ends the timer at once when
  ///     it goes.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: as `schedule(_:label:handler:)`.
  @_disfavoredOverload
  public func schedule<Object: AnyObject & Sendable>(
    _ schedule: Schedule, label: String = "", target: Object,
    handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label, WeakTarget(target), handler)
  }

  /// Makes an idle timer: `restart(_:)` gives it a schedule and starts it.
  ///
  /// - Parameters:
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: called on the queue at each tick.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `shutDown` if the queue has ended.
  @_disfavoredOverload
  public func makeTimer(
    label: String = "", handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try makeIdle(label: label, handler: handler)
  }

  /// Makes an idle timer that calls a handler at its start and at its end, too.
  ///
  /// - Parameters:
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handlers: makes them, at once, here. They are called on the queue, one at a time.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func makeTimer(
    label: String = "", handlers: sending () -> ChimeTimer.Handlers
  ) throws -> ChimeTimer {
    try makeIdle(label: label, handlers: handlers())
  }

  /// Runs `body` on the queue, in turn with its handlers: as soon as possible, or `delay` from now. Only `shutdown` stops it:
  /// until then the queue lives.
  ///
  /// - Parameters:
  ///   - delay: 0 or more; `nil` for as soon as possible.
  ///   - body: runs on the queue.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  @_disfavoredOverload
  public func perform(after delay: Duration? = nil, _ body: sending @escaping () -> Void) throws {
    if let delay { try run(after: delay, body) } else { try run(body) }
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

extension ChimeTimer {
  /// What a timer calls. The handlers may share what is not `Sendable`: their calls never overlap, and they go to the queue
  /// together.
  ///
  ///     let timer = try queue.makeTimer(handlers: {
  ///       var count = 0
  ///       return .init(registration: { count = 0 }, cancel: { print(count) }) { _ in count += 1 }
  ///     })
  public struct Handlers {
    let registration: (() -> Void)?
    let cancel: (() -> Void)?
    let tick: (ChimeTimer.Tick) -> Void

    /// The handlers of one timer.
    ///
    /// - Parameters:
    ///   - registration: called at each start, before the first tick, unless the timer is cancelled first.
    ///   - cancel: called after each cancel, and when the timer is released while running or suspended.
    ///   - tick: called at each tick.
    public init(
      registration: (() -> Void)? = nil, cancel: (() -> Void)? = nil, tick: @escaping (ChimeTimer.Tick) -> Void
    ) {
      (self.registration, self.cancel, self.tick) = (registration, cancel, tick)
    }
  }
}

import ChimeCore

/// What can be done with a timer: with a `ChimeTimer`, which keeps it, and with a `ChimeTimer.Reference`, which does not. Any
/// thread. No other types adopt the protocol.
public protocol TimerProtocol: Hashable, Sendable, CustomStringConvertible {
  /// The timer, not kept.
  var _reference: ChimeTimer.Reference { get }
}

extension TimerProtocol {
  // What the core knows the timer by, and the clock of its queue.
  package var handle: UInt64 { _reference.handle }
  package var timeline: TimerInstant.Timeline { _reference.timeline }
  package var generation: UInt64? { _reference.generation }

  // MARK: Looking

  /// The timer's state; `cancelled` once it was invalidated, its queue has ended, or its target is gone.
  public var state: TimerState { _reference.currentState }

  /// When the next tick is due, on the queue's clock; `nil` if none is.
  public var nextDeadline: TimerInstant? { _reference.currentDeadline }

  /// The schedule that the timer was given last, with what `restart(after:)` and `setInterval` have changed of it since; `nil`
  /// if there was never one, and once the timer has ended.
  public var schedule: Schedule? { _reference.currentSchedule }

  /// Whether `HostTimerQueue.run` returns although the timer is running. It makes no other difference. A timer that has ended
  /// is not in the background, and to set it changes nothing, as where memory has run out.
  public var isInBackground: Bool {
    get { _reference.isBackground }
    nonmutating set { _ = _reference.answer { $0.setBackground(newValue) } }
  }

  // MARK: Starting and changing

  /// Makes the timer run from now on, whatever its state, in one transition that loses no tick: starts one that is idle,
  /// finished or cancelled, and begins anew with one that is running or suspended. Ignored by a timer that has ended.
  ///
  /// - Parameter schedule: `nil` keeps the present one.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument` if there was never a schedule, or its deadline is on another clock than the queue's;
  ///   `noMemory`.
  @discardableResult
  @inlinable
  public func restart(_ schedule: Schedule? = nil) throws -> ChimeTimer.Outcome {
    try _reference.restarted(schedule)
  }

  /// Makes the timer run from now on, whatever its state: its next tick is due after `delay`, and the rest of its schedule
  /// stays. A timer that never had a schedule ticks once.
  ///
  /// - Parameter delay: 0 or more.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func restart(after delay: Duration) throws -> ChimeTimer.Outcome {
    let first = delay.nanoseconds
    guard first >= 0 else { throw ChimeError.argument("delay is \(delay): it must be 0 or more") }
    return try _reference.perform(.restarts) { $0.restart(first: first, isDeadline: false) }
  }

  /// Changes the interval and nothing else: the next tick is due when it was, and the grid goes on from there by the new
  /// interval. First delay, state, policies, tick limit and the count against it stay; of leeway and jitter what does not go
  /// with the new interval is cut off. Ignored by a timer that ticks once, or has ended.
  ///
  /// - Parameter interval: above 0.
  /// - Returns: done, or running; ignored, or ignoredRunning.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func setInterval(_ interval: Duration) throws -> ChimeTimer.Outcome {
    try Schedule.checkInterval(interval)
    return try _reference.perform { $0.setInterval(interval.nanoseconds) }
  }

  /// Changes the schedule; the state stays. A first delay counts from now.
  ///
  /// - Parameter schedule: what takes the place of the present one.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument` if the deadline is on another clock than the queue's; `noMemory`.
  @discardableResult
  public func reschedule(_ schedule: Schedule) throws -> ChimeTimer.Outcome {
    try schedule.check(for: timeline)
    return try _reference.perform(.moves) { $0.reschedule(schedule) }
  }

  /// Moves the next deadline to `delay` from now, if that is later: the call for idle timeouts.
  ///
  /// A call of an asynchronous handler may still wait for its actor when the tick has started: `restart(after:)` takes it
  /// back, too.
  ///
  /// - Parameter delay: 0 or more.
  /// - Returns: done, or running if an earlier call of the handler has not returned; ignored, or ignoredRunning, if the timer is
  ///   neither running nor suspended: its tick has started.
  /// - Throws: `invalidArgument`.
  @discardableResult
  @inlinable
  public func postpone(by delay: Duration) throws -> ChimeTimer.Outcome {
    try _reference.postponed(by: delay)
  }

  /// Moves the next deadline to a point on the queue's clock, if that is later.
  ///
  /// - Parameter deadline: on the queue's clock.
  /// - Returns: done, or running if an earlier call of the handler has not returned; ignored, or ignoredRunning, if the timer is
  ///   neither running nor suspended: its tick has started.
  /// - Throws: `invalidArgument` for a deadline on another clock.
  @discardableResult
  public func postpone(until deadline: TimerInstant) throws -> ChimeTimer.Outcome {
    try Schedule.check(deadline, for: timeline)
    return try _reference.postponed(until: deadline.nanoseconds)
  }

  // MARK: Holding back and ending

  /// Holds ticks back; ignored unless running, or an extra tick is to come, which it drops. Once it has returned, no tick
  /// starts. A call of an asynchronous handler that waits for its actor is held back like its tick.
  ///
  /// - Returns: done, or running; ignored, or ignoredRunning.
  @discardableResult
  public func suspend() -> ChimeTimer.Outcome { _reference.answer(.suspends) { $0.suspend() } }

  /// Lets ticks through again; ignored unless suspended.
  ///
  /// - Returns: done or ignored.
  @discardableResult
  public func resume() -> ChimeTimer.Outcome { _reference.answer(.resumes) { $0.resume() } }

  /// Requests one extra tick, outside the schedule, on the queue.
  ///
  /// - Returns: done; ignored if the timer is cancelled or has ended, or memory has run out.
  @discardableResult
  public func fire() -> ChimeTimer.Outcome { _reference.answer(.fires) { $0.fire() } }

  /// Stops the timer; ignored unless running or suspended, or an extra tick is to come, which it drops. Once it has
  /// returned, no tick starts. The handler is kept: the timer can be started again.
  ///
  /// - Returns: done, or running; ignored, or ignoredRunning, as while the only call of a one-shot runs: its tick has finished it.
  @discardableResult
  @inlinable
  public func cancel() -> ChimeTimer.Outcome { _reference.cancelled() }

  /// Ends the timer for good and lets go of its handler, now or, if it is running, when it returns. Once it has returned,
  /// no tick starts, and the timer says that it is cancelled.
  ///
  /// - Returns: done, or running; ignored, or ignoredRunning, if it had ended.
  @discardableResult
  public func invalidate() -> ChimeTimer.Outcome {
    defer { _reference.tellEnd() }
    return _reference.answer(.moves) { $0.release() }
  }

  /// Cancels, then waits until the handler is not running, and cancels what it has started again meanwhile. Blocks the calling
  /// thread; no call of the handler is cancelled. In a task: `cancelAndWait(timeout:)`.
  ///
  /// - Parameter timeout: less than 0 counts as 0; `nil` for no limit.
  /// - Returns: done, ignored or timedOut.
  /// - Throws: `wouldDeadlock` if the handler is the caller's own, or waits for the caller, and on the actor of a call of an
  ///   asynchronous handler that runs; the timer is cancelled anyway.
  @available(*, noasync, message: "in a task, await cancelAndWait: it blocks no thread")
  @discardableResult
  public func blockingCancelAndWait(timeout: Duration? = nil) throws -> ChimeTimer.Outcome {
    try _reference.stoppedAndWaited(timeout)
  }

  /// Cancels, then waits until the handler is not running, and cancels what it has started again meanwhile. Blocks no
  /// thread; no call of the handler is cancelled.
  ///
  /// - Parameter timeout: in real time; less than 0 counts as 0; `nil` for no limit.
  /// - Returns: done, ignored or timedOut.
  /// - Throws: `CancellationError`; `wouldDeadlock` if the handler is the caller's own, or waits for the caller. The timer
  ///   is cancelled anyway.
  @discardableResult
  public nonisolated(nonsending) func cancelAndWait(timeout: Duration? = nil) async throws -> ChimeTimer.Outcome {
    try await _reference.stoppedAndAwaited(timeout)
  }

  // MARK: Names

  /// Whether both name the same timer.
  public static func == (a: Self, b: Self) -> Bool { a.handle == b.handle }

  /// Feeds what names the timer.
  ///
  /// - Parameter hasher: takes it.
  public func hash(into hasher: inout Hasher) { hasher.combine(handle) }

  /// Label, state, and when the next tick is due: for people.
  public var description: String { _reference.text }
}

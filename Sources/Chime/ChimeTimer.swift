import ChimeCore

/// A timer on a `TimerQueue`. Calls may be made in any order and from any thread, inside the handler too. A call that
/// means nothing in the timer's state is ignored and says so. Once its target is gone, the timer is cancelled for good,
/// and calls that would change it throw `targetGone`.
///
/// The timer stops when its last reference goes, or when its queue ends; it does not hold the queue. It owns its
/// handler and releases it after the call that is running. A handler that captures its timer strongly keeps both alive
/// until the queue ends.
public final class ChimeTimer: Sendable {
  private let id: UInt64
  /// Whether the target is gone; `nil` for a timer without one.
  private let targetHasGone: (@Sendable () -> Bool)?

  init(_ queue: UInt64, _ schedule: Schedule, _ handler: sending @escaping (Tick) -> Void) throws(ChimeError) {
    guard schedule.isValid else { throw .invalidArgument }
    id = try HandlerBox.start(on: queue, schedule, HandlerBox(consume handler))
    targetHasGone = nil
  }

  /// An idle timer.
  init(_ queue: UInt64, label: String, _ box: sending HandlerBox) throws(ChimeError) {
    id = try HandlerBox.make(on: queue, label: label, box)
    targetHasGone = nil
  }

  init<Object: AnyObject>(
    _ queue: UInt64, _ schedule: Schedule, _ target: WeakTarget<Object>,
    _ handler: sending @escaping (Object, Tick) -> Void
  ) throws(ChimeError) {
    guard schedule.isValid else { throw .invalidArgument }
    let box = HandlerBox { tick in
      if let object = target.object {
        handler(object, tick)
      } else {
        _ = TimerRef.release(tick.timer)
      }
    }
    let id = try HandlerBox.start(on: queue, schedule, target: target.tokenID, box)
    self.id = id
    targetHasGone = { target.object == nil }
    if target.tokenID == 0 {
      TargetSweep.watch {
        if target.object == nil { _ = TimerRef.release(id) }
        return TimerRef(id)?.state == nil
      }
    }
  }

  deinit { _ = TimerRef.release(id) }

  /// Whether the target is gone; if so, releases what the timer held for it.
  private var hasLostTarget: Bool {
    guard let targetHasGone, targetHasGone() else { return false }
    _ = TimerRef.release(id)
    return true
  }

  /// The timer's state; `cancelled` once its queue has ended or its target is gone.
  public var state: TimerState { hasLostTarget ? .cancelled : TimerRef(id)?.state ?? .cancelled }

  /// When the next tick is due, in nanoseconds on the queue's clock; `nil` if none is.
  public var nextDeadline: Int64? {
    guard !hasLostTarget, let deadline = TimerRef(id)?.nextDeadline, deadline != .max else { return nil }
    return deadline
  }

  /// A number that changes with every accepted activate, restart, reschedule, suspend and cancel; the next tick carries
  /// it. `nil` once the queue has ended or the target is gone. See `Tick.isCurrent`.
  public var generation: UInt64? { hasLostTarget ? nil : TimerRef(id)?.generation }

  /// Why the timer does not fire, in one sentence: it was never activated, it was suspended some time ago, it is due
  /// later, another handler holds it up, nobody drives its queue. For people: the wording may change. Takes time in
  /// proportion to the queue's timers.
  public var explanation: String {
    if hasLostTarget { return "its target has gone, which has cancelled it." }
    return TimerRef(id)?.explanation ?? "its queue has ended."
  }

  /// Starts a timer that is idle, finished or cancelled; otherwise ignored.
  ///
  /// - Parameter schedule: `nil` keeps the present one.
  /// - Throws: `invalidArgument` if there was never one; `targetGone`, `invalidHandle`, `noMemory`.
  @discardableResult
  public func activate(_ schedule: Schedule? = nil) throws(ChimeError) -> Outcome {
    try perform { $0.activate(schedule) }
  }

  /// Makes the timer run from now on, whatever its state, in one transition that loses no tick.
  ///
  /// - Parameter schedule: `nil` keeps the present one.
  /// - Throws: as `activate(_:)`.
  @discardableResult
  public func restart(_ schedule: Schedule? = nil) throws(ChimeError) -> Outcome {
    try perform { $0.restart(schedule) }
  }

  /// Runs once, at a point on the queue's clock.
  func restart(at deadline: Int64) throws(ChimeError) {
    _ = try perform { $0.restart(Schedule(first: deadline, firstIsDeadline: true)) }
  }

  /// Holds ticks back; ignored unless running. Once it has returned, no tick starts.
  @discardableResult
  public func suspend() throws(ChimeError) -> Outcome { try perform { $0.suspend() } }

  /// Lets ticks through again; ignored unless suspended.
  @discardableResult
  public func resume() throws(ChimeError) -> Outcome { try perform { $0.resume() } }

  /// Changes the interval. State and the rest of the schedule stay; the next tick is due one interval from now, and the
  /// count against a tick limit starts again.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: 0 or more, below the interval; `nil` keeps the present one, shortened if necessary.
  /// - Throws: `invalidArgument`; `invalidHandle`, `noMemory`, `targetGone`.
  @discardableResult
  public func reschedule(every interval: Duration, leeway: Duration? = nil) throws(ChimeError) -> Outcome {
    let (interval, leeway) = (interval.nanoseconds, leeway?.nanoseconds)
    guard Schedule(first: interval, interval: interval, leeway: leeway ?? 0).isValid, interval > 0 else {
      throw .invalidArgument
    }
    return try perform { $0.reschedule(interval: interval, leeway: leeway) }
  }

  /// Changes the schedule; the state stays. A first delay counts from now.
  @discardableResult
  public func reschedule(_ schedule: Schedule) throws(ChimeError) -> Outcome { try perform { $0.reschedule(schedule) } }

  /// Moves the next deadline to `delay` from now, if that is later: the call for idle timeouts.
  /// - Parameter delay: 0 or more.
  /// - Returns: ignored if the timer is neither running nor suspended, or its tick has started.
  @discardableResult
  public func postpone(by delay: Duration) throws(ChimeError) -> Outcome {
    guard delay >= .zero else { throw .invalidArgument }
    return try perform { $0.postpone(delay: delay.nanoseconds) }
  }

  /// Moves the next deadline to a point on the queue's clock, in nanoseconds, if that is later.
  /// - Returns: ignored if the timer is neither running nor suspended, or its tick has started.
  @discardableResult
  public func postpone(until deadline: Int64) throws(ChimeError) -> Outcome {
    try perform { $0.postpone(until: deadline) }
  }

  /// Requests one extra tick, outside the schedule, on the queue.
  @discardableResult
  public func fire() throws(ChimeError) -> Outcome { try perform { $0.fire() } }

  /// Stops the timer; ignored unless running or suspended. Once it has returned, no tick starts.
  @discardableResult
  public func cancel() throws(ChimeError) -> Outcome { try performEnding { $0.cancel() } }

  /// Cancels, then waits until the handler is not running. Waits for a handler.
  /// - Parameter timeout: 0 or more; `nil` for no limit.
  /// - Throws: `wouldDeadlock` if the handler is the caller's own, or waits for the caller; the timer is cancelled
  ///   anyway.
  @discardableResult
  public func cancelAndWait(timeout: Duration? = nil) throws(ChimeError) -> Outcome {
    try performEnding { $0.cancelAndWait(timeout: max(0, timeout?.nanoseconds ?? .max)) }
  }

  /// A timer that has lost its target has nothing to cancel.
  private func performEnding(_ operation: (TimerRef) -> Status) throws(ChimeError) -> Outcome {
    hasLostTarget ? .ignored : try perform(operation)
  }

  private func perform(_ operation: (TimerRef) -> Status) throws(ChimeError) -> Outcome {
    if hasLostTarget { throw .targetGone }
    guard let timer = TimerRef(id) else { throw Status.unknownHandle.error }
    return try operation(timer).outcome()
  }
}

import ChimeCore

/// A timer on a `TimerQueue`. Every call may be made in any order, from any thread, inside the handler too; one that
/// means nothing in the timer's state is ignored and says so. Once its target has gone it is
/// cancelled for good, and calls that would change it throw `targetGone`.
///
/// The timer owns its handler and stops when the last reference to it goes, or its queue, which it does not hold; the handler is let go after the call that
/// runs. A handler that captures its timer strongly keeps both alive until the queue ends.
public final class ChimeTimer: Sendable {
  private let id: UInt64
  /// Whether the target has gone; `nil` for a timer without one.
  private let targetHasGone: (@Sendable () -> Bool)?

  init(_ queue: UInt64, _ schedule: Schedule, _ handler: sending @escaping (Tick) -> Void) throws(ChimeError) {
    guard schedule.isValid else { throw .invalidArgument }
    id = try HandlerBox.start(on: queue, schedule, HandlerBox(handler))
    targetHasGone = nil
  }

  /// An idle timer, or one that starts at once.
  init(_ queue: UInt64, _ schedule: Schedule?, _ box: sending HandlerBox) throws(ChimeError) {
    id = try HandlerBox.start(on: queue, schedule, box)
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

  /// Whether the target has gone; lets go of what the timer held for it.
  private var hasLostTarget: Bool {
    guard let targetHasGone, targetHasGone() else { return false }
    _ = TimerRef.release(id)
    return true
  }

  /// Where the timer stands; `cancelled` after its queue has ended or its target has gone.
  public var state: TimerState { hasLostTarget ? .cancelled : TimerRef(id)?.state ?? .cancelled }

  /// When the next tick is due, in nanoseconds on the queue's clock; `nil` when none is.
  public var nextDeadline: Int64? {
    guard !hasLostTarget, let deadline = TimerRef(id)?.nextDeadline, deadline != .max else { return nil }
    return deadline
  }

  /// A number that changes with every accepted activate, restart, reschedule, suspend and cancel, and that the next tick
  /// will carry; `nil` after the queue has ended or the target has gone. See `Tick.isCurrent`.
  public var generation: UInt64? { hasLostTarget ? nil : TimerRef(id)?.generation }

  /// Why the timer does not fire, in one sentence: never activated, suspended for so long, due in so long, held up by
  /// another handler, its queue not driven. For people: the wording may change. Looks at every timer of the queue.
  public var explanation: String {
    if hasLostTarget { return "its target has gone, which has cancelled it." }
    return TimerRef(id)?.explanation ?? "its queue has ended."
  }

  /// Starts the timer's next life; ignored unless it is idle, finished or cancelled.
  ///
  /// - Parameter schedule: `nil` keeps the one it has.
  /// - Throws: `invalidArgument` when it never had one; `targetGone`, `invalidHandle`, `noMemory`.
  @discardableResult
  public func activate(_ schedule: Schedule? = nil) throws(ChimeError) -> Outcome {
    try perform { $0.activate(schedule) }
  }

  /// Runs from now, whatever the state: one transition, in which no tick can get lost.
  ///
  /// - Parameter schedule: `nil` keeps the one it has.
  /// - Throws: as `activate(_:)`.
  @discardableResult
  public func restart(_ schedule: Schedule? = nil) throws(ChimeError) -> Outcome {
    try perform { $0.restart(schedule) }
  }

  /// Runs once, at a point on the queue's clock.
  func restart(at deadline: Int64) throws(ChimeError) {
    _ = try perform { $0.restart(Schedule(first: deadline, firstIsDeadline: true)) }
  }

  /// Holds ticks back; ignored unless running. After it has returned no tick starts.
  @discardableResult
  public func suspend() throws(ChimeError) -> Outcome { try perform { $0.suspend() } }

  /// Lets ticks through again; ignored unless suspended.
  @discardableResult
  public func resume() throws(ChimeError) -> Outcome { try perform { $0.resume() } }

  /// Changes the interval, keeps the state and the rest of the schedule; the next tick is due one interval from now. A
  /// tick limit begins anew.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: 0 or more, below the interval; `nil` keeps the one it has, shortened if need be to below the interval.
  /// - Throws: `invalidArgument`; `invalidHandle`, `noMemory`, `targetGone`.
  @discardableResult
  public func reschedule(every interval: Duration, leeway: Duration? = nil) throws(ChimeError) -> Outcome {
    let (interval, leeway) = (interval.nanoseconds, leeway?.nanoseconds)
    guard Schedule(first: interval, interval: interval, leeway: leeway ?? 0).isValid, interval > 0 else {
      throw .invalidArgument
    }
    return try perform { $0.reschedule(interval: interval, leeway: leeway) }
  }

  /// Changes the schedule and keeps the state. A first delay counts from now.
  @discardableResult
  public func reschedule(_ schedule: Schedule) throws(ChimeError) -> Outcome { try perform { $0.reschedule(schedule) } }

  /// The idle-timeout touch: moves the next deadline to `delay` from now if that is later.
  /// - Parameter delay: 0 or more.
  /// - Returns: ignored when the timer does not run, or its tick has started.
  @discardableResult
  public func postpone(by delay: Duration) throws(ChimeError) -> Outcome {
    guard delay >= .zero else { throw .invalidArgument }
    return try perform { $0.postpone(delay: delay.nanoseconds) }
  }

  /// Moves the next deadline to a point on the queue's clock, in nanoseconds, if that is later.
  /// - Returns: ignored when the timer does not run, or its tick has started.
  @discardableResult
  public func postpone(until deadline: Int64) throws(ChimeError) -> Outcome {
    try perform { $0.postpone(until: deadline) }
  }

  /// Asks for one extra tick, outside the schedule, on the queue.
  @discardableResult
  public func fire() throws(ChimeError) -> Outcome { try perform { $0.fire() } }

  /// Stops the timer; ignored unless running or suspended. After it has returned no tick starts.
  @discardableResult
  public func cancel() throws(ChimeError) -> Outcome { try performEnding { $0.cancel() } }

  /// Cancels, then waits until the handler does not run. Waits for a handler.
  /// - Parameter timeout: 0 or more; `nil` without end.
  /// - Throws: `wouldDeadlock` when the handler is the caller's own, or waits for the caller; it is cancelled then.
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

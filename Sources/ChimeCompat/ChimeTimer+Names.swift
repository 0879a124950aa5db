import Chime
import ChimeCore

extension TimerProtocol {
  /// Starts a timer that is idle, finished or cancelled, as `DispatchSourceTimer` names it; otherwise ignored, as by a
  /// timer that has ended. `restart(_:)` starts a timer whatever its state.
  ///
  /// - Parameter schedule: `nil` keeps the present one.
  /// - Returns: done, running or ignored.
  /// - Throws: as `restart(_:)`.
  @discardableResult
  public func activate(_ schedule: Schedule? = nil) throws -> ChimeTimer.Outcome {
    try schedule?.check(for: timeline)
    return try _reference.perform { $0.activate(schedule) }
  }

  /// Changes the interval. State and the rest of the schedule stay; the next tick is due one interval from now, and the
  /// count against a tick limit starts again.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: 0 or more, below the interval; `nil` keeps the present one, shortened if necessary.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func reschedule(
    every interval: Duration, leeway: Duration? = nil
  ) throws -> ChimeTimer.Outcome {
    try Schedule.checkInterval(interval)
    let (length, late) = (interval.nanoseconds, leeway?.nanoseconds)
    try Schedule(first: length, interval: length, leeway: late ?? 0).check(for: timeline)
    return try _reference.perform(.moves) { $0.reschedule(interval: length, leeway: late) }
  }
}

extension TimerQueue {
  /// Calls `handler` by a schedule with a target that the compiler does not know to be safe on the queue.
  ///
  /// The handler runs on the queue, and nothing keeps other threads from the target meanwhile: the caller has to. With a
  /// `Sendable` target, `schedule(_:target:handler:)` does the same, checked. For code that grew before Swift 6.
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
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, WeakTarget(target), handler)
  }
}

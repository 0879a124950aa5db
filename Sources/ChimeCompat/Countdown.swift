import Chime
import ChimeCore

/// Counts down to zero in steps and ends there: for a label that first shows `remaining`, then 59, 58 … 0.
///
/// It starts at once. Steps that were missed are not caught up on: the next call says what is left by then. It stops
/// when its last reference goes.
public final class Countdown: Sendable {
  private let timer: ChimeTimer
  private let left: Left

  /// Shared with the handler.
  private final class Left: Sendable {
    let duration: Locked<Duration>
    init(_ duration: Duration) { self.duration = Locked(duration) }
  }

  /// Starts counting; the first call comes one step from now.
  ///
  /// - Parameters:
  ///   - duration: above 0; rounded up to whole steps.
  ///   - step: above 0.
  ///   - queue: where `handler` runs.
  ///   - handler: gets what is left after each step; zero in the last call.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(
    from duration: Duration, every step: Duration = .seconds(1), on queue: TimerQueue,
    handler: sending @escaping (Duration) -> Void
  ) throws {
    try self.init(duration, step, queue, handler)
  }

  /// Starts counting; the first call comes one step from now.
  ///
  /// - Parameters:
  ///   - duration: above 0; rounded up to whole steps.
  ///   - step: above 0.
  ///   - queue: where `handler` runs.
  ///   - handler: runs on the main actor, and gets what is left after each step; zero in the last call.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(
    from duration: Duration, every step: Duration = .seconds(1), on queue: MainTimerQueue,
    handler: @escaping @MainActor (Duration) -> Void
  ) throws {
    try self.init(duration, step, queue) { left in MainActor.assumeIsolated { handler(left) } }
  }

  private init(
    _ duration: Duration, _ step: Duration, _ queue: AnyTimerQueue, _ handler: sending @escaping (Duration) -> Void
  ) throws(ChimeError) {
    let (length, total) = (step.nanoseconds, duration.nanoseconds)
    guard length > 0 else { throw .argument("step is \(step): it must be above 0") }
    guard total > 0 else { throw .argument("duration is \(duration): it must be above 0") }
    let steps = total / length + (total % length > 0 ? 1 : 0)
    let left = Left(step * Int(steps))
    self.left = left
    let schedule = Schedule(
      first: length, interval: length, tickLimit: UInt64(steps), resumePolicy: .remaining)
    timer = try ChimeTimer.start(on: queue, schedule) { tick in
      handler(
        left.duration.withLock { left in
          left -= step * Int(tick.missed + 1)
          return left
        })
    }
  }

  /// What was left after the last step.
  public var remaining: Duration { left.duration.withLock { $0 } }

  /// Whether it has reached zero or was cancelled.
  public var hasEnded: Bool { timer.state == .finished || timer.state == .cancelled }

  /// Stops the time. What is left of the present step is kept.
  ///
  /// - Returns: done or running; ignored unless it counts.
  @discardableResult
  public func pause() -> ChimeTimer.Outcome { timer.suspend() }

  /// Continues after `pause`.
  ///
  /// - Returns: done; ignored unless it is paused.
  @discardableResult
  public func resume() -> ChimeTimer.Outcome { timer.resume() }

  /// Ends it before zero.
  ///
  /// - Returns: done or running; ignored if it has ended.
  @discardableResult
  public func cancel() -> ChimeTimer.Outcome { timer.cancel() }
}

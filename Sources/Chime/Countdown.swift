import ChimeCore

/// Counts down to zero in steps, and ends itself there: a label that shows `remaining` first, then 59, 58 … 0.
///
/// Starts at once. Steps that could not be met are not made up for: the next call says what is left by then. Stops when
/// the last reference to it goes.
public final class Countdown: Sendable {
  private let timer: ChimeTimer
  private let left: Left

  /// Shared with the handler.
  private final class Left: Sendable {
    let duration: Locked<Duration>
    init(_ duration: Duration) { self.duration = Locked(duration) }
  }

  /// Starts to count, one step from now for the first time.
  ///
  /// - Parameters:
  ///   - duration: above 0; rounded up to whole steps.
  ///   - step: above 0.
  ///   - queue: where `handler` runs.
  ///   - handler: gets what is left after each step; the last call gets zero.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`.
  public init(
    from duration: Duration, every step: Duration = .seconds(1), on queue: TimerQueue,
    handler: sending @escaping (Duration) -> Void
  ) throws(ChimeError) {
    let (length, total) = (step.nanoseconds, duration.nanoseconds)
    guard length > 0, total > 0 else { throw .invalidArgument }
    let steps = total / length + (total % length > 0 ? 1 : 0)
    let left = Left(step * Int(steps))
    self.left = left
    let schedule = Schedule(
      first: length, interval: length, tickLimit: UInt64(steps), resumePolicy: .remaining)
    timer = try ChimeTimer(queue.id, schedule) { tick in
      handler(
        left.duration.withLock { left in
          left -= step * Int(tick.missed + 1)
          return left
        })
    }
  }

  /// What was left after the last step.
  public var remaining: Duration { left.duration.withLock { $0 } }

  /// Whether zero was reached, or the countdown was cancelled.
  public var hasEnded: Bool { timer.state == .finished || timer.state == .cancelled }

  /// Stops the time; what is left of the step that has begun is kept.
  @discardableResult
  public func pause() throws(ChimeError) -> Outcome { try timer.suspend() }

  /// Goes on after `pause`.
  @discardableResult
  public func resume() throws(ChimeError) -> Outcome { try timer.resume() }

  /// Ends it before zero.
  @discardableResult
  public func cancel() throws(ChimeError) -> Outcome { try timer.cancel() }
}

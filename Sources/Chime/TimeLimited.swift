import ChimeCore

/// A value that vanishes after an interval, unless that is begun anew.
///
/// Any thread. The value is gone exactly when its time is over on the queue's clock; it is let go, and the notification
/// comes, in the pass of the queue that follows. With the queue the value vanishes too, without notification.
public final class TimeLimited<Value: Sendable>: Sendable {
  private let limited: LimitedValue<Value>
  /// Keeps the queue.
  private let owner: TimerQueue

  /// Takes the value, for that long.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - lifetime: 0 or more, from now.
  ///   - queue: whose clock counts, and where `onExpiry` runs.
  ///   - onExpiry: called once, after the value has vanished; not when the last reference to this object goes before.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `invalidHandle` when the queue was shut down.
  public init(
    _ value: Value, lifetime: Duration, on queue: TimerQueue, onExpiry: sending (() -> Void)? = nil
  ) throws(ChimeError) {
    owner = queue
    limited = try LimitedValue.make(value, lifetime: lifetime.nanoseconds, queue: queue.id) { _, _ in onExpiry?() }
  }

  /// The value, until its time is over.
  public var value: Value? { limited.value }

  /// Begins the time anew: the value vanishes `interval` from now.
  ///
  /// - Parameter interval: 0 or more.
  /// - Returns: ignored when the value has vanished: it does not come back.
  @discardableResult
  public func resetTimer(interval: Duration) throws(ChimeError) -> Outcome {
    try limited.reset(lifetime: interval.nanoseconds)
  }
}

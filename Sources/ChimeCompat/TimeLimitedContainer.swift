import Chime

/// `TimeLimited` under the name that it has in the systems that it comes from.
public typealias TimeLimitedContainer<Value: Sendable> = TimeLimited<Value>

extension TimeLimited {
  /// `init(_:lifetime:on:)` under its earlier name.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - interval: 0 or more, from now.
  ///   - queue: whose clock decides.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(value: Value, interval: Duration, on queue: AnyTimerQueue) throws {
    try self.init(value, lifetime: interval, on: queue)
  }

  /// `init(_:lifetime:on:onExpiry:)` under its earlier name.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - interval: 0 or more, from now.
  ///   - queue: whose clock decides, and where `onExpiry` runs.
  ///   - onExpiry: called once, after the value has vanished; not if the last reference to this object goes first.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(
    value: Value, interval: Duration, on queue: TimerQueue, onExpiry: sending @escaping () -> Void
  ) throws {
    try self.init(value, lifetime: interval, on: queue, onExpiry: onExpiry)
  }

  /// `restart(lifetime:)` under its earlier name.
  ///
  /// - Parameter interval: 0 or more.
  /// - Returns: ignored if the value has already vanished.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func resetTimer(interval: Duration) throws -> ChimeTimer.Outcome {
    try restart(lifetime: interval)
  }
}

import Chime
import ChimeCore

/// A value that vanishes after an interval, unless the interval is restarted.
///
/// Any thread. The value is gone at the exact moment its time is over on the queue's clock; it is released, and
/// `onExpiry` is called, in the queue's next pass. If the queue ends, the value vanishes without notification.
public final class TimeLimited<Value: Sendable>: Sendable {
  private let limited: LimitedValue<Value>
  /// Keeps the queue alive.
  private let owner: AnyTimerQueue

  /// Holds the value for that long.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - lifetime: 0 or more, from now.
  ///   - queue: whose clock decides.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public init(_ value: Value, lifetime: Duration, on queue: AnyTimerQueue) throws {
    owner = queue
    limited = try ChimeError.of { () throws(Status) in
      try LimitedValue.make(value, lifetime: lifetime.nanoseconds, queue: queue.id) { _ in }
    }
    limited.begin()
  }

  /// Holds the value for that long, and says when it has gone.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - lifetime: 0 or more, from now.
  ///   - queue: whose clock decides, and where `onExpiry` runs.
  ///   - onExpiry: called once, after the value has vanished; not if the last reference to this object goes first.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(
    _ value: Value, lifetime: Duration, on queue: TimerQueue, onExpiry: sending @escaping () -> Void
  ) throws {
    try self.init(value, lifetime, queue, onExpiry)
  }

  /// Holds the value for that long, and says when it has gone.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - lifetime: 0 or more, from now.
  ///   - queue: whose clock decides, and where `onExpiry` runs.
  ///   - onExpiry: called once, on the main actor, after the value has vanished; not if the last reference to this object goes first.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(
    _ value: Value, lifetime: Duration, on queue: MainTimerQueue, onExpiry: @escaping @MainActor () -> Void
  ) throws {
    try self.init(value, lifetime, queue) { MainActor.assumeIsolated { onExpiry() } }
  }

  private init(
    _ value: Value, _ lifetime: Duration, _ queue: AnyTimerQueue, _ onExpiry: sending @escaping () -> Void
  ) throws(ChimeError) {
    owner = queue
    do {
      limited = try LimitedValue.make(value, lifetime: lifetime.nanoseconds, queue: queue.id) { expired in
        if expired != nil { onExpiry() }
      }
    } catch {
      throw error.error
    }
    limited.begin()
  }

  deinit { limited.vanish() }

  /// The value, until its time is over.
  public var value: Value? { limited.value }

  /// Restarts the time: the value vanishes `lifetime` from now.
  ///
  /// - Parameter lifetime: 0 or more.
  /// - Returns: ignored if the value has already vanished.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func restart(lifetime: Duration) throws -> ChimeTimer.Outcome {
    try limited.reset(lifetime: lifetime.nanoseconds).outcome()
  }
}

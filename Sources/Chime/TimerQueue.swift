import ChimeCore
import Dispatch

/// Where and when the handlers of timers run, and on which clock.
///
/// A serial queue runs one handler at a time. On a concurrent queue handlers of different timers may overlap; those of
/// one timer never do.
public class TimerQueue: AnyTimerQueue, TimerQueueProtocol, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  package override init(
    _ made: Result<UInt64, Status>, _ timeline: TimerInstant.Timeline = .monotonic
  ) throws(ChimeError) {
    try super.init(made, timeline)
  }

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: of the threads behind it.
  ///   - clock: monotonic or wall.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` for boottime.
  public convenience init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: TimerInstant.Timeline = .monotonic
  ) throws(ChimeError) {
    try self.init(
      QueueCore.makeSerial(QueueOptions(label: label, qos: QualityOfService(qos), clock: clock.clock())), clock)
  }

  /// A queue whose handlers run on `queue`, in turn with its other blocks. Several timer queues may share one dispatch
  /// queue.
  ///
  /// - Parameters:
  ///   - queue: a serial, a concurrent, a global or the main dispatch queue.
  ///   - label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` if this libdispatch does not let its queues be known.
  public convenience init(on queue: DispatchQueue, label: String = "") throws(ChimeError) {
    try self.init(QueueCore.makeWrapping(queue, QueueOptions(label: label)))
  }

  /// For Chime: the function as the core calls it.
  @inlinable
  public static func _function(_ action: sending @escaping () -> Void) -> sending () -> Void { action }

  /// For Chime: the handler as the core calls it.
  @inlinable
  public static func _function(
    ticking handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) -> sending _Kept<(ChimeTimer.Tick) -> Void> { _Kept(handler) }
  /// For Chime: the handler as a countdown calls it.
  @inlinable
  public static func _function(
    counting handler: sending @escaping (Duration) -> Void
  ) -> sending (Duration) -> Void { handler }
}

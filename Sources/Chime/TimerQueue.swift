import ChimeCore
import Dispatch

/// Where and when the handlers of timers run, and on which clock: handlers that belong to no actor.
///
/// A serial queue runs one handler at a time. On a concurrent queue handlers of different timers may overlap; those of
/// one timer never do.
public class TimerQueue: AnyTimerQueue, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  package override init(
    _ timeline: TimerInstant.Timeline = .monotonic, _ make: () throws(Status) -> UInt64
  ) throws(ChimeError) {
    try super.init(timeline, make)
  }

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: of the threads behind it.
  ///   - clock: monotonic, boottime or wall.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public convenience init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: TimerInstant.Timeline = .monotonic
  ) throws {
    let options = QueueOptions(label: label, qos: QualityOfService(qos), clock: try clock.clock())
    try self.init(clock) { () throws(Status) in try QueueCore.makeSerial(options) }
  }

  /// A queue whose handlers run on `queue`, in turn with its other blocks. Several timer queues may share one dispatch
  /// queue.
  ///
  /// - Parameters:
  ///   - queue: a serial, a concurrent, a global or the main dispatch queue.
  ///   - label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` if this libdispatch does not let its queues be known.
  public convenience init(dispatchQueue queue: DispatchQueue, label: String = "") throws {
    try self.init { () throws(Status) in try QueueCore.makeWrapping(queue, QueueOptions(label: label)) }
  }
}

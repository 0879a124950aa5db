import ChimeCore
import Dispatch

/// Where and when the handlers of timers run, and on which clock.
///
/// A serial queue runs one handler at a time. On a concurrent queue handlers of different timers may overlap; those of
/// one timer never do.
public class TimerQueue: AnyTimerQueue, TimerQueueProtocol, @unchecked Sendable {
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
  ) throws(ChimeError) {
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
  public convenience init(dispatchQueue queue: DispatchQueue, label: String = "") throws(ChimeError) {
    try self.init { () throws(Status) in try QueueCore.makeWrapping(queue, QueueOptions(label: label)) }
  }

  // MARK: Timers

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers: `dump`, traces and `ChimeDiagnostics` name the timer by it. It ends at its first NUL.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `shutDown` if the queue
  ///   has ended.
  public func schedule(
    _ schedule: Schedule, label: String = "", handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label, handler)
  }

  // The next two are the protocol's, once more for handlers that nothing wraps: programs make many such timers. The first is
  // inlinable, for its default arguments.

  /// Calls `handler` once, after a delay; see `TimerQueueProtocol.schedule(after:leeway:label:handler:)`.
  ///
  /// - Parameters:
  ///   - delay: from now; 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - label: for debuggers.
  ///   - handler: runs on the queue.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  @inlinable
  public final func schedule(
    after delay: Duration, leeway: Duration = .zero, label: String = "",
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, after: delay, leeway: leeway, label: label, handler)
  }

  /// Calls `handler` every `interval`; see `TimerQueueProtocol.schedule(every:after:leeway:label:handler:)`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first call, from now, 0 or more; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - label: for debuggers.
  ///   - handler: runs on the queue; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  public final func schedule(
    every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero, label: String = "",
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, .shorthand(delay, interval, leeway), label: label, handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives. The target is held only during a call.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - target: an object that may be used by any thread. One that adopts `ChimeTimer.Target` ends the timer at once when
  ///     it goes.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: as `schedule(_:label:handler:)`.
  public func schedule<Object: AnyObject & Sendable>(
    _ schedule: Schedule, label: String = "", target: Object,
    handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label, WeakTarget(target), handler)
  }

  /// Makes an idle timer: `TimerReference.restart(_:)` gives it a schedule and starts it.
  ///
  /// - Parameters:
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - registrationHandler: called on the queue at each start, before the first tick, unless the timer is
  ///     cancelled first.
  ///   - cancelHandler: called on the queue after each cancel, and when the timer is released while running or
  ///     suspended.
  ///   - handler: called on the queue at each tick.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func makeTimer(
    label: String = "", registrationHandler: sending (() -> Void)? = nil, cancelHandler: sending (() -> Void)? = nil,
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try makeIdle(
      label: label, registrationHandler: registrationHandler, cancelHandler: cancelHandler, handler: handler)
  }

  /// Runs `body` on the queue, in turn with its handlers: as soon as possible, or `delay` from now. Only `shutdown` stops it:
  /// until then the queue lives.
  ///
  /// - Parameters:
  ///   - delay: 0 or more; `nil` for as soon as possible.
  ///   - body: runs on the queue.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func perform(after delay: Duration? = nil, _ body: sending @escaping () -> Void) throws(ChimeError) {
    if let delay { try run(after: delay, body) } else { try run(body) }
  }
}

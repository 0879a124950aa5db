import ChimeCore
import Dispatch

/// Where and when the handlers of timers run, and on which clock.
///
/// A serial queue runs one handler at a time. On a concurrent queue handlers of different timers may overlap; those of
/// one timer never do. Any thread may use a queue and its timers, inside handlers too. A queue lives as long as somebody
/// holds it or one of its timers, or until `shutdown`.
public class TimerQueue: @unchecked Sendable {
  // Unchecked because a class with subclasses cannot be checked: both never change.
  package let id: UInt64
  /// The clock of the queue's instants.
  package let timeline: TimerInstant.Timeline

  package init(
    _ made: Result<UInt64, Status>, _ timeline: TimerInstant.Timeline = .monotonic
  ) throws(ChimeError) {
    id = try made.success()
    self.timeline = timeline
  }

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: of the threads behind it.
  ///   - clock: monotonic or wall.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` for boottime.
  public convenience init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: QueueClock = .monotonic
  ) throws(ChimeError) {
    try self.init(
      QueueCore.makeSerial(QueueOptions(label: label, qos: QualityOfService(qos), clock: clock.clock)), clock.timeline)
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

  deinit { _ = QueueCore.release(id) }

  // MARK: Timers

  /// Calls `handler` every `interval`, for the first time one interval from now.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule(
    every interval: Duration, leeway: Duration = .zero, handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, TimerQueue.repeating(interval, leeway), handler)
  }

  /// Calls `handler` once, `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - handler: runs on the queue; released with the timer.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule(
    after delay: Duration, leeway: Duration = .zero, handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds), handler)
  }

  /// Calls `handler` at a point on the queue's clock, and every `interval` from then on.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past is due at once.
  ///   - interval: 0 for once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock; `limit`, `noMemory`; `invalidHandle` if the queue
  ///   was shut down.
  public func schedule(
    at deadline: TimerInstant, every interval: Duration = .zero, leeway: Duration = .zero,
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, TimerQueue.from(deadline, interval, leeway), handler)
  }

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - handler: runs on the queue; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule(
    _ schedule: Schedule, handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, handler)
  }

  /// Makes an idle timer: `ChimeTimer.activate` or `restart` gives it a schedule.
  ///
  /// - Parameters:
  ///   - label: for debuggers: `dump` and traces name the timer by it.
  ///   - registrationHandler: called on the queue at each start, before the first tick.
  ///   - cancelHandler: called on the queue after each cancel, and when the timer is released while running or
  ///     suspended.
  ///   - handler: called at each tick.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func makeTimer(
    label: String = "", registrationHandler: sending (() -> Void)? = nil, cancelHandler: sending (() -> Void)? = nil,
    handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let box = HandlerBox(
      timeline: timeline, registrationHandler: registrationHandler, cancelHandler: cancelHandler, handler)
    return ChimeTimer(try HandlerBox.make(on: id, nil, label: label, box), on: self, timeline)
  }

  static func repeating(_ interval: Duration, _ leeway: Duration) throws(ChimeError) -> Schedule {
    try Schedule.checkInterval(interval)
    let nanoseconds = interval.nanoseconds
    return Schedule(first: nanoseconds, interval: nanoseconds, leeway: leeway.nanoseconds)
  }

  static func from(
    _ deadline: TimerInstant, _ interval: Duration, _ leeway: Duration
  ) throws(ChimeError) -> Schedule {
    try Schedule(
      first: deadline.nanoseconds, firstIsDeadline: true, interval: interval.nanoseconds, leeway: leeway.nanoseconds
    ).checked(deadline)
  }

  // MARK: Functions

  /// Runs `body` once, `delay` from now. Nobody holds the timer, and nobody can stop it but `shutdown`: until then the
  /// queue lives.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - body: runs on the queue.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func perform(after delay: Duration, _ body: sending @escaping () -> Void) throws(ChimeError) {
    let schedule = Schedule(first: delay.nanoseconds)
    try schedule.check(for: timeline)
    _ = try HandlerBox.make(
      on: id, schedule, selfRelease: true, HandlerBox { [self] _ in withExtendedLifetime(self) { body() } })
  }

  /// Runs `body` on the queue as soon as possible, in turn with its handlers.
  ///
  /// - Parameter body: runs on the queue.
  /// - Throws: `noMemory`; `invalidHandle` if the queue was shut down.
  public func perform(_ body: sending @escaping () -> Void) throws(ChimeError) {
    let box = unsafe Context(ClosureBox.context { [self] in withExtendedLifetime(self) { body() } })
    let status = unsafe QueueCore.async(
      id, ContextFunction { unsafe ClosureBox.call($0) }, box, ContextFunction { unsafe ClosureBox.release($0) })
    if status.isFailure {
      unsafe ClosureBox.release(box.pointer)
      throw status.error
    }
  }

  // MARK: Looking

  /// The time on the queue's clock.
  public var now: TimerInstant { TimerInstant(timeline, nanoseconds: QueueCore.now(id) ?? 0) }

  /// What the queue has done so far; `nil` if it has ended.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var statistics: QueueStatistics? { QueueCore.statistics(id) }

  /// A line for the queue and one for each timer: id, label, state, next deadline, interval, ticks, missed. For people:
  /// the wording may change. Empty if the queue has ended.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var dump: String { TextWriter.string { QueueCore.dump(id, into: &$0) } ?? "" }

  // MARK: The end

  /// Ends the queue and waits until none of its callbacks runs or will run. Waits for a handler.
  ///
  /// - Parameter timeout: 0 or more; `nil` for no limit.
  /// - Returns: done; timedOut if a handler is still running; ignored if the queue had ended before.
  /// - Throws: `wouldDeadlock` inside a callback of the queue: the queue has ended, but the call did not wait.
  @discardableResult
  public func shutdown(timeout: Duration? = nil) throws(ChimeError) -> ChimeTimer.Outcome {
    let status = QueueCore.shutdown(id, timeout: max(0, timeout?.nanoseconds ?? .max))
    return status == .invalidHandle ? .ignored : try status.outcome()
  }
}

extension TimerQueue: CustomStringConvertible {
  /// Label, clock, and how many timers there are and run: for people.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var description: String {
    let name = String(describing: type(of: self))
    guard let label = QueueCore.find(id)?.label, let statistics else { return "\(name)(ended)" }
    let title = label.isEmpty ? "" : "\"\(label)\", "
    return "\(name)(\(title)on \(timeline.name), \(statistics.timers) timers, \(statistics.running) running)"
  }
}

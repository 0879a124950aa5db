import ChimeCore
import Dispatch

/// Where and when the handlers of timers run, and on which clock.
///
/// A serial queue runs one handler at a time. On a concurrent queue handlers of different timers may overlap; those of
/// one timer never do. Any thread may use a queue and its timers, inside handlers too. When its last reference goes,
/// the queue is released with its timers; a handler that is running goes on.
public class TimerQueue: @unchecked Sendable {
  // Unchecked because a class with subclasses cannot be checked: the id never changes.
  package let id: UInt64

  package init(_ made: Result<UInt64, Status>) throws(ChimeError) {
    switch made {
    case .success(let id): self.id = id
    case .failure(let status): throw status.error
    }
  }

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: of the dispatch queue behind it.
  ///   - clock: monotonic or wall.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` for boottime.
  public convenience init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: QueueClock = .monotonic
  ) throws(ChimeError) {
    try self.init(QueueCore.makeSerial(QueueOptions(label: label, qos: QualityOfService(qos), clock: clock.clock)))
  }

  /// A queue whose handlers run on `queue`, in turn with its other blocks. It may be a serial, a concurrent, a global
  /// or the main dispatch queue. Several timer queues may share one dispatch queue.
  public convenience init(on queue: DispatchQueue, label: String = "") throws(ChimeError) {
    try self.init(QueueCore.makeWrapping(queue, QueueOptions(label: label)))
  }

  deinit { _ = QueueCore.release(id) }

  /// Calls `handler` every `interval`, for the first time one interval from now.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func every(
    _ interval: Duration, leeway: Duration = .zero, handler: sending @escaping (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let nanoseconds = interval.nanoseconds
    guard nanoseconds > 0 else { throw .invalidArgument }
    let schedule = Schedule(first: nanoseconds, interval: nanoseconds, leeway: leeway.nanoseconds)
    return try ChimeTimer(id, schedule, handler)
  }

  /// Calls `handler` once, `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - handler: runs on the queue; released with the timer.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func after(
    _ delay: Duration, leeway: Duration = .zero, handler: sending @escaping (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer(id, Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds), handler)
  }

  /// Calls `handler` with `target` every `interval`, as long as the target lives. The target is held only during a
  /// call.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - target: any object. One that adopts `Target` ends the timer at once when it goes.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: as `every(_:leeway:handler:)`.
  public func every<Object: AnyObject>(
    _ interval: Duration, leeway: Duration = .zero, target: Object,
    handler: sending @escaping (Object, Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let nanoseconds = interval.nanoseconds
    guard nanoseconds > 0 else { throw .invalidArgument }
    let schedule = Schedule(first: nanoseconds, interval: nanoseconds, leeway: leeway.nanoseconds)
    return try ChimeTimer(id, schedule, WeakTarget(target), handler)
  }

  /// Calls `handler` once with `target`, `delay` from now, if the target is alive then.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - target: any object, held only during the call.
  ///   - handler: gets the target, so that it need not capture it.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func after<Object: AnyObject>(
    _ delay: Duration, leeway: Duration = .zero, target: Object,
    handler: sending @escaping (Object, Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let schedule = Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds)
    return try ChimeTimer(id, schedule, WeakTarget(target), handler)
  }

  /// Calls `handler` at a point on the queue's clock, and every `interval` from then on.
  ///
  /// - Parameters:
  ///   - deadline: nanoseconds; one in the past is due at once.
  ///   - interval: 0 for once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func at(
    deadline: Int64, every interval: Duration = .zero, leeway: Duration = .zero,
    handler: sending @escaping (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let schedule = Schedule(
      first: deadline, firstIsDeadline: true, interval: interval.nanoseconds, leeway: leeway.nanoseconds)
    return try ChimeTimer(id, schedule, handler)
  }

  /// Calls `handler` by a schedule.
  ///
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func start(_ schedule: Schedule, handler: sending @escaping (Tick) -> Void) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer(id, schedule, handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives; see `every(_:leeway:target:handler:)`.
  public func start<Object: AnyObject>(
    _ schedule: Schedule, target: Object, handler: sending @escaping (Object, Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer(id, schedule, WeakTarget(target), handler)
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
    handler: sending @escaping (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer(
      id, label: label, HandlerBox(registrationHandler: registrationHandler, cancelHandler: cancelHandler, handler))
  }

  /// Calls `handler` once, `delay` from now. Nobody holds the timer; only the end of the queue stops it.
  public func once(after delay: Duration, handler: sending @escaping () -> Void) throws(ChimeError) {
    let schedule = Schedule(first: delay.nanoseconds)
    guard schedule.isValid else { throw .invalidArgument }
    _ = try HandlerBox.start(on: id, schedule, selfRelease: true, HandlerBox { _ in handler() })
  }

  /// Runs `body` on the queue as soon as possible.
  public func async(_ body: sending @escaping () -> Void) throws(ChimeError) {
    let box = unsafe Context(ClosureBox.context(body))
    let status = unsafe QueueCore.async(
      id, ContextFunction { unsafe ClosureBox.call($0) }, box, ContextFunction { unsafe ClosureBox.release($0) })
    if status.isFailure {
      unsafe ClosureBox.release(box.pointer)
      throw status.error
    }
  }

  /// The time on the queue's clock, in nanoseconds since its zero.
  public var now: Int64 { QueueCore.now(id) ?? 0 }

  /// What the queue has done so far; `nil` if it has ended. Takes time in proportion to its timers.
  public var statistics: QueueStatistics? { QueueCore.statistics(id) }

  /// A line for the queue and one for each timer: id, label, state, next deadline, interval, ticks, missed. For people:
  /// the wording may change. Empty if the queue has ended.
  public var dump: String { QueueCore.dump(id) ?? "" }

  /// Ends the queue and waits until none of its callbacks runs or will run. Waits for a handler.
  ///
  /// - Parameter timeout: 0 or more; `nil` for no limit.
  /// - Returns: done, or timedOut if a handler is still running.
  /// - Throws: `wouldDeadlock` inside a callback of the queue: the queue has ended, but the call did not wait;
  ///   `invalidHandle` if it had ended before.
  @discardableResult
  public func shutdown(timeout: Duration? = nil) throws(ChimeError) -> Outcome {
    try QueueCore.shutdown(id, timeout: max(0, timeout?.nanoseconds ?? .max)).outcome()
  }
}

/// A queue whose time moves only when `advance` or `jump` is called: for tests, simulations, and recorded data.
public final class VirtualTimerQueue: TimerQueue, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  /// A queue whose time stands still until it is moved.
  ///
  /// - Parameters:
  ///   - start: the first instant, in nanoseconds; 0 or more.
  ///   - honoursLeeway: whether ticks use their leeway, as on other queues.
  public init(start: Int64 = 0, honoursLeeway: Bool = false) throws(ChimeError) {
    guard start >= 0 else { throw .invalidArgument }
    try super.init(QueueCore.makeVirtual(QueueOptions(start: start, honoursLeeway: honoursLeeway)))
  }

  /// Moves time forward from deadline to deadline. Each tick runs inside this call, at exactly its deadline.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: `wouldDeadlock` inside a handler of this queue; `busy` while another thread advances it, or releases the
  ///   handler of one of its timers (try again then); `limit` after
  ///   1,000 passes at one instant, `shutDown`, `invalidHandle`, `invalidArgument`.
  public func advance(by duration: Duration) throws(ChimeError) {
    guard duration >= .zero else { throw .invalidArgument }
    _ = try QueueCore.advance(id, by: duration.nanoseconds).outcome()
  }

  /// The earliest deadline of a running timer, in nanoseconds; `nil` if there is none. It may be too early (now, for
  /// example) while another thread is inside the queue, never too late.
  public var nextDeadline: Int64? {
    TimerQueueArming.nextDeadline(of: id)
  }

  /// Waits until a timer is due later than now: until code under test sleeps, or has started its timer. Then `advance`.
  /// A timer that is due now does not count, since an advance by zero delivers it.
  ///
  /// - Parameter limit: real time, after which the call returns all the same; `nil` for no limit.
  /// - Returns: done, or timedOut.
  /// - Throws: `CancellationError`; `shutDown` if the queue has ended.
  @discardableResult
  public func untilArmed(within limit: Duration? = nil) async throws -> Outcome {
    try await TimerQueueArming.wait(for: id, within: limit)
  }

  /// Moves time without delivering anything, as a sleeping machine would. May be called inside a handler.
  public func jump(by duration: Duration) throws(ChimeError) {
    guard duration >= .zero else { throw .invalidArgument }
    _ = try QueueCore.jump(id, by: duration.nanoseconds).outcome()
  }
}

extension Duration {
  /// Whole nanoseconds, rounded up, and clamped to `Int64`.
  package var nanoseconds: Int64 {
    let attoseconds = attoseconds
    // The frequent case, up to two hours and a half, is a multiplication: 10^9 is 512 * 1,953,125, and a division of 64
    // bits by a constant is one.
    guard let frequent = UInt64(exactly: (attoseconds &+ 999_999_999) >> 9) else {
      return clampedNanoseconds(attoseconds)
    }
    return Int64(frequent / 1_953_125)
  }

  @inline(never)
  private func clampedNanoseconds(_ attoseconds: Int128) -> Int64 {
    let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Int64(clamping: quotient + (remainder > 0 ? 1 : 0))
  }
}

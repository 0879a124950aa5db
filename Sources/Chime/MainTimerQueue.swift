import ChimeCore
import Dispatch

/// A timer queue whose handlers run on the main actor, in turn with other blocks of the main dispatch queue. Handlers
/// can use the main actor's state directly.
///
/// Any thread may create timers here. Like all code of the main queue, handlers run only while something drains it: an
/// application's own loop, `RunLoop.main`, `dispatchMain`, or a program whose `main` is `async`. On Linux the last two
/// end the main thread, and the main actor then runs on other threads, one at a time.
public final class MainTimerQueue: Sendable {
  /// The same queue for everything that takes a `TimerQueue`. Handlers of timers made through it run on the main queue,
  /// too, but are not known to the compiler as the main actor's.
  public let queue: TimerQueue
  private let time: VirtualTime

  /// A timer queue on the main dispatch queue; several may share it.
  ///
  /// - Parameter label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(label: String = "") throws(ChimeError) {
    queue = try TimerQueue(on: .main, label: label)
    time = VirtualTime(queue)
  }

  /// A queue whose time moves only when it is told to, on the main actor: for tests of code that belongs there.
  ///
  /// - Parameters:
  ///   - start: the time since the clock's zero at first, 0 or more.
  ///   - label: for debuggers.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(virtual start: Duration, label: String = "") throws(ChimeError) {
    // No `VirtualTimerQueue`: that could be advanced on any thread, and so could these handlers run there.
    queue = try TimerQueue(TimerQueue.makeVirtual(start, label, false), .virtual)
    time = VirtualTime(queue)
  }

  // MARK: Virtual time

  /// Moves virtual time forward from deadline to deadline, and lets tasks go on before and after each of them; see
  /// `VirtualTimerQueue.advance(by:)`. Handlers run inside this call.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: as there; `unsupported` if the queue's time is not virtual.
  @MainActor public func advance(by duration: Duration) async throws(ChimeError) {
    try await time.advance(by: duration)
  }

  /// Moves virtual time forward from deadline to deadline, without waiting for any task. Handlers run inside this call.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: as `advance(by:)` that waits.
  @MainActor public func advance(by duration: Duration) throws(ChimeError) { try time.advance(by: duration) }

  /// Moves virtual time forward until no timer is pending; see `VirtualTimerQueue.run()`.
  ///
  /// - Throws: as there; `unsupported` if the queue's time is not virtual.
  @MainActor public func run() async throws { try await time.run() }

  /// Moves virtual time without delivering anything; see `VirtualTimerQueue.jump(by:)`.
  ///
  /// - Parameter duration: 0 or more.
  /// - Throws: `invalidArgument`; `unsupported` if the queue's time is not virtual.
  @MainActor public func jump(by duration: Duration) throws(ChimeError) { try time.jump(by: duration) }

  /// Waits until that many timers are due later than now; see `VirtualTimerQueue.untilArmed(count:within:)`.
  ///
  /// - Parameters:
  ///   - count: how many, 1 or more.
  ///   - limit: real time, after which the call returns all the same; `nil` for no limit.
  /// - Returns: done, or timedOut.
  /// - Throws: as there; `unsupported` if the queue's time is not virtual.
  @discardableResult
  public nonisolated(nonsending) func untilArmed(
    count: Int = 1, within limit: Duration? = nil
  ) async throws -> ChimeTimer.Outcome {
    try await time.untilArmed(count: count, within: limit)
  }

  // MARK: Timers

  /// Calls `handler` every `interval`, for the first time one interval from now.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the main actor; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule(
    every interval: Duration, leeway: Duration = .zero, handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.schedule(every: interval, leeway: leeway) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Calls `handler` once, `delay` from now.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - handler: runs on the main actor.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule(
    after delay: Duration, leeway: Duration = .zero, handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.schedule(after: delay, leeway: leeway) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Calls `handler` at a point on the queue's clock, and every `interval` from then on.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past is due at once.
  ///   - interval: 0 for once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - handler: runs on the main actor; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock; `limit`, `noMemory`; `invalidHandle` if the queue
  ///   was shut down.
  public func schedule(
    at deadline: TimerInstant, every interval: Duration = .zero, leeway: Duration = .zero,
    handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.schedule(at: deadline, every: interval, leeway: leeway) { tick in
      MainActor.assumeIsolated { handler(tick) }
    }
  }

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - handler: runs on the main actor; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule(
    _ schedule: Schedule, handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.schedule(schedule) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Makes an idle timer: `ChimeTimer.activate` or `restart` gives it a schedule.
  ///
  /// - Parameters:
  ///   - label: for debuggers: `dump` and traces name the timer by it.
  ///   - registrationHandler: called on the main actor at each start, before the first tick.
  ///   - cancelHandler: called on the main actor after each cancel, and when the timer is released while running or
  ///     suspended.
  ///   - handler: called on the main actor at each tick.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func makeTimer(
    label: String = "", registrationHandler: (@MainActor () -> Void)? = nil,
    cancelHandler: (@MainActor () -> Void)? = nil, handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let box = HandlerBox(
      timeline: queue.timeline,
      registrationHandler: registrationHandler.map { body in { MainActor.assumeIsolated { body() } } },
      cancelHandler: cancelHandler.map { body in { MainActor.assumeIsolated { body() } } }
    ) { tick in MainActor.assumeIsolated { handler(tick) } }
    return ChimeTimer(try HandlerBox.make(on: queue.id, nil, label: label, box), on: queue, queue.timeline)
  }

  /// Calls `handler` with `target` every `interval`, as long as the target lives. The target is held only during a
  /// call.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - target: an object of the main actor, or one that may be used by any thread.
  ///   - handler: runs on the main actor, and gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    every interval: Duration, leeway: Duration = .zero, target: Object,
    handler: @escaping @MainActor (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.schedule(every: interval, leeway: leeway, target: target) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }

  /// Calls `handler` once with `target`, `delay` from now, if the target is alive then.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - target: held only during the call; see `schedule(every:leeway:target:handler:)`.
  ///   - handler: runs on the main actor, and gets the target, so that it need not capture it.
  /// - Returns: the timer; there is no call if its last reference goes first.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule<Object: AnyObject & Sendable>(
    after delay: Duration, leeway: Duration = .zero, target: Object,
    handler: @escaping @MainActor (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.schedule(after: delay, leeway: leeway, target: target) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }

  /// Ticks every `interval`, as an asynchronous sequence; see `TimerQueue.ticks(every:after:leeway:)`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first tick, 0 or more, 0 for a tick at once; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Returns: the sequence; its timer stops when the last reference to it and its iterators goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func ticks(
    every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero
  ) throws(ChimeError) -> Ticks {
    try queue.ticks(every: interval, after: delay, leeway: leeway)
  }

  /// Runs `body` once, `delay` from now. Nobody holds the timer, and nobody can stop it but `shutdown`.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - body: runs on the main actor.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func perform(after delay: Duration, _ body: @escaping @MainActor () -> Void) throws(ChimeError) {
    try queue.perform(after: delay) { MainActor.assumeIsolated { body() } }
  }

  // MARK: Looking, and the end

  /// The time on the queue's clock.
  public var now: TimerInstant { queue.now }

  /// The queue's time as a Swift `Clock`.
  public var clock: TimerQueueClock { TimerQueueClock(queue) }

  /// What the queue has done so far; `nil` if it has ended.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var statistics: QueueStatistics? { queue.statistics }

  /// A line for the queue and one for each timer; see `TimerQueue.dump`.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var dump: String { queue.dump }

  /// Ends the queue; see `TimerQueue.shutdown(timeout:)`.
  ///
  /// - Parameter timeout: 0 or more; `nil` for no limit.
  /// - Returns: done; timedOut if a handler is still running; ignored if the queue had ended before.
  /// - Throws: `wouldDeadlock` inside a callback of the queue: the queue has ended, but the call did not wait.
  @discardableResult
  public func shutdown(timeout: Duration? = nil) throws(ChimeError) -> ChimeTimer.Outcome {
    try queue.shutdown(timeout: timeout)
  }
}

extension MainTimerQueue: CustomStringConvertible {
  /// As the description of `queue`.
  public var description: String { "Main" + queue.description }
}

extension Countdown {
  /// A countdown whose handler runs on the main actor, for a label.
  ///
  /// - Parameters:
  ///   - duration: above 0; rounded up to whole steps.
  ///   - step: above 0.
  ///   - queue: where `handler` runs.
  ///   - handler: gets what is left after each step; the last call gets zero.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`.
  public convenience init(
    from duration: Duration, every step: Duration = .seconds(1), on queue: MainTimerQueue,
    handler: @escaping @MainActor (Duration) -> Void
  ) throws(ChimeError) {
    try self.init(from: duration, every: step, on: queue.queue) { left in
      MainActor.assumeIsolated { handler(left) }
    }
  }
}

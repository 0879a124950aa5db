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

  /// A timer queue on the main dispatch queue; several may share it.
  ///
  /// - Parameter label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(label: String = "") throws(ChimeError) {
    queue = try TimerQueue(on: .main, label: label)
    isVirtual = false
  }

  /// A queue whose time moves only when `advance` or `jump` is called, on the main actor: for tests of code that belongs
  /// there.
  ///
  /// - Parameters:
  ///   - start: the first instant since the clock's zero, 0 or more.
  ///   - label: for debuggers.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(virtual start: Duration, label: String = "") throws(ChimeError) {
    guard start >= .zero else { throw .invalidArgument }
    // No `VirtualTimerQueue`: that could be advanced on any thread, and so could these handlers run there.
    queue = try TimerQueue(QueueCore.makeVirtual(QueueOptions(label: label, start: start.nanoseconds)))
    isVirtual = true
  }

  private let isVirtual: Bool

  /// Moves virtual time forward from deadline to deadline; see `VirtualTimerQueue.advance(by:)`. Handlers run inside this
  /// call.
  ///
  /// - Throws: as there; `unsupported` if the queue's time is not virtual.
  @MainActor public func advance(by duration: Duration) throws(ChimeError) {
    guard duration >= .zero else { throw .invalidArgument }
    _ = try QueueCore.advance(queue.id, by: duration.nanoseconds).outcome()
  }

  /// Moves virtual time without delivering anything; see `VirtualTimerQueue.jump(by:)`.
  ///
  /// - Throws: `invalidArgument`; `unsupported` if the queue's time is not virtual.
  @MainActor public func jump(by duration: Duration) throws(ChimeError) {
    guard duration >= .zero else { throw .invalidArgument }
    _ = try QueueCore.jump(queue.id, by: duration.nanoseconds).outcome()
  }

  /// Waits until a timer is due later than now; see `VirtualTimerQueue.untilArmed(within:)`.
  ///
  /// - Throws: as there; `unsupported` if the queue's time is not virtual.
  @discardableResult
  public func untilArmed(within limit: Duration? = nil) async throws -> Outcome {
    guard isVirtual else { throw ChimeError.unsupported }
    return try await TimerQueueArming.wait(for: queue.id, within: limit)
  }

  /// Calls `handler` every `interval`; see `TimerQueue.every(_:leeway:handler:)`.
  public func every(
    _ interval: Duration, leeway: Duration = .zero, handler: @escaping @MainActor (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.every(interval, leeway: leeway) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Calls `handler` once, `delay` from now; see `TimerQueue.after(_:leeway:handler:)`.
  public func after(
    _ delay: Duration, leeway: Duration = .zero, handler: @escaping @MainActor (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.after(delay, leeway: leeway) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Calls `handler` by a schedule; see `TimerQueue.start(_:handler:)`.
  public func start(
    _ schedule: Schedule, handler: @escaping @MainActor (Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.start(schedule) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Calls `handler` once, `delay` from now. Nobody holds the timer, and nobody can stop it.
  public func once(after delay: Duration, handler: @escaping @MainActor () -> Void) throws(ChimeError) {
    try queue.once(after: delay) { MainActor.assumeIsolated { handler() } }
  }

  /// Calls `handler` with `target` every `interval`, as long as the target lives. The target is held only during a
  /// call. See `TimerQueue.every(_:leeway:target:handler:)`.
  public func every<Object: AnyObject & Sendable>(
    _ interval: Duration, leeway: Duration = .zero, target: Object,
    handler: @escaping @MainActor (Object, Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.every(interval, leeway: leeway, target: target) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }

  /// Calls `handler` once with `target`, `delay` from now, if the target is alive then.
  public func after<Object: AnyObject & Sendable>(
    _ delay: Duration, leeway: Duration = .zero, target: Object,
    handler: @escaping @MainActor (Object, Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.after(delay, leeway: leeway, target: target) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }

  /// The time on the queue's clock, in nanoseconds since its zero.
  public var now: Int64 { queue.now }
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

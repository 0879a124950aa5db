import ChimeCore
import Dispatch

/// A timer queue whose handlers are on the main actor, in turn with the main dispatch queue. Main actor code may use
/// what is its own in them without more ado.
///
/// Any thread may make timers here. As all main-queue code, handlers run while something drains the main queue: an
/// application's own loop, `RunLoop.main`, `dispatchMain`, or a program whose `main` is `async`. The last two end the
/// main thread on Linux: the main actor is on other threads from then on, one at a time.
public final class MainTimerQueue: Sendable {
  /// The same queue for all that takes a `TimerQueue`; its handlers are on the main queue as well, but Swift is not
  /// told so.
  public let queue: TimerQueue

  /// A timer queue on the main dispatch queue; several may share it.
  ///
  /// - Parameter label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(label: String = "") throws(ChimeError) { queue = try TimerQueue(on: .main, label: label) }

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

  /// Calls `handler` once, `delay` from now; nobody holds the timer, and nobody can stop it.
  public func once(after delay: Duration, handler: @escaping @MainActor () -> Void) throws(ChimeError) {
    try queue.once(after: delay) { MainActor.assumeIsolated { handler() } }
  }

  /// Calls `handler` every `interval` with `target`, for as long as that lives; the target is held for the length of a
  /// call only. See `TimerQueue.every(_:leeway:target:handler:)`.
  public func every<Object: AnyObject & Sendable>(
    _ interval: Duration, leeway: Duration = .zero, target: Object,
    handler: @escaping @MainActor (Object, Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try queue.every(interval, leeway: leeway, target: target) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }

  /// Calls `handler` once, `delay` from now, with `target`, if that lives then.
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
  /// A countdown for a label: its handler is on the main actor.
  ///
  /// - Parameters:
  ///   - duration: above 0; rounded up to whole steps.
  ///   - step: above 0.
  ///   - queue: whose handlers are on the main actor.
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

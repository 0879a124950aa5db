import ChimeCore
import Dispatch

/// A timer queue whose handlers run on the main actor, in turn with other blocks of the main dispatch queue. Handlers
/// can use the main actor's state directly.
///
/// Any thread may create timers here. Like all code of the main queue, handlers run only while something drains it: an
/// application's own loop, `RunLoop.main`, `dispatchMain`, or a program whose `main` is `async`. On Linux the last two
/// end the main thread, and the main actor then runs on other threads, one at a time.
///
/// A cancel handler runs on the main actor or not at all. On a queue in virtual time, that of a timer whose last reference
/// goes on another thread runs in the next `advance`. It is dropped, with all that it holds, if there is none before the
/// queue ends, if the queue is shut down on another thread, or if nothing drains the main queue until a `shutdown` with a
/// timeout gives up.
public final class MainTimerQueue: AnyTimerQueue, TimerQueueProtocol, @unchecked Sendable {
  // Unchecked as its class is; `time` is set in `init` only.
  private var time: VirtualTime!

  /// A timer queue on the main dispatch queue; several may share it.
  ///
  /// - Parameter label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(label: String = "") throws(ChimeError) {
    try super.init(QueueCore.makeWrapping(DispatchQueue.main, QueueOptions(label: label)), .monotonic)
    time = VirtualTime(self)
  }

  /// A queue whose time moves only when it is told to, on the main actor: for tests of code that belongs there.
  ///
  /// - Parameters:
  ///   - start: the time since the clock's zero at first, 0 or more.
  ///   - label: for debuggers.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(virtual start: Duration, label: String = "") throws(ChimeError) {
    // No `VirtualTimerQueue`: that could be advanced on any thread, and so could these handlers run there.
    try super.init(TimerQueue.makeVirtual(start, label, false), .virtual)
    time = VirtualTime(self)
  }

  package override var home: HandlerHome? { HandlerHome(queue: id) { MainQueue.isHere } }

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
  /// - Throws: as `advance(by:)`.
  @MainActor public func advanceTimers(by duration: Duration) throws(ChimeError) { try time.advance(by: duration) }

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

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - handler: runs on the main actor; calls never overlap.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `invalidHandle` if
  ///   the queue was shut down.
  public func schedule(
    _ schedule: Schedule, handler: sending @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// For Chime: the function as the core calls it.
  public static func _function(_ action: sending @escaping @MainActor () -> Void) -> sending () -> Void {
    { MainActor.assumeIsolated { action() } }
  }

  /// For Chime: the handler as the core calls it.
  public static func _function(
    ticking handler: sending @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) -> sending (ChimeTimer.Tick) -> Void {
    { tick in MainActor.assumeIsolated { handler(tick) } }
  }
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
    try self.init(duration, step, queue) { left in MainActor.assumeIsolated { handler(left) } }
  }
}

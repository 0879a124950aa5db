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
public final class MainTimerQueue: AnyTimerQueue, VirtualTimeQueue, @unchecked Sendable {
  // Unchecked as its class is; `time` is set in `init` only.
  private var time: VirtualTime!

  /// A timer queue on the main dispatch queue, which it may share with others; or one in virtual time, for tests of code
  /// that belongs on the main actor.
  ///
  /// - Parameters:
  ///   - start: the time since the clock's zero at which virtual time stands at first, 0 or more; `nil` for real time.
  ///   - label: for debuggers.
  /// - Throws: `limit`, `noMemory`, `resource`; `invalidArgument` for a start below 0.
  public init(virtual start: Duration? = nil, label: String = "") throws {
    if let start {
      // No `VirtualTimerQueue`: that could be advanced on any thread, and so could these handlers run there.
      let options = try TimerQueue.virtualOptions(start, label)
      try super.init(.virtual) { () throws(Status) in try QueueCore.makeVirtual(options) }
    } else {
      try super.init(.monotonic) { () throws(Status) in
        try QueueCore.makeWrapping(DispatchQueue.main, QueueOptions(label: label))
      }
    }
    time = VirtualTime(self, in: .mainActor)
  }

  package override var virtualTime: VirtualTime? { time }

  package override var home: HandlerHome? { HandlerHome(queue: id) { MainThread.isHere } }

  /// Moves virtual time forward from deadline to deadline, without waiting for any task. Handlers run inside this call.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: as `advance(by:)`.
  @MainActor public func advanceTimers(by duration: Duration) throws { try time.advance(by: duration) }

  // MARK: Handlers

  /// Calls `handler` by a schedule.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers: `dump`, traces and `ChimeDiagnostics` name the timer by it. It ends at its first NUL.
  ///   - handler: runs on the main actor; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument` if the schedule's deadline is on another clock; `limit`, `noMemory`; `shutDown` if the queue
  ///   has ended.
  public func schedule(
    _ schedule: Schedule, label: String = "", handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label) { tick in MainActor.assumeIsolated { handler(tick) } }
  }

  /// Calls `handler` once, after a delay.
  ///
  /// - Parameters:
  ///   - delay: from now; 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the main actor. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func schedule(
    after delay: Duration, leeway: Duration = .zero, label: String = "",
    handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try schedule(.shorthand(delay, nil, leeway), label: label, handler: handler)
  }

  /// Calls `handler` once, at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past is due at once.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the main actor. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, also for a deadline on another clock; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func schedule(
    at deadline: TimerInstant, leeway: Duration = .zero, label: String = "",
    handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try schedule(.once(at: deadline, leeway: leeway), label: label, handler: handler)
  }

  /// Calls `handler` every `interval`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first call, from now, 0 or more; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - handler: runs on the main actor; calls never overlap. Released with the timer, after the call that is running.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func schedule(
    every interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero, label: String = "",
    handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try schedule(.shorthand(delay, interval, leeway), label: label, handler: handler)
  }

  /// Calls `handler` with `target` by a schedule, as long as the target lives. The target is held only during a call.
  ///
  /// - Parameters:
  ///   - schedule: when.
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - target: an object of the main actor, or one that may be used by any thread.
  ///   - handler: runs on the main actor, and gets the target, so that it need not capture it.
  /// - Returns: the timer; it stops when its last reference goes, or the target does.
  /// - Throws: as `schedule(_:label:handler:)`.
  public func schedule<Object: AnyObject & Sendable>(
    _ schedule: Schedule, label: String = "", target: Object,
    handler: @escaping @MainActor (Object, ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, schedule, label: label, WeakTarget(target)) { target, tick in
      MainActor.assumeIsolated { handler(target, tick) }
    }
  }

  /// Makes an idle timer: `restart(_:)` gives it a schedule and starts it.
  ///
  /// - Parameters:
  ///   - label: for debuggers; see `schedule(_:label:handler:)`.
  ///   - registrationHandler: called on the main actor at each start, before the first tick, unless the timer is
  ///     cancelled first.
  ///   - cancelHandler: called on the main actor after each cancel, and when the timer is released while running or
  ///     suspended.
  ///   - handler: called on the main actor at each tick.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func makeTimer(
    label: String = "", registrationHandler: (@MainActor () -> Void)? = nil,
    cancelHandler: (@MainActor () -> Void)? = nil, handler: @escaping @MainActor (ChimeTimer.Tick) -> Void
  ) throws -> ChimeTimer {
    let handlers = ChimeTimer.Handlers(
      registration: registrationHandler.map { body in { MainActor.assumeIsolated { body() } } },
      cancel: cancelHandler.map { body in { MainActor.assumeIsolated { body() } } }
    ) { tick in
      MainActor.assumeIsolated { handler(tick) }
    }
    return try makeIdle(label: label, handlers: handlers)
  }

  /// Runs `body` on the main actor, in turn with the queue's handlers: as soon as possible, or `delay` from now. Only
  /// `shutdown` stops it: until then the queue lives.
  ///
  /// - Parameters:
  ///   - delay: 0 or more; `nil` for as soon as possible.
  ///   - body: runs on the main actor.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the queue has ended.
  public func perform(after delay: Duration? = nil, _ body: @escaping @MainActor () -> Void) throws {
    let body = { MainActor.assumeIsolated { body() } }
    if let delay { try run(after: delay, body) } else { try run(body) }
  }
}

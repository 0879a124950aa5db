import Dispatch

/// The state machine around one `DispatchSourceTimer` at a time: every call, in every state, from every thread, its own
/// handler included, does what the table of `Transition` says, and none of them can trap, leak or deadlock.
///
/// Calls never wait for a handler. When one has returned, its transition has happened and `state` agrees; no tick that
/// was due before it starts afterwards. Ticks of one machine never overlap, on a concurrent queue too, and none is
/// early against the clock of `DispatchTime`. Tick k of a repeating timer is due at first deadline + k × interval;
/// missed ones are delivered as one.
///
/// The machine owns its handlers: the one given to `init` until the machine is released, one given to `activate` or
/// `restart` until `cancel`, the next handler, or the release of the machine, and in each case until a call of it that
/// is under way has returned. Captures are then released once, with no lock held, on the thread that let go last.
/// A handler that captures its machine strongly keeps it alive for as long.
///
/// Releasing the machine cancels it, also from inside the handler.
public final class DispatchSourceTimerMachine: Sendable {
  /// What a call did.
  public enum Outcome: Equatable, Sendable {
    /// The call took effect, and no handler of this machine is running.
    case done
    /// The call took effect; a handler that had started before it has not returned (the caller's own, perhaps).
    case busy
    /// In this state the call means nothing, and nothing has happened.
    case ignored
  }

  /// Why a schedule was refused; nothing has changed then.
  public enum ScheduleError: Error, Equatable, Sendable {
    /// An interval of 0 would spin, a negative one means nothing. A one-shot is `.never`.
    case intervalNotPositive
    /// Longer than `Int64.max` nanoseconds (292 years).
    case intervalTooLong
    /// A tick cannot be asked to come early; 0 is as punctual as it gets.
    case leewayNegative
    /// Longer than `Int64.max` nanoseconds (292 years).
    case leewayTooLong
    /// The machine was never given a schedule.
    case scheduleMissing
    /// The machine has no handler: none was given to `init`, and `cancel` has dropped the last one.
    case handlerMissing
  }

  private let core: TimerMachineCore

  /// An idle machine; it has no source until it is started.
  ///
  /// - Parameters:
  ///   - queue: where handlers run; `nil` for a global queue.
  ///   - factory: makes the source of each life.
  ///   - handler: runs at each tick for which `activate` or `restart` gave none of its own.
  public init(
    queue: DispatchQueue? = nil, factory: any TimerAdapterFactory = DispatchSourceTimerAdapterFactory(),
    handler: sending (() -> Void)? = nil
  ) {
    core = TimerMachineCore(queue: queue, factory: factory, standing: TimerMachineHandler.of(handler))
  }

  deinit {
    core.shutDown()
  }

  /// Where the machine stands now.
  public var state: TimerState { core.state }

  /// Starts a repeating timer that is idle, finished or cancelled; otherwise ignored.
  ///
  /// - Parameters:
  ///   - repeatTimeInterval: between ticks, 1 ns or longer; `.never` for a single tick at `deadline`.
  ///   - deadline: of the first tick; `nil` for one interval from now, `.now()` for a tick at once.
  ///   - leeway: how late a tick may be to share a wake-up, 0 ns or longer.
  ///   - handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  @discardableResult
  public func activate(
    repeatTimeInterval: DispatchTimeInterval, deadline: DispatchTime? = nil,
    leeway: DispatchTimeInterval = .nanoseconds(0), handler: sending (() -> Void)? = nil
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeatTimeInterval, leeway: leeway)
    return try core.perform(.activate, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Starts a timer that is idle, finished or cancelled; otherwise ignored.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick. One that has passed, or 0, ticks at once; `.distantFuture`, or anything beyond
  ///     2^62 ns, never does.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot, which is finished before its handler starts.
  ///   - leeway: how late a tick may be to share a wake-up, 0 ns or longer.
  ///   - handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  @discardableResult
  public func activate(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0),
    handler: sending (() -> Void)? = nil
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try core.perform(.activate, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Starts a timer that is idle, finished or cancelled with the schedule given last; otherwise ignored.
  ///
  /// A schedule without a deadline counts from now.
  @discardableResult
  public func activate(handler: sending (() -> Void)? = nil) throws(ScheduleError) -> Outcome {
    try core.perform(.activate, handler: TimerMachineHandler.of(handler))
  }

  /// Runs from now with this schedule, whatever the state: one transition, in which no tick can get lost.
  ///
  /// In every state but idle and cancelled it costs one lock and one `schedule` of the source there is.
  /// `restart(deadline: .distantFuture)` disarms.
  @discardableResult
  public func restart(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0),
    handler: sending (() -> Void)? = nil
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try core.perform(.restart, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Runs from now with the schedule given last, whatever the state.
  @discardableResult
  public func restart(handler: sending (() -> Void)? = nil) throws(ScheduleError) -> Outcome {
    try core.perform(.restart, handler: TimerMachineHandler.of(handler))
  }

  /// Replaces the schedule: at once when running, from `resume` on when suspended, else for the next start.
  ///
  /// The first tick comes one interval after this call when running or suspended, else after the start.
  @discardableResult
  public func reschedule(
    repeatTimeInterval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: nil, repeating: repeatTimeInterval, leeway: leeway)
    return try core.perform(.reschedule, plan: plan)
  }

  /// Replaces the schedule: at once when running, from `resume` on when suspended, else for the next start.
  @discardableResult
  public func reschedule(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try core.perform(.reschedule, plan: plan)
  }

  /// Moves the next tick, and the grid with it, to `deadline` if that is later; ignored unless running or suspended.
  ///
  /// One lock, and the source is left alone: it wakes once at the time it was set for and is set anew then.
  @discardableResult
  public func postpone(until deadline: DispatchTime) -> Outcome {
    core.performUnchecked(.postpone, deadline: TimerMachinePlan.instant(deadline))
  }

  /// Gives one tick outside the schedule, on the queue, later: ignored when cancelled or without a handler.
  ///
  /// Further calls before that tick starts add none; suspend, reschedule, restart, activate and cancel drop it.
  @discardableResult
  public func fire() -> Outcome { core.performUnchecked(.fire) }

  /// Holds ticks back; ignored unless running.
  @discardableResult
  public func suspend() -> Outcome { core.performUnchecked(.suspend) }

  /// Lets ticks through again; ignored unless suspended. What fell due meanwhile comes as one tick at once, then the
  /// old grid goes on.
  @discardableResult
  public func resume() -> Outcome { core.performUnchecked(.resume) }

  /// Stops the timer, lets go of its source and of the handler that `activate` or `restart` gave it; ignored unless
  /// running or suspended. It can be started again.
  ///
  /// A finished one-shot is at rest and keeps both, so that it can be restarted cheaply.
  @discardableResult
  public func cancel() -> Outcome { core.performUnchecked(.cancel) }
}

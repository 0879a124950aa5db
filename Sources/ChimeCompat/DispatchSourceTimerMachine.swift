import Chime
import ChimeCore
import Dispatch

/// The state machine around one `DispatchSourceTimer` at a time. Every call, in every state, from every thread, inside
/// its own handler too, does what the states of a timer say (<doc:Promises>); no call can trap, leak or deadlock.
///
/// Calls never wait for a handler. Once a call has returned, its transition has happened, `state` agrees, and no tick
/// that was due before starts. Ticks of one machine never overlap, on a concurrent queue too, and none is early by the
/// clock of `DispatchTime`. Tick k of a repeating timer is due at first deadline + k × interval; missed ticks come as
/// one.
///
/// The machine owns its handlers: the one given to `init` until the machine is released; one given to `activate` or
/// `restart` until `cancel`, the next handler, or the release of the machine. If a call of the handler is under way,
/// its captures are released after that call; once, with no lock held, on the thread that drops the last reference. A
/// handler that captures its machine strongly keeps the machine alive as long.
///
/// Releasing the machine cancels it, inside the handler too.
public final class DispatchSourceTimerMachine: Sendable {
  /// Why a schedule was refused; nothing has changed then.
  public enum ScheduleError: Error, Equatable, Sendable {
    /// An interval of 0 would spin, a negative one means nothing. A one-shot is `.never`.
    case intervalNotPositive
    /// Longer than `Int64.max` nanoseconds (292 years).
    case intervalTooLong
    /// A tick cannot come early; 0 is as punctual as it gets.
    case leewayNegative
    /// Longer than `Int64.max` nanoseconds (292 years).
    case leewayTooLong
    /// The machine was never given a schedule.
    case scheduleMissing
    /// The machine has no handler: `init` got none, and `cancel` has dropped the last one.
    case handlerMissing
  }

  private let core: TimerMachine

  /// An idle machine; it has no source until it is started.
  ///
  /// - Parameters:
  ///   - queue: where handlers run; `nil` for a global queue.
  ///   - handler: runs at each tick, unless `activate` or `restart` was given another one.
  public convenience init(queue: DispatchQueue? = nil, handler: sending (() -> Void)? = nil) {
    self.init(AdapterFactory(DispatchSourceTimerAdapterFactory(), queue), handler: handler)
  }

  /// A machine around timers of another kind.
  package init(_ factory: any MachineTimerFactory, handler: sending (() -> Void)?) {
    core = TimerMachine(factory, defaultHandler: TimerMachineHandler.of(handler))
  }

  deinit {
    core.shutDown()
  }

  /// The present state.
  public var state: TimerState { core.state }

  /// Starts a repeating timer that is idle, finished or cancelled; otherwise ignored.
  ///
  /// - Parameters:
  ///   - repeatTimeInterval: between ticks, 1 ns or longer; `.never` for a single tick at `deadline`.
  ///   - deadline: of the first tick; `nil` for one interval from now, `.now()` for a tick at once.
  ///   - leeway: how late a tick may be in order to share a wake-up, 0 ns or longer.
  ///   - handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  /// - Returns: done; ignored if it runs or is suspended.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func activate(
    repeatTimeInterval: DispatchTimeInterval, deadline: DispatchTime? = nil,
    leeway: DispatchTimeInterval = .nanoseconds(0), handler: sending (() -> Void)? = nil
  ) throws -> ChimeTimer.Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeatTimeInterval, leeway: leeway)
    return try perform(.activate, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Starts a timer that is idle, finished or cancelled; otherwise ignored.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick. One that has passed, or 0, ticks at once; `.distantFuture`, or anything beyond
  ///     2^62 ns, never does.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot, which is finished before its handler starts.
  ///   - leeway: how late a tick may be in order to share a wake-up, 0 ns or longer.
  ///   - handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  /// - Returns: done; ignored if it runs or is suspended.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func activate(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0),
    handler: sending (() -> Void)? = nil
  ) throws -> ChimeTimer.Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try perform(.activate, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Starts a timer that is idle, finished or cancelled, with the last schedule given; otherwise ignored.
  ///
  /// A schedule without a deadline counts from now.
  ///
  /// - Parameter handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  /// - Returns: done; ignored if it runs or is suspended.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func activate(handler: sending (() -> Void)? = nil) throws -> ChimeTimer.Outcome {
    try perform(.activate, handler: TimerMachineHandler.of(handler))
  }

  /// Makes the timer run from now on with this schedule, whatever its state, in one transition that loses no tick.
  ///
  /// In every state but idle and cancelled it costs one lock and one `schedule` of the existing source.
  /// `restart(deadline: .distantFuture)` disarms.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick. One that has passed, or 0, ticks at once; `.distantFuture` never does.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot.
  ///   - leeway: how late a tick may be in order to share a wake-up, 0 ns or longer.
  ///   - handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  /// - Returns: done or running.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func restart(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0),
    handler: sending (() -> Void)? = nil
  ) throws -> ChimeTimer.Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try perform(.restart, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Makes the timer run from now on with the last schedule given, whatever its state.
  ///
  /// - Parameter handler: runs on the queue at each tick until `cancel`; `nil` keeps the one there is.
  /// - Returns: done or running.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func restart(handler: sending (() -> Void)? = nil) throws -> ChimeTimer.Outcome {
    try perform(.restart, handler: TimerMachineHandler.of(handler))
  }

  /// Replaces the schedule: at once if running, from `resume` on if suspended, otherwise for the next start.
  ///
  /// The first tick comes one interval after this call if running or suspended, otherwise after the start.
  ///
  /// - Parameters:
  ///   - repeatTimeInterval: between ticks, 1 ns or longer; `.never` for a single tick.
  ///   - leeway: how late a tick may be in order to share a wake-up, 0 ns or longer.
  /// - Returns: done or running.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func reschedule(
    repeatTimeInterval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws -> ChimeTimer.Outcome {
    let plan = try TimerMachinePlan(deadline: nil, repeating: repeatTimeInterval, leeway: leeway)
    return try perform(.reschedule, plan: plan)
  }

  /// Replaces the schedule: at once if running, from `resume` on if suspended, otherwise for the next start.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick. One that has passed, or 0, ticks at once; `.distantFuture` never does.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot.
  ///   - leeway: how late a tick may be in order to share a wake-up, 0 ns or longer.
  /// - Returns: done or running.
  /// - Throws: `ScheduleError`: why the schedule was refused.
  @discardableResult
  public func reschedule(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws -> ChimeTimer.Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try perform(.reschedule, plan: plan)
  }

  /// Moves the next tick, and the grid with it, to `deadline` if that is later; ignored unless running or suspended.
  ///
  /// It costs one lock and leaves the source alone, which wakes at the time it was set for and is then set again.
  ///
  /// - Parameter deadline: one that is earlier than the present one changes nothing.
  /// - Returns: done, running or ignored.
  @discardableResult
  public func postpone(until deadline: DispatchTime) -> ChimeTimer.Outcome {
    ChimeTimer.Outcome(core.perform(.postpone, deadline: deadline.machineInstant))
  }

  /// Requests one tick outside the schedule, on the queue; ignored if cancelled or without a handler.
  ///
  /// Further calls before that tick starts add nothing. Suspend, reschedule, restart, activate and cancel drop it.
  @discardableResult
  public func fire() -> ChimeTimer.Outcome { ChimeTimer.Outcome(core.perform(.fire)) }

  /// Holds ticks back; ignored unless running, or an extra tick is to come, which it drops.
  @discardableResult
  public func suspend() -> ChimeTimer.Outcome { ChimeTimer.Outcome(core.perform(.suspend)) }

  /// Lets ticks through again; ignored unless suspended. Ticks that were due in the meantime come as one, at once; then
  /// the old grid continues.
  @discardableResult
  public func resume() -> ChimeTimer.Outcome { ChimeTimer.Outcome(core.perform(.resume)) }

  /// Stops the timer and releases its source and the handler given to `activate` or `restart`; ignored unless running
  /// or suspended, or an extra tick is to come, which it drops. The timer can be started again.
  ///
  /// A finished one-shot keeps both, so that restarting it is cheap.
  @discardableResult
  public func cancel() -> ChimeTimer.Outcome { ChimeTimer.Outcome(core.perform(.cancel)) }

  private func perform(
    _ event: TimerEvent, plan: TimerMachinePlan? = nil, handler: TimerMachineHandler? = nil
  ) throws(ScheduleError) -> ChimeTimer.Outcome {
    let outcome = core.perform(event, plan: plan, handler: handler)
    switch outcome {
    case .scheduleMissing: throw .scheduleMissing
    case .handlerMissing: throw .handlerMissing
    case .done, .busy, .ignored, .ignoredBusy: return ChimeTimer.Outcome(outcome)
    }
  }
}

extension ChimeTimer.Outcome {
  fileprivate init(_ outcome: TimerMachine.Outcome) {
    switch outcome {
    case .done: self = .done
    case .busy: self = .running
    case .ignored: self = .ignored
    case .ignoredBusy: self = .ignoredRunning
    case .scheduleMissing, .handlerMissing: invariantFailure("an event without a schedule was refused")
    }
  }
}

// MARK: To and from Dispatch

extension TimerMachinePlan {
  fileprivate init(
    deadline: DispatchTime?, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval
  ) throws(DispatchSourceTimerMachine.ScheduleError) {
    guard let interval = repeating.nanoseconds else { throw .intervalTooLong }
    guard interval > 0 else { throw .intervalNotPositive }
    guard let leeway = leeway.nanoseconds else { throw .leewayTooLong }
    guard leeway >= 0 else { throw .leewayNegative }
    self.init(deadline: deadline?.machineInstant, interval: interval, leeway: leeway)
  }
}

extension DispatchTime {
  /// libdispatch takes 0 for now, and what does not fit in 62 bits for never or for a time on another clock.
  private static let endOfTime: Int64 = 0x3fff_ffff_ffff_ffff

  package init(machineInstant instant: Int64) {
    self = instant >= Self.endOfTime ? .distantFuture : DispatchTime(uptimeNanoseconds: UInt64(max(instant, 1)))
  }

  /// Nanoseconds, `Int64.max` for never.
  package var machineInstant: Int64 { uptimeNanoseconds < UInt64(Self.endOfTime) ? Int64(uptimeNanoseconds) : .max }
}

extension DispatchTimeInterval {
  /// `nil` where 64 bits do not suffice; `Int64.max` for `.never`.
  fileprivate var nanoseconds: Int64? {
    let (count, unit): (Int, Int64) =
      switch self {
      case .seconds(let count): (count, 1_000_000_000)
      case .milliseconds(let count): (count, 1_000_000)
      case .microseconds(let count): (count, 1000)
      case .nanoseconds(let count): (count, 1)
      case .never: (.max, 1)
      @unknown default: (0, 1)
      }
    let (product, overflow) = Int64(count).multipliedReportingOverflow(by: unit)
    // A negative interval that overflows is negative first of all.
    return overflow ? (count < 0 ? .min : nil) : product
  }
}

extension TimerMachineHandler {
  /// Not a failable initialiser: that allocates before it fails, and a restart without a handler allocates nothing.
  fileprivate static func of(_ body: sending (() -> Void)?) -> TimerMachineHandler? {
    if let body { TimerMachineHandler(body) } else { nil }
  }
}

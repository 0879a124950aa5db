import ChimeCore
import Dispatch

/// The state machine around one `DispatchSourceTimer` at a time. Every call, in every state, from every thread, inside
/// its own handler too, does what the table of `Transition` says; no call can trap, leak or deadlock.
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
  /// What a call did.
  public enum Outcome: Equatable, Sendable {
    /// The call took effect, and no handler of this machine is running.
    case done
    /// The call took effect; a handler that had started has not returned (perhaps the caller's own).
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
  ///   - factory: makes a source each time the machine is started.
  ///   - handler: runs at each tick, unless `activate` or `restart` was given another one.
  public init(
    queue: DispatchQueue? = nil, factory: any TimerAdapterFactory = DispatchSourceTimerAdapterFactory(),
    handler: sending (() -> Void)? = nil
  ) {
    core = TimerMachine(AdapterFactory(factory, queue), standing: TimerMachineHandler.of(handler))
  }

  /// The same, with the factory under the name that it has in the systems that this machine comes from.
  public convenience init(
    queue: DispatchQueue? = nil, timerFactory: any TimerAdapterFactory, handler: sending (() -> Void)? = nil
  ) {
    self.init(queue: queue, factory: timerFactory, handler: handler)
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
  @discardableResult
  public func activate(
    repeatTimeInterval: DispatchTimeInterval, deadline: DispatchTime? = nil,
    leeway: DispatchTimeInterval = .nanoseconds(0), handler: sending (() -> Void)? = nil
  ) throws(ScheduleError) -> Outcome {
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
  @discardableResult
  public func activate(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0),
    handler: sending (() -> Void)? = nil
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try perform(.activate, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Starts a timer that is idle, finished or cancelled, with the last schedule given; otherwise ignored.
  ///
  /// A schedule without a deadline counts from now.
  @discardableResult
  public func activate(handler: sending (() -> Void)? = nil) throws(ScheduleError) -> Outcome {
    try perform(.activate, handler: TimerMachineHandler.of(handler))
  }

  /// Makes the timer run from now on with this schedule, whatever its state, in one transition that loses no tick.
  ///
  /// In every state but idle and cancelled it costs one lock and one `schedule` of the existing source.
  /// `restart(deadline: .distantFuture)` disarms.
  @discardableResult
  public func restart(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0),
    handler: sending (() -> Void)? = nil
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try perform(.restart, plan: plan, handler: TimerMachineHandler.of(handler))
  }

  /// Makes the timer run from now on with the last schedule given, whatever its state.
  @discardableResult
  public func restart(handler: sending (() -> Void)? = nil) throws(ScheduleError) -> Outcome {
    try perform(.restart, handler: TimerMachineHandler.of(handler))
  }

  /// Replaces the schedule: at once if running, from `resume` on if suspended, otherwise for the next start.
  ///
  /// The first tick comes one interval after this call if running or suspended, otherwise after the start.
  @discardableResult
  public func reschedule(
    repeatTimeInterval: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: nil, repeating: repeatTimeInterval, leeway: leeway)
    return try perform(.reschedule, plan: plan)
  }

  /// Replaces the schedule: at once if running, from `resume` on if suspended, otherwise for the next start.
  @discardableResult
  public func reschedule(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ScheduleError) -> Outcome {
    let plan = try TimerMachinePlan(deadline: deadline, repeating: repeating, leeway: leeway)
    return try perform(.reschedule, plan: plan)
  }

  /// Moves the next tick, and the grid with it, to `deadline` if that is later; ignored unless running or suspended.
  ///
  /// It costs one lock and leaves the source alone, which wakes at the time it was set for and is then set again.
  @discardableResult
  public func postpone(until deadline: DispatchTime) -> Outcome {
    Outcome(core.performUnchecked(.postpone, deadline: deadline.instant))
  }

  /// Requests one tick outside the schedule, on the queue; ignored if cancelled or without a handler.
  ///
  /// Further calls before that tick starts add nothing. Suspend, reschedule, restart, activate and cancel drop it.
  @discardableResult
  public func fire() -> Outcome { Outcome(core.performUnchecked(.fire)) }

  /// Holds ticks back; ignored unless running.
  @discardableResult
  public func suspend() -> Outcome { Outcome(core.performUnchecked(.suspend)) }

  /// Lets ticks through again; ignored unless suspended. Ticks that were due in the meantime come as one, at once; then
  /// the old grid continues.
  @discardableResult
  public func resume() -> Outcome { Outcome(core.performUnchecked(.resume)) }

  /// Stops the timer and releases its source and the handler given to `activate` or `restart`; ignored unless running
  /// or suspended. The timer can be started again.
  ///
  /// A finished one-shot keeps both, so that restarting it is cheap.
  @discardableResult
  public func cancel() -> Outcome { Outcome(core.performUnchecked(.cancel)) }

  private func perform(
    _ event: TimerEvent, plan: TimerMachinePlan? = nil, handler: TimerMachineHandler? = nil
  ) throws(ScheduleError) -> Outcome {
    do {
      return Outcome(try core.perform(event, plan: plan, handler: handler))
    } catch {
      switch error {
      case .scheduleMissing: throw .scheduleMissing
      case .handlerMissing: throw .handlerMissing
      }
    }
  }
}

extension DispatchSourceTimerMachine.Outcome {
  fileprivate init(_ outcome: TimerMachine.Outcome) {
    switch outcome {
    case .done: self = .done
    case .busy: self = .busy
    case .ignored: self = .ignored
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
    self.init(deadline: deadline?.instant, interval: interval, leeway: leeway)
  }
}

extension DispatchTime {
  /// libdispatch takes 0 for now, and what does not fit in 62 bits for never or for a time on another clock.
  private static let endOfTime: Int64 = 0x3fff_ffff_ffff_ffff

  fileprivate init(_ instant: Int64) {
    self = instant >= Self.endOfTime ? .distantFuture : DispatchTime(uptimeNanoseconds: UInt64(max(instant, 1)))
  }

  /// Nanoseconds, `Int64.max` for never.
  fileprivate var instant: Int64 { uptimeNanoseconds < UInt64(Self.endOfTime) ? Int64(uptimeNanoseconds) : .max }
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

/// A factory and its adapters as the machine knows them.
private final class AdapterFactory: MachineTimerFactory {
  private let factory: any TimerAdapterFactory
  private let queue: DispatchQueue?

  init(_ factory: any TimerAdapterFactory, _ queue: DispatchQueue?) {
    self.factory = factory
    self.queue = queue
  }

  func makeTimer() -> any MachineTimer { Adapter(factory.makeTimer(queue: queue)) }
  func submit(_ body: @escaping @Sendable () -> Void) { (queue ?? .global()).async(execute: body) }
  var now: Int64 { factory.now.instant }

  private final class Adapter: MachineTimer {
    private let adapter: any TimerAdapter

    init(_ adapter: any TimerAdapter) { self.adapter = adapter }

    func schedule(deadline: Int64, interval: Int64, leeway: Int64) {
      adapter.schedule(
        deadline: DispatchTime(deadline), repeating: interval == .max ? .never : .nanoseconds(Int(interval)),
        leeway: .nanoseconds(Int(leeway)))
    }

    func setEventHandler(_ handler: @escaping @Sendable () -> Void) { adapter.setEventHandler(handler) }
    func activate() { adapter.activate() }
    func suspend() { adapter.suspend() }
    func resume() { adapter.resume() }
    func cancel() { adapter.cancel() }
  }
}

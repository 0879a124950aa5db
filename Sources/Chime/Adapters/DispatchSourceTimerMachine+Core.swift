import Dispatch
import Synchronization

/// What a `DispatchSourceTimerMachine` and the event handler of its source share.
///
/// A source calls back too often: a call that was under way when the schedule changed arrives later, and nothing in it
/// says so. A delivery is therefore only a hint. Under the lock it is compared with what is due now, and it claims
/// a tick or is dropped; that is the generation check. The lock is held over the calls of the adapter, whose order is
/// the order of the transitions, never while a handler runs or an object is let go.
///
/// The event handler holds the core and not the machine, so that the last release of the machine, by whatever thread,
/// is what ends the timer, and not some delivery under way.
final class TimerMachineCore: Sendable {
  /// Why the queue runs `deliver`.
  private enum Cause { case schedule, extra }

  private struct Shared {
    var state = TimerState.idle
    /// What a start or restart without a schedule of its own uses.
    var plan: TimerMachinePlan?
    /// Of the next tick, on the clock of `DispatchTime`; `.max` for none. Means nothing unless running or suspended.
    var due = Int64.max
    /// There is one unless idle or cancelled. Activated; suspended exactly in state suspended.
    var adapter: (any TimerAdapter)?
    /// Given by `activate` or `restart`.
    var handler: TimerMachineHandler?
    /// Given to `init`, used where `handler` is missing.
    var standing: TimerMachineHandler?
    /// A tick of `fire` is owed.
    var extra = false
    /// A block of `fire` is on the queue: at most one, however often it is called.
    var extraSubmitted = false
    /// A handler has started and not returned.
    var busy = false
    /// Deliveries that came while busy.
    var scheduleWaits = false
    var extraWaits = false
  }

  /// What is to be done after the lock has been released.
  private struct Aftermath {
    var outcome = DispatchSourceTimerMachine.Outcome.ignored
    var submitsExtra = false
    var handler: TimerMachineHandler?
    var adapter: (any TimerAdapter)?
  }

  private let queue: DispatchQueue?
  private let factory: any TimerAdapterFactory
  private let shared: Locked<Shared>

  init(queue: DispatchQueue?, factory: any TimerAdapterFactory, standing: TimerMachineHandler?) {
    self.queue = queue
    self.factory = factory
    shared = Locked(Shared(standing: standing))
  }

  var state: TimerState { shared.withLock { $0.state } }

  // MARK: Transitions

  func perform(
    _ event: TimerEvent, plan: TimerMachinePlan? = nil, handler: TimerMachineHandler? = nil, deadline: Int64 = 0
  ) throws(DispatchSourceTimerMachine.ScheduleError) -> DispatchSourceTimerMachine.Outcome {
    let aftermath = try shared.withLock { shared throws(DispatchSourceTimerMachine.ScheduleError) in
      try step(&shared, event, plan: plan, handler: handler, deadline: deadline)
    }
    return withExtendedLifetime(aftermath) {
      if aftermath.submitsExtra { submitExtra() }
      return aftermath.outcome
    }
  }

  /// For the events that carry no schedule and start nothing.
  func performUnchecked(_ event: TimerEvent, deadline: Int64 = 0) -> DispatchSourceTimerMachine.Outcome {
    do {
      return try perform(event, deadline: deadline)
    } catch {
      invariantFailure("an event without a schedule was refused", event, error)
    }
  }

  /// Cancels whatever runs and gives up everything held, in any state: the machine is gone.
  func shutDown() {
    let held = shared.withLock { shared in
      let held = shared
      if let adapter = held.adapter { Self.stop(adapter, in: held.state) }
      shared.standing = nil
      shared.handler = nil
      shared.adapter = nil
      shared.state = .cancelled
      shared.extra = false
      return held
    }
    withExtendedLifetime(held) {}
  }

  private func step(
    _ shared: inout Shared, _ event: TimerEvent, plan: TimerMachinePlan?, handler: TimerMachineHandler?, deadline: Int64
  ) throws(DispatchSourceTimerMachine.ScheduleError) -> Aftermath {
    var aftermath = Aftermath(outcome: shared.busy ? .busy : .done)
    let transition = Transition(from: shared.state, on: event)
    switch transition {
    case .ignored:
      return Aftermath()
    case .start, .rearm:
      guard let plan = plan ?? shared.plan else { throw .scheduleMissing }
      guard handler != nil || shared.handler != nil || shared.standing != nil else { throw .handlerMissing }
      if let handler {
        aftermath.handler = shared.handler
        shared.handler = handler
      }
      shared.plan = plan
      shared.due = plan.firstDeadline(from: factory.now)
      shared.extra = false
      arm(&shared)
    case .pause:
      shared.adapter?.suspend()
      shared.extra = false
    case .unpause:
      // The source may have delivered what was dropped while suspended: it is set anew, not only resumed.
      arm(&shared)
    case .store(let state):
      guard let plan else { throw .scheduleMissing }
      shared.plan = plan
      shared.extra = false
      if state == .suspended { shared.due = plan.firstDeadline(from: factory.now) }
    case .move:
      shared.due = max(shared.due, deadline)
    case .extraTick:
      guard shared.handler != nil || shared.standing != nil else { return Aftermath() }
      shared.extra = true
      aftermath.submitsExtra = !shared.extraSubmitted
      shared.extraSubmitted = true
    case .finish:
      invariantFailure("a last tick is claimed, not asked for", shared.state)
    case .stop:
      if let adapter = shared.adapter { Self.stop(adapter, in: shared.state) }
      aftermath.adapter = shared.adapter
      aftermath.handler = shared.handler
      shared.adapter = nil
      shared.handler = nil
      shared.extra = false
    }
    if let next = transition.next { shared.state = next }
    return aftermath
  }

  /// Sets the source to what is due, makes it if there is none, resumes it if it is suspended.
  private func arm(_ shared: inout Shared) {
    guard let plan = shared.plan else { invariantFailure("armed without a schedule", shared.state) }
    if let adapter = shared.adapter {
      adapter.schedule(deadline: plan.dispatchTime(shared.due), repeating: plan.repeating, leeway: plan.dispatchLeeway)
      if shared.state == .suspended { adapter.resume() }
    } else {
      let adapter = factory.makeTimer(queue: queue)
      adapter.setEventHandler { self.deliver(.schedule) }
      adapter.schedule(deadline: plan.dispatchTime(shared.due), repeating: plan.repeating, leeway: plan.dispatchLeeway)
      adapter.activate()
      shared.adapter = adapter
    }
  }

  /// Brings an activated source into the state in which it may be released.
  private static func stop(_ adapter: any TimerAdapter, in state: TimerState) {
    if state == .suspended { adapter.resume() }
    adapter.cancel()
  }

  // MARK: Ticks

  private func submitExtra() {
    (queue ?? .global()).async { self.deliver(.extra) }
  }

  /// Runs on the queue.
  private func deliver(_ cause: Cause) {
    guard let handler = shared.withLock({ claim(&$0, cause) }) else { return }
    handler.body()
    let submitsExtra = shared.withLock { shared in
      shared.busy = false
      if shared.scheduleWaits {
        shared.scheduleWaits = false
        if shared.state == .running { arm(&shared) }
      }
      defer { shared.extraWaits = false }
      return shared.extraWaits
    }
    if submitsExtra { submitExtra() }
  }

  /// The start of a tick: the handler to call, or `nil` if nothing is due.
  private func claim(_ shared: inout Shared, _ cause: Cause) -> TimerMachineHandler? {
    switch cause {
    case .schedule:
      guard shared.state == .running, let plan = shared.plan else { return nil }
      guard !shared.busy else {
        shared.scheduleWaits = true
        return nil
      }
      let now = TimerMachinePlan.instant(factory.now)
      guard shared.due <= now else {
        // A stale delivery, or the first one after postpone. Whatever it was, the source is set to what is due.
        if shared.due != .max { arm(&shared) }
        return nil
      }
      if plan.isOneShot {
        shared.due = .max
        guard let next = Transition(from: shared.state, on: .lastTick).next else {
          invariantFailure("a timer that ticks cannot finish", shared.state)
        }
        shared.state = next
      } else {
        shared.due = plan.nextDeadline(after: shared.due, now: now)
      }
    case .extra:
      guard !shared.busy else {
        shared.extraWaits = true
        return nil
      }
      shared.extraSubmitted = false
      guard shared.extra else { return nil }
      shared.extra = false
    }
    shared.busy = true
    return shared.handler ?? shared.standing
  }
}

/// A handler that was sent to the machine, and its captures.
final class TimerMachineHandler: @unchecked Sendable {
  // SAFETY (unchecked): the closure was `sending`, so nobody else reaches its captures, and the machine's busy flag,
  // changed under its lock, puts the calls in sequence.
  let body: () -> Void

  private init(_ body: sending @escaping () -> Void) { self.body = body }

  /// Not a failable initialiser: that allocates before it fails, and the restart of a timer allocates nothing.
  static func of(_ body: sending (() -> Void)?) -> TimerMachineHandler? {
    if let body { TimerMachineHandler(body) } else { nil }
  }
}

/// A checked schedule, in nanoseconds on the clock of `DispatchTime`; `.max` is never.
struct TimerMachinePlan: Sendable {
  /// `nil` for one interval after the plan begins, 0 for its beginning.
  private let deadline: Int64?
  private let interval: Int64
  private let leeway: Int64

  init(
    deadline: DispatchTime?, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval
  ) throws(DispatchSourceTimerMachine.ScheduleError) {
    guard let interval = Self.nanoseconds(repeating) else { throw .intervalTooLong }
    guard interval > 0 else { throw .intervalNotPositive }
    guard let leeway = Self.nanoseconds(leeway) else { throw .leewayTooLong }
    guard leeway >= 0 else { throw .leewayNegative }
    self.deadline = deadline.map(Self.instant)
    self.interval = interval
    self.leeway = leeway
  }

  var isOneShot: Bool { interval == .max }

  /// When the plan begins now.
  func firstDeadline(from now: @autoclosure () -> DispatchTime) -> Int64 {
    switch deadline {
    case nil: Self.instant(now()).saturatingAdd(interval)
    case 0: Self.instant(now())
    case let deadline?: deadline
    }
  }

  /// The first point of the grid after `now`; `due` is the point that has passed.
  func nextDeadline(after due: Int64, now: Int64) -> Int64 {
    let missed = (now - due) / interval
    return (due + missed * interval).saturatingAdd(interval)
  }

  // MARK: To and from Dispatch

  var repeating: DispatchTimeInterval { isOneShot ? .never : .nanoseconds(Int(clamping: interval)) }
  var dispatchLeeway: DispatchTimeInterval { .nanoseconds(Int(clamping: leeway)) }

  /// libdispatch takes 0 for now, and what does not fit in 62 bits for never or for a time on another clock.
  private static let endOfTime: Int64 = 0x3fff_ffff_ffff_ffff

  func dispatchTime(_ instant: Int64) -> DispatchTime {
    instant >= Self.endOfTime ? .distantFuture : DispatchTime(uptimeNanoseconds: UInt64(max(instant, 1)))
  }

  static func instant(_ time: DispatchTime) -> Int64 {
    time.uptimeNanoseconds < UInt64(endOfTime) ? Int64(time.uptimeNanoseconds) : .max
  }

  /// `nil` where 64 bits do not suffice; `.max` for `.never`.
  private static func nanoseconds(_ interval: DispatchTimeInterval) -> Int64? {
    let (count, unit): (Int, Int64) =
      switch interval {
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

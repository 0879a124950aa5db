/// The state machine around one dispatch timer source at a time: every call, in every state, from every thread, does
/// what the table of `Transition` says, and none can trap, leak or deadlock. Drives Chime's dispatch queues, and stands
/// behind `DispatchSourceTimerMachine`. Its owner calls `shutDown` last.
///
/// A source calls back too often: a call that was under way when the schedule changed arrives later, and cannot be told
/// from others. A delivery is therefore only a hint. Under the lock it is compared with what is due now, and either
/// claims a tick or is dropped; that is the generation check. The lock is held over the calls of the source, whose
/// order is the order of the transitions, never while a handler runs or an object is released.
///
/// The source's handler holds the machine, until that releases the source.
package final class TimerMachine: Sendable {
  /// What a call did.
  package enum Outcome: Sendable {
    case done
    /// It took effect; a handler that had started before has not returned.
    case busy
    /// In this state the call means nothing.
    case ignored
    /// Likewise, and a handler has not returned.
    case ignoredBusy
    /// A start without a schedule, or without a handler, was refused; nothing has changed.
    case scheduleMissing, handlerMissing
  }

  /// Why the queue runs `deliver`.
  private enum Cause { case schedule, extra }

  private struct Shared {
    var state = TimerState.idle
    /// Used by a start or restart without a schedule of its own.
    var plan: TimerMachinePlan?
    /// Of the next tick, on the clock of `DispatchTime`; `.max` for none. Means nothing unless running or suspended.
    var due = Int64.max
    /// There is one unless idle or cancelled. Activated; suspended exactly in state suspended.
    var source: (any MachineTimer)?
    /// Given by `activate` or `restart`.
    var handler: TimerMachineHandler?
    /// Given to `init`, used where `handler` is missing.
    var defaultHandler: TimerMachineHandler?
    /// An extra tick of `fire` is pending.
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
    var outcome = Outcome.ignored
    var submitsExtra = false
    var handler: TimerMachineHandler?
    var source: (any MachineTimer)?
  }

  private let factory: any MachineTimerFactory
  private let shared: Locked<Shared>

  /// - Parameter defaultHandler: runs at each tick for which no other handler was given.
  package init(_ factory: any MachineTimerFactory, defaultHandler: TimerMachineHandler?) {
    self.factory = factory
    shared = Locked(Shared(defaultHandler: defaultHandler))
  }

  package var state: TimerState { shared.withLock { $0.state } }

  // MARK: Transitions

  package func perform(
    _ event: TimerEvent, plan: TimerMachinePlan? = nil, handler: TimerMachineHandler? = nil, deadline: Int64 = 0
  ) -> Outcome {
    let aftermath = shared.withLock { step(&$0, event, plan: plan, handler: handler, deadline: deadline) }
    return withExtendedLifetime(aftermath) {
      if aftermath.submitsExtra { submitExtra() }
      return aftermath.outcome
    }
  }

  /// Cancels whatever runs and gives up everything held, in any state: the machine is gone.
  package func shutDown() {
    let held = shared.withLock { shared in
      defer { shared = Shared(state: .cancelled) }
      if let source = shared.source { Self.stop(source, in: shared.state) }
      return shared
    }
    withExtendedLifetime(held) {}
  }

  private func step(
    _ shared: inout Shared, _ event: TimerEvent, plan: TimerMachinePlan?, handler: TimerMachineHandler?, deadline: Int64
  ) -> Aftermath {
    var aftermath = Aftermath(outcome: shared.busy ? .busy : .done)
    let transition = Transition(from: shared.state, on: event)
    switch transition {
    case .ignored:
      // As of a timer, a call that stops takes back an extra tick, and says that a handler runs.
      guard event == .cancel || event == .suspend else { return Aftermath() }
      if !shared.extra { return Aftermath(outcome: shared.busy ? .ignoredBusy : .ignored) }
      shared.extra = false
    case .start, .rearm:
      guard let plan = plan ?? shared.plan else { return Aftermath(outcome: .scheduleMissing) }
      guard handler != nil || shared.handler != nil || shared.defaultHandler != nil else {
        return Aftermath(outcome: .handlerMissing)
      }
      if let handler {
        aftermath.handler = shared.handler
        shared.handler = handler
      }
      shared.plan = plan
      shared.due = plan.firstDeadline(from: factory.now)
      shared.extra = false
      arm(&shared)
    case .pause:
      shared.source?.suspend()
      shared.extra = false
    case .unpause:
      // The source may have delivered what was dropped while suspended: it is set anew, not only resumed.
      arm(&shared)
    case .store(let state):
      guard let plan else { return Aftermath(outcome: .scheduleMissing) }
      shared.plan = plan
      shared.extra = false
      if state == .suspended { shared.due = plan.firstDeadline(from: factory.now) }
    case .move:
      shared.due = max(shared.due, deadline)
    case .extraTick:
      guard shared.handler != nil || shared.defaultHandler != nil else { return Aftermath() }
      shared.extra = true
      aftermath.submitsExtra = !shared.extraSubmitted
      shared.extraSubmitted = true
    case .finish:
      invariantFailure("a last tick is claimed, not asked for", Int64(shared.state.rawValue))
    case .stop:
      if let source = shared.source { Self.stop(source, in: shared.state) }
      aftermath.source = shared.source
      aftermath.handler = shared.handler
      shared.source = nil
      shared.handler = nil
      shared.extra = false
    }
    if let next = transition.next { shared.state = next }
    return aftermath
  }

  /// Sets the source to what is due, makes it if there is none, resumes it if it is suspended.
  private func arm(_ shared: inout Shared) {
    guard let plan = shared.plan else { invariantFailure("armed without a schedule", Int64(shared.state.rawValue)) }
    if let source = shared.source {
      source.schedule(deadline: shared.due, interval: plan.interval, leeway: plan.leeway)
      if shared.state == .suspended { source.resume() }
    } else {
      let source = factory.makeTimer()
      source.setEventHandler { self.deliver(.schedule) }
      source.schedule(deadline: shared.due, interval: plan.interval, leeway: plan.leeway)
      source.activate()
      shared.source = source
    }
  }

  /// Brings an activated source into the state in which it may be released.
  private static func stop(_ source: any MachineTimer, in state: TimerState) {
    if state == .suspended { source.resume() }
    source.cancel()
  }

  // MARK: Ticks

  private func submitExtra() {
    factory.submit { self.deliver(.extra) }
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
      let now = factory.now
      guard shared.due <= now else {
        // A stale delivery, or the first one after postpone. In either case the source is set to what is due.
        if shared.due != .max { arm(&shared) }
        return nil
      }
      if plan.interval == .max {
        shared.due = .max
        guard let next = Transition(from: shared.state, on: .lastTick).next else {
          invariantFailure("a timer that ticks cannot finish", Int64(shared.state.rawValue))
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
    return shared.handler ?? shared.defaultHandler
  }
}

/// A handler that was given to the machine, and its captures.
package final class TimerMachineHandler: @unchecked Sendable {
  // SAFETY (unchecked): the closure was `sending`, so nobody else reaches its captures, and the machine's busy flag,
  // changed under its lock, puts the calls in sequence.
  let body: () -> Void

  package init(_ body: sending @escaping () -> Void) { self.body = body }
}

/// A checked schedule, in nanoseconds on the clock of its sources; `Int64.max` is never.
package struct TimerMachinePlan: Sendable {
  /// `nil` for one interval after the plan begins, 0 for its beginning.
  private let deadline: Int64?
  /// Above 0; `Int64.max` for a single tick.
  let interval: Int64
  let leeway: Int64

  package init(deadline: Int64?, interval: Int64, leeway: Int64) {
    self.deadline = deadline
    self.interval = interval
    self.leeway = leeway
  }

  /// When the plan begins now.
  func firstDeadline(from now: @autoclosure () -> Int64) -> Int64 {
    switch deadline {
    case nil: now().saturatingAdd(interval)
    case 0: now()
    case let deadline?: deadline
    }
  }

  /// The first point of the grid after `now`; `due` is the point that has passed.
  func nextDeadline(after due: Int64, now: Int64) -> Int64 {
    let missed = (now - due) / interval
    return (due + missed * interval).saturatingAdd(interval)
  }
}

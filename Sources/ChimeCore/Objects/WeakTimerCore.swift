/// A timer on a run loop, like Foundation's `Timer`, that does not keep its target alive: once the target is gone, the
/// timer is invalid and calls nothing more.
///
/// A run loop holds its timers until they are invalid, so nobody else needs to. All calls may be made from any thread;
/// the action runs on the loop's thread, and inside `fire`.
package final class WeakTimerCore: TickReceiver, ProcessState, @unchecked Sendable {
  // Unchecked for the action, which may capture anything: calls of it exclude each other.
  package typealias Action = (CoreTick) -> Void

  /// The target, held weakly.
  package enum Subject {
    case nothing
    /// Any object, and the id of its token's target, or 0.
    case object(isAlive: @Sendable () -> Bool, token: UInt64)
    /// A target of the C interface.
    case target(UInt64)

    @inline(never)
    var isAlive: Bool {
      switch self {
      case .nothing: true
      case .object(let isAlive, _): isAlive()
      case .target(let id): TimerTarget.isAlive(id)
      }
    }

    /// The id of the target that the core's timer has; 0 for none.
    var targetID: UInt64 {
      switch self {
      case .nothing: 0
      case .object(_, let token): token
      case .target(let id): id
      }
    }
  }

  struct State {
    /// `nil` once the timer is invalid.
    var action: Action?
    /// What the loop keeps alive with the timer; `nil` once that is invalid.
    var companion: AnyObject?
    var loop: (any WeakTimerLoop)?
    var modes = LoopModes()
    /// The core's timer, once the timer is on a loop.
    var timer: UInt64 = 0
    /// The core's timer from when it was in fewer modes, and the first due time that was left to the present one.
    var before: (timer: UInt64, end: Int64) = (0, 0)
    /// When the first tick is due, on the monotonic clock, until the timer is on a loop.
    var first: Int64
    var tolerance: Int64 = 0
    /// The action is running.
    var isBusy = false
    /// What came while the action was running in `fire`: the last tick, with all earlier ones counted as missed.
    var delayed: CoreTick?
    /// Ticks delivered on the schedule.
    var sequence: UInt64 = 0
  }

  let state: Locked<State>
  let subject: Subject
  /// Nanoseconds, above 0.
  package let interval: Int64
  package let repeats: Bool
  /// Of the core's timer; empty: none.
  let label: String

  /// - Parameter interval: nanoseconds; 0 or less means 0.1 ms.
  package init(
    interval: Int64, repeats: Bool, subject: Subject, label: String = "", action: sending @escaping Action
  ) {
    self.interval = interval > 0 ? interval : 100_000
    self.repeats = repeats
    self.subject = subject
    self.label = label
    state = Locked(State(action: action, first: Clock.monotonic.now.saturatingAdd(self.interval)))
  }

  // MARK: By id

  package static let table = HandleTable<WeakTimerCore>(.weakTimer)

  static func makeGlobals() { _ = table.find(0) }
  static func reinitialize() { table.reinitialize() }

  // MARK: Validity

  /// Whether the timer can still tick: false once it has been invalidated, its target is gone, its loop's thread or its
  /// queue has ended or, if it does not repeat, its action has returned. Asking changes nothing.
  @inline(never)
  package var isValid: Bool {
    let (hasAction, loop, queueHasEnded) = state.withLock { state in
      // Outside the action, the core's timer ends before this one only with its queue.
      (state.action != nil, state.loop, !state.isBusy && state.timer != 0 && TimerRef(state.timer)?.state == nil)
    }
    return hasAction && subject.isAlive && loop?.hasEnded != true && !queueHasEnded
  }

  /// `isValid`; a timer that is not releases its action.
  @inline(never)
  private func isValidOrEnds() -> Bool {
    if isValid { return true }
    invalidate()
    return false
  }

  /// The answer where it is invalid: targetGone, if it has a target of the C interface that has gone.
  package var isInvalid: Status {
    if case .target(let id) = subject, !TimerTarget.isAlive(id) { return TimerTarget.gone(id) }
    return .ignored
  }

  /// Ends the timer for good and releases its action; if the action is running, after that.
  ///
  /// - Returns: ok; running if the action has not returned; ignored if the timer was invalid, and its action does not run.
  @discardableResult
  package func invalidate() -> Status {
    let wasValid = isValid
    let (timer, action, companion, isBusy) = state.withLock { state in
      let ended = (state.timer, state.action, state.companion, state.isBusy)
      state.action = nil
      state.companion = nil
      state.timer = 0
      return ended
    }
    if timer != 0 { _ = withoutCancellation { TimerRef.release(timer) } }
    // The action and the companion are released here, with no lock held.
    _ = companion
    let isIgnored = action == nil || !wasValid
    return isBusy ? isIgnored ? .ignoredRunning : .running : isIgnored ? .ignored : .ok
  }

  // MARK: Ticks

  /// Of the core's timer, whose context is a reference to this.
  static var finalizer: ContextFunction {
    unsafe ContextFunction { context in
      guard let context = unsafe context else { return }
      // The timer releases its action when the target or the loop's thread has ended; one that was moved to more modes is
      // valid, and stays as it is.
      _ = unsafe Unmanaged<WeakTimerCore>.fromOpaque(context).takeRetainedValue().isValidOrEnds()
    }
  }

  override func ticked(_ record: CoreTick) {
    var record = record
    let action: Action? = state.withLock { state in
      // A timer that was moved to more modes may tick once more where it was: for the due times until then, which the
      // core has counted, or for one that comes again.
      guard record.timer == state.timer || record.timer == state.before.timer && record.scheduled < state.before.end
      else { return nil }
      if let delayed = state.delayed {
        if record.kind == TickKind.fired.rawValue {
          record = delayed
          record.actual = Clock.monotonic.now
        } else {
          record.missed += delayed.missed + 1
        }
      } else if record.kind == TickKind.fired.rawValue {
        return nil  // A due tick was there first, and took along what was delayed.
      }
      state.delayed = nil
      if state.isBusy {
        state.delayed = record
        return nil
      }
      state.isBusy = true
      // The core's count is not the timer's: it restarts in more modes, and includes the ticks that bring delayed ones.
      state.sequence += 1
      record.sequence = state.sequence
      return state.action
    }
    // A fork in it is seen by whoever calls this, by a function of C, too.
    if let action { try? run(action, record) }
  }

  /// Calls the action now, on this thread, outside the schedule. A timer that does not repeat is invalid afterwards.
  ///
  /// - Returns: ok; ignored if the timer is invalid, or its action is already running, here or on another thread.
  package func fire() -> Status {
    guard isValidOrEnds() else { return .ignored }
    let action: Action? = state.withLock { state in
      if state.isBusy { return nil }
      state.isBusy = state.action != nil
      return state.action
    }
    guard let action else { return .ignored }
    let now = Clock.monotonic.now
    var record = CoreTick(
      timer: 0, generation: 0, sequence: 0, missed: 0, scheduled: now, actual: now, context: .none, target: .none,
      kind: TickKind.fired.rawValue)
    let ran: Bool
    do throws(Forked) {
      if case .target(let id) = subject {
        ran = try TimerTarget.withObject(id) { object throws(Forked) in
          record.target = object
          try run(action, record)
        }
      } else {
        try run(action, record)
        ran = true
      }
    } catch {
      return .inChild
    }
    if ran { return .ok }
    state.withLock { $0.isBusy = false }
    invalidate()
    return .ignored
  }

  private func run(_ action: Action, _ record: CoreTick) throws(Forked) {
    try Fork.guarded { action(record) }
    let (timer, isDelayed) = state.withLock { state in
      state.isBusy = false
      return (state.timer, state.delayed != nil)
    }
    if !repeats || !subject.isAlive {
      invalidate()
    } else if isDelayed {
      _ = TimerRef(timer)?.fire()
    }
  }
}

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
  package func refuseAsInvalid() -> Status {
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

/// Where and when a weak timer ticks.
extension WeakTimerCore {
  /// Adds the timer to a mode of a loop; it may be in several modes of one loop.
  /// - Parameter companion: what the loop keeps alive with the timer.
  /// - Returns: ok; ignored if the timer is invalid or in that mode already; invalidArgument when it is on another
  ///   loop, or without a mode; invalidHandle if the loop's thread has ended; limit, noMemory, resource.
  package func add(to loop: any WeakTimerLoop, mode: LoopMode, companion: AnyObject? = nil) -> Status {
    guard isValid else { return .ignored }
    if mode.isEmpty { return Status.invalidArgument.because("mode is empty") }
    if loop.hasEnded { return loop.hasEndedStatus }
    var (old, made): (UInt64, UInt64) = (0, 0)
    let status: Status = state.withLock { state in
      guard state.action != nil else { return .ignored }
      if let other = state.loop, other !== loop {
        return Status.invalidArgument.because("timer is on another run loop already")
      }
      guard !state.modes.contains(mode) else { return .ignored }
      var modes = state.modes
      modes.insert(mode)
      var timer: UInt64 = 0
      let first = TimerRef(state.timer)?.nextDeadline ?? state.first
      let status = start(on: loop, modes, first, state.tolerance, &timer)
      if status != .ok { return status }
      old = state.timer
      state.before = (old, first)
      state.loop = loop
      state.modes = modes
      state.timer = timer
      state.companion = companion
      made = timer
      return .ok
    }
    // A fork in it is seen by whoever calls this.
    if let timer = TimerRef(made) { try? Trace.noteCreated(timer) }
    if old != 0 { _ = TimerRef.release(old) }
    return status
  }

  /// Makes the core's timer, which the caller reports: the lock is held.
  private func start(
    on loop: any WeakTimerLoop, _ modes: LoopModes, _ first: Int64, _ tolerance: Int64, _ timer: inout UInt64
  ) -> Status {
    let schedule = schedule(from: first, tolerance)
    // SAFETY: the finalizer releases the reference, or the failure does.
    let context = unsafe Unmanaged.passRetained(self)
    let options = unsafe TimerOptions(
      handler: WeakTimerCore.handler, context: Context(context.toOpaque()), finalizer: WeakTimerCore.finalizer,
      target: subject.targetID, flags: .selfRelease)
    var status = Status.invalidHandle
    // Another call, which was refused its timer, may drop the queue that it has made.
    while status == .invalidHandle, !loop.hasEnded {
      do throws(Status) {
        let queue = try loop.weakTimerQueue(in: modes)
        status = Trace.unreported {
          options.labelled(label) { unsafe TimerRef.create(on: queue.id, $0, schedule, out: &timer) }
        }
        if status.isFailure, queue.isNew { loop.dropWeakTimerQueue(queue.id) }
      } catch {
        unsafe context.release()
        return error
      }
    }
    if status.isFailure { unsafe context.release() }
    return status == .invalidHandle ? loop.hasEndedStatus : status
  }

  private func schedule(from first: Int64, _ tolerance: Int64) -> Schedule {
    Schedule(first: first, firstIsDeadline: true, interval: repeats ? interval : 0, leeway: tolerance)
  }

  /// When the next tick is due, on the monotonic clock; `Int64.max` when none is.
  package var nextDeadline: Int64 {
    get {
      guard isValid else { return .max }
      let (timer, first) = state.withLock { ($0.timer, $0.first) }
      return timer == 0 ? first : TimerRef(timer)?.nextDeadline ?? .max
    }
    set {
      let rescheduled: TimerRef? = state.withLock { state in
        state.first = newValue
        state.delayed = nil
        guard let timer = TimerRef(state.timer) else { return nil }
        let status = Trace.unreported { timer.reschedule(schedule(from: newValue, state.tolerance)) }
        return status == .ok || status == .running ? timer : nil
      }
      if let rescheduled { try? Trace.note(.rescheduled, rescheduled) }
    }
  }

  /// How late a tick may be, in nanoseconds; the setter takes 0 or more, for a timer that repeats below its interval.
  package var tolerance: Int64 {
    get { state.withLock { $0.tolerance } }
    set {
      state.withLock { state in
        state.tolerance = newValue
        _ = TimerRef(state.timer)?.setLeeway(newValue)
      }
    }
  }

  /// The longest tolerance.
  package var maximumTolerance: Int64 { repeats ? interval - 1 : .max }
}

/// Finds timers whose target died unnoticed: each time a timer is created for such a target, two others are checked. So
/// what dead targets leave behind is found in time, at a cost in proportion to the timers created.
package enum TargetSweep: ProcessState {
  struct Watched {
    /// Each checks one timer, and says whether it is done with it.
    var looks: [@Sendable () -> Bool] = []
    var next = 0

    /// Takes one out, another one each time.
    mutating func take() -> (@Sendable () -> Bool)? {
      if looks.isEmpty { return nil }
      next = (next + 1) % looks.count
      looks.swapAt(next, looks.count - 1)
      return looks.popLast()
    }
  }

  private static let watched = Locked(Watched())

  static func makeGlobals() { watched.withLock { _ in } }
  static func reinitialize() { watched.reinitialize(Watched()) }

  /// Calls `look` now and then, with no lock held, until it answers true.
  package static func watch(_ look: @escaping @Sendable () -> Bool) {
    for _ in 0..<2 {
      guard let other = watched.withLock({ $0.take() }) else { break }
      if !other() { watched.withLock { $0.looks.append(other) } }
    }
    watched.withLock { $0.looks.append(look) }
  }
}

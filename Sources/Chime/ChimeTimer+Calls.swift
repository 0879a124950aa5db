import ChimeCore

extension ChimeTimer {
  /// Makes a one-shot that calls `handler`, and starts it: most timers are of this kind, and programs make many.
  @usableFromInline
  package static func start(
    on queue: AnyTimerQueue, after delay: Duration, leeway: Duration, label: String,
    _ handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let (first, late) = (delay.nanoseconds, leeway.nanoseconds)
    // SAFETY: the reference is the timer's if one was made, and otherwise taken back, once.
    let box = unsafe Unmanaged.passRetained(HandlerBox(timeline: queue.timeline, consume handler))
    if label.isEmpty, let short = CompactDuration(short: late), first >= 0,
      let id = unsafe HandlerBox.makeAtOnce(on: queue, after: first, short, box)
    {
      return ChimeTimer(id, on: queue, queue.timeline)
    }
    return try start(on: queue, Schedule(first: first, leeway: late), label: label, box: unsafe box.takeRetainedValue())
  }

  @inline(never)
  private static func start(
    on queue: AnyTimerQueue, _ schedule: Schedule, label: String, calls: TaskCalls? = nil, box: sending HandlerBox
  ) throws(ChimeError) -> ChimeTimer {
    try schedule.check(for: queue.timeline)
    return ChimeTimer(
      try HandlerBox.make(on: queue.id, schedule, label: label, box), on: queue, queue.timeline,
      watched: calls.map { TimerReference.Watched(calls: $0) })
  }

  /// Makes a timer that calls `handler`, and starts it.
  package static func start(
    on queue: AnyTimerQueue, _ schedule: Schedule, label: String = "", calls: TaskCalls? = nil,
    _ handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try start(
      on: queue, schedule, label: label, calls: calls, box: HandlerBox(timeline: queue.timeline, consume handler))
  }

  /// Makes a timer that calls `handler` with the target as long as that lives, and starts it.
  package static func start<Object: AnyObject>(
    on queue: AnyTimerQueue, _ schedule: Schedule, label: String = "", _ target: WeakTarget<Object>,
    calls: TaskCalls? = nil, _ handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try schedule.check(for: queue.timeline)
    let box = HandlerBox(timeline: queue.timeline) { tick in
      if let object = target.object {
        handler(object, tick)
      } else {
        _ = TimerRef.release(tick.handle)
      }
    }
    let handle = try HandlerBox.make(on: queue.id, schedule, target: target.tokenID, label: label, box)
    if target.tokenID == 0 {
      TargetSweep.watch {
        if target.object == nil { _ = TimerRef.release(handle) }
        return TimerRef(handle)?.state == nil
      }
    }
    let watched = TimerReference.Watched(targetHasGone: { target.object == nil }, calls: calls)
    return ChimeTimer(handle, on: queue, queue.timeline, watched: watched)
  }
}

extension TimerReference {
  /// Whether the target is gone; if so, releases what the timer held for it.
  package var hasLostTarget: Bool {
    guard let watched, watched.targetHasGone?() == true else { return false }
    _ = TimerRef.release(handle)
    return true
  }

  // MARK: Looking

  /// The timer's state; `cancelled` once it was invalidated, its queue has ended, or its target is gone.
  public var state: TimerState {
    guard !hasLostTarget, let state = TimerRef(handle)?.state else { return .cancelled }
    // The last tick has finished its timer, and its call is held back.
    return state == .finished && watched?.calls?.isHeld == true ? .suspended : state
  }

  /// When the next tick is due, on the queue's clock; `nil` if none is.
  public var nextDeadline: TimerInstant? {
    guard !hasLostTarget, let deadline = TimerRef(handle)?.nextDeadline, deadline != .max else { return nil }
    return TimerInstant(timeline, nanoseconds: deadline)
  }

  /// The schedule that the timer was given last, with what `restart(after:)` and `setInterval` have changed of it since; `nil`
  /// if there was never one, and once the timer has ended.
  public var schedule: Schedule? {
    guard !hasLostTarget, case var schedule?? = TimerRef(handle)?.schedule else { return nil }
    if schedule.firstIsDeadline { schedule.timeline = timeline }
    return schedule
  }

  /// Whether `HostTimerQueue.run` returns although the timer is running. It makes no other difference. A timer that has ended
  /// is not in the background, and to set it changes nothing, as where memory has run out.
  public var isInBackground: Bool {
    get { !hasLostTarget && TimerRef(handle)?.state != nil && TimerRef(handle)?.isBackground == true }
    set { _ = answer { $0.setBackground(newValue) } }
  }

  /// What the core compares a tick's with; `nil` once the timer has ended.
  package var generation: UInt64? { hasLostTarget ? nil : TimerRef(handle)?.generation }

  // MARK: Starting and changing

  /// Makes the timer run from now on, whatever its state, in one transition that loses no tick: starts one that is idle,
  /// finished or cancelled, and begins anew with one that is running or suspended. Ignored by a timer that has ended.
  ///
  /// - Parameter schedule: `nil` keeps the present one.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument` if there was never a schedule, or its deadline is on another clock than the queue's;
  ///   `noMemory`.
  @discardableResult
  public func restart(_ schedule: Schedule? = nil) throws(ChimeError) -> ChimeTimer.Outcome {
    try schedule?.check(for: timeline)
    if watched == nil, restartsFast(schedule) { return .done }
    if schedule == nil, TimerRef(handle)?.snapshot?.hasSchedule == false {
      throw .argument("the timer has no schedule yet: give restart one")
    }
    return try perform(.restarts) { $0.restart(schedule) }
  }

  /// Makes the timer run from now on, whatever its state: its next tick is due after `delay`, and the rest of its schedule
  /// stays. A timer that never had a schedule ticks once.
  ///
  /// - Parameter delay: 0 or more.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func restart(after delay: Duration) throws(ChimeError) -> ChimeTimer.Outcome {
    let first = delay.nanoseconds
    guard first >= 0 else { throw .argument("delay is \(delay): it must be 0 or more") }
    return try perform(.restarts) { $0.restart(first: first, isDeadline: false) }
  }

  /// Whether the core restarts the timer at once: one that runs, by a one-shot's schedule without policies or its own.
  @inline(__always)
  private func restartsFast(_ schedule: Schedule?) -> Bool {
    guard let schedule else { return TimerRef.restartFast(handle, nil) }
    guard schedule.isOneShotOnly, let leeway = CompactDuration(short: schedule.leeway) else { return false }
    return TimerRef.restartFast(handle, (schedule.first, schedule.firstIsDeadline, leeway))
  }

  /// Changes the interval and nothing else: the next tick is due when it was, and the grid goes on from there by the new
  /// interval. First delay, state, policies, tick limit and the count against it stay; of leeway and jitter what does not go
  /// with the new interval is cut off. Ignored by a timer that ticks once, or has ended.
  ///
  /// - Parameter interval: above 0.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument`, `noMemory`.
  @discardableResult
  public func setInterval(_ interval: Duration) throws(ChimeError) -> ChimeTimer.Outcome {
    try Schedule.checkInterval(interval)
    return try perform { $0.setInterval(interval.nanoseconds) }
  }

  /// Changes the schedule; the state stays. A first delay counts from now.
  ///
  /// - Parameter schedule: what takes the place of the present one.
  /// - Returns: done, running or ignored.
  /// - Throws: `invalidArgument` if the deadline is on another clock than the queue's; `noMemory`.
  @discardableResult
  public func reschedule(_ schedule: Schedule) throws(ChimeError) -> ChimeTimer.Outcome {
    try schedule.check(for: timeline)
    return try perform(.moves) { $0.reschedule(schedule) }
  }

  /// Moves the next deadline to `delay` from now, if that is later: the call for idle timeouts.
  ///
  /// A call of an asynchronous handler may still wait for its actor when the tick has started: `restart(after:)` takes it
  /// back, too.
  ///
  /// - Parameter delay: 0 or more.
  /// - Returns: running if an earlier call of the handler has not returned; ignored if the timer is neither running nor
  ///   suspended, or its tick has started.
  /// - Throws: `invalidArgument`.
  @discardableResult
  public func postpone(by delay: Duration) throws(ChimeError) -> ChimeTimer.Outcome {
    let distance = delay.nanoseconds
    guard distance >= 0 else { throw .argument("delay is \(delay): it must be 0 or more") }
    if watched == nil {
      let status = TimerRef.postpone(handle, delay: distance)
      return status.rawValue == 0 ? .done : try outcome(status)
    }
    return try perform { TimerRef.postpone($0.id, delay: distance) }
  }

  /// Moves the next deadline to a point on the queue's clock, if that is later.
  ///
  /// - Parameter deadline: on the queue's clock.
  /// - Returns: running if an earlier call of the handler has not returned; ignored if the timer is neither running nor
  ///   suspended, or its tick has started.
  /// - Throws: `invalidArgument` for a deadline on another clock.
  @discardableResult
  public func postpone(until deadline: TimerInstant) throws(ChimeError) -> ChimeTimer.Outcome {
    try Schedule.check(deadline, for: timeline)
    if watched == nil {
      let status = TimerRef.postpone(handle, until: deadline.nanoseconds)
      return status.rawValue == 0 ? .done : try outcome(status)
    }
    return try perform { TimerRef.postpone($0.id, until: deadline.nanoseconds) }
  }

  // MARK: Holding back and ending

  /// Holds ticks back; ignored unless running, or an extra tick is to come, which it drops. Once it has returned, no tick
  /// starts. A call of an asynchronous handler that waits for its actor is held back like its tick.
  ///
  /// - Returns: done; running while a handler runs, in any state; ignored.
  @discardableResult
  public func suspend() -> ChimeTimer.Outcome { answer(.suspends) { $0.suspend() } }

  /// Lets ticks through again; ignored unless suspended.
  ///
  /// - Returns: done or ignored.
  @discardableResult
  public func resume() -> ChimeTimer.Outcome { answer(.resumes) { $0.resume() } }

  /// Requests one extra tick, outside the schedule, on the queue.
  ///
  /// - Returns: done; ignored if the timer is cancelled or has ended, or memory has run out.
  @discardableResult
  public func fire() -> ChimeTimer.Outcome { answer(.fires) { $0.fire() } }

  /// Stops the timer; ignored unless running or suspended, or an extra tick is to come, which it drops. Once it has
  /// returned, no tick starts. The handler is kept: the timer can be started again.
  ///
  /// - Returns: done; running while a handler runs, in any state; ignored.
  @discardableResult
  public func cancel() -> ChimeTimer.Outcome {
    if watched == nil {
      let status = TimerRef.cancel(handle)
      return status.rawValue == 0 ? .done : answer(status)
    }
    return cancelWatched()
  }

  @inline(never)
  private func answer(_ status: Status) -> ChimeTimer.Outcome { answer { _ in status } }

  @inline(never)
  private func outcome(_ status: Status) throws(ChimeError) -> ChimeTimer.Outcome { try perform { _ in status } }

  @inline(never)
  private func cancelWatched() -> ChimeTimer.Outcome {
    defer { tellEnd() }
    return answer(.stops) { $0.cancel() }
  }

  /// Ends the timer for good and lets go of its handler, now or, if it is running, when it returns. Once it has returned,
  /// no tick starts, and the timer says that it is cancelled.
  ///
  /// - Returns: done, running or ignored.
  @discardableResult
  public func invalidate() -> ChimeTimer.Outcome {
    defer { tellEnd() }
    return answer(.moves) { $0.release() }
  }

  /// Cancels, then waits until the handler is not running, and cancels what it has started again meanwhile. Blocks the calling
  /// thread; no call of the handler is cancelled. In a task: `cancelAndWait(timeout:)`.
  ///
  /// - Parameter timeout: less than 0 counts as 0; `nil` for no limit.
  /// - Returns: done, ignored or timedOut.
  /// - Throws: `wouldDeadlock` if the handler is the caller's own, or waits for the caller, and on the actor of a call of an
  ///   asynchronous handler that runs; the timer is cancelled anyway.
  @available(*, noasync, message: "in a task, await cancelAndWait: it blocks no thread")
  @discardableResult
  public func blockingCancelAndWait(timeout: Duration? = nil) throws(ChimeError) -> ChimeTimer.Outcome {
    let end = ContinuousClock.Instant.end(of: timeout)
    watched?.calls?.changeWaiters(by: 1)
    defer {
      watched?.calls?.changeWaiters(by: -1)
      tellEnd()
    }
    let outcome = try cancelHandler { $0.cancelAndWait(timeout: max(0, timeout?.nanoseconds ?? .max)) }
    guard let calls = watched?.calls, outcome == .running else { return outcome }
    return try calls.calls.running.waitForNone(until: end) ? .done : .timedOut
  }

  /// Cancels, then waits until the handler is not running, and cancels what it has started again meanwhile. Blocks no
  /// thread; no call of the handler is cancelled.
  ///
  /// - Parameter timeout: in real time; less than 0 counts as 0; `nil` for no limit.
  /// - Returns: done, ignored or timedOut.
  /// - Throws: `CancellationError`; `wouldDeadlock` if the handler is the caller's own, or waits for the caller. The timer
  ///   is cancelled anyway.
  @discardableResult
  public nonisolated(nonsending) func cancelAndWait(timeout: Duration? = nil) async throws -> ChimeTimer.Outcome {
    let end = ContinuousClock.Instant.end(of: timeout)
    watched?.calls?.changeWaiters(by: 1)
    defer {
      watched?.calls?.changeWaiters(by: -1)
      tellEnd()
    }
    var outcome = try cancelHandler { $0.cancelAndWait(timeout: 0) }
    if outcome == .timedOut, let timer = TimerRef(handle) {
      let status = try await Blocking.run { timer.cancelAndWait(timeout: max(0, timeout?.nanoseconds ?? .max)) }
      outcome = try watched?.calls?.stop(status.outcome(), generation) ?? status.outcome()
    }
    guard let calls = watched?.calls, outcome == .running else { return outcome }
    return try await calls.calls.running.waitForNone(until: end) ? .done : .timedOut
  }

  /// What `cancelAndWait` does first: for an asynchronous handler the queue's part. Drops what waits even where it throws.
  private func cancelHandler(_ operation: (TimerRef) -> Status) throws(ChimeError) -> ChimeTimer.Outcome {
    do {
      return try perform(.stops, operation)
    } catch {
      _ = watched?.calls?.stop(.ignored, generation)
      throw error
    }
  }

  private func tellEnd() {
    if let onEnd = watched?.onEnd, state == .cancelled { onEnd() }
  }

  /// What an operation answers that fails only for what has ended.
  private func answer(_ effect: Effect = .none, _ operation: (TimerRef) -> Status) -> ChimeTimer.Outcome {
    do { return try perform(effect, operation) } catch { return .ignored }
  }

  /// What an operation does to the calls of an asynchronous handler.
  package enum Effect {
    case none
    /// Another tick comes.
    case fires
    /// What was due before does not start any more: `stops` by the end of the ticks, even of a timer at rest; `moves` by
    /// another generation; `restarts` likewise, and another tick comes.
    case stops, moves, restarts
    /// What was due before is held back, and comes after all.
    case suspends, resumes
  }

  package func perform(
    _ effect: Effect = .none, _ operation: (TimerRef) -> Status
  ) throws(ChimeError) -> ChimeTimer.Outcome {
    var outcome = ChimeTimer.Outcome.ignored
    let isLate = watched?.calls != nil || watched?.buffer != nil
    var isAccepted = false
    if !hasLostTarget, let timer = TimerRef(handle) {
      let before = isLate ? timer.generation : nil
      let stopsCalls = watched?.calls != nil && (effect == .stops || effect == .suspends)
      let status = stopsCalls ? timer.stopCalls(operation) : operation(timer)
      if status != .invalidHandle, status != .targetGone { outcome = try status.outcome() }
      isAccepted = isLate && timer.generation != before
    }
    if effect == .none || !isLate { return outcome }
    let generation = TimerRef(handle)?.generation
    watched?.buffer?.change(effect, generation, isAccepted: isAccepted, isDue: effect == .resumes && isDue)
    guard let calls = watched?.calls else { return outcome }
    switch (effect, generation) {
    case (.suspends, let generation?): outcome = calls.suspend(outcome, generation, isAccepted: isAccepted)
    case (.resumes, let generation?): outcome = calls.resume(outcome, generation, isDue: isDue)
    case (.resumes, nil), (.none, _): break
    case (.fires, _), (.restarts, _), (.stops, _), (.moves, _), (.suspends, nil):
      let hasStarted = outcome != .ignored && (effect == .fires || effect == .restarts)
      if effect != .fires { outcome = calls.stop(outcome, generation) }
      if hasStarted, let generation { calls.noteStart(generation) }
    }
    return outcome
  }

  /// Whether a tick is about to come.
  private var isDue: Bool {
    guard let timer = TimerRef(handle)?.snapshot, timer.state == .running else { return false }
    return timer.nextDeadline <= QueueCore.now(timer.queue) ?? .min
  }
}

extension TimerReference: Hashable, Identifiable, CustomStringConvertible {
  /// Names a timer: no other has the same, not even after it has ended.
  public struct ID: Hashable, Sendable, CustomStringConvertible {
    package let handle: UInt64

    package init(handle: UInt64) { self.handle = handle }

    /// As dumps and traces write it.
    public var description: String { "0x" + String(handle, radix: 16) }
  }

  /// The timer's name.
  public var id: ID { ID(handle: handle) }

  /// Whether both name the same timer.
  public static func == (a: TimerReference, b: TimerReference) -> Bool { a.handle == b.handle }

  /// Feeds the id.
  ///
  /// - Parameter hasher: takes it.
  public func hash(into hasher: inout Hasher) { hasher.combine(handle) }

  /// Label, state, and when the next tick is due: for people.
  public var description: String {
    guard !hasLostTarget, let timer = TimerRef(handle), let info = timer.snapshot else {
      return "ChimeTimer(\(id), ended)"
    }
    var parts = ["\(id)"]
    unsafe timer.withLabel { label in
      if unsafe label.pointee != 0 { parts.append(TextWriter.string(foreign: unsafe String(cString: label))) }
    }
    parts.append("\(info.state.name)")
    if info.nextDeadline != .max, let now = QueueCore.now(info.queue) {
      let left = Duration.nanoseconds(info.nextDeadline.saturatingSubtract(now))
      parts.append(left > .zero ? "due in \(left)" : "due now")
    }
    if info.interval > 0 { parts.append("every \(Duration.nanoseconds(info.interval))") }
    parts.append("\(info.sequence) ticks")
    if info.missed > 0 { parts.append("\(info.missed) missed") }
    return "ChimeTimer(\(parts.joined(separator: ", ")))"
  }
}

import ChimeCore

// What the calls of `TimerProtocol` do.
extension ChimeTimer.Reference {
  /// Whether the target is gone; if so, releases what the timer held for it.
  package var hasLostTarget: Bool {
    guard let watched, watched.targetHasGone?() == true else { return false }
    _ = TimerRef.release(handle)
    return true
  }

  var currentState: TimerState {
    guard !hasLostTarget, let state = TimerRef(handle)?.state else { return .cancelled }
    // The last tick has finished its timer, and its call is held back.
    return state == .finished && watched?.calls?.isHeld == true ? .suspended : state
  }

  var currentDeadline: TimerInstant? {
    guard !hasLostTarget, let deadline = TimerRef(handle)?.nextDeadline, deadline != .max else { return nil }
    return TimerInstant(timeline, nanoseconds: deadline)
  }

  var currentSchedule: Schedule? {
    guard !hasLostTarget, case var schedule?? = TimerRef(handle)?.schedule else { return nil }
    if schedule.firstIsDeadline { schedule.timeline = timeline }
    return schedule
  }

  var isBackground: Bool { !hasLostTarget && TimerRef(handle)?.state != nil && TimerRef(handle)?.isBackground == true }

  /// What the core compares a tick's with; `nil` once the timer has ended.
  package var generation: UInt64? { hasLostTarget ? nil : TimerRef(handle)?.generation }

  // MARK: Calls that are often made

  @usableFromInline
  package func restarted(_ schedule: Schedule?) throws(ChimeError) -> ChimeTimer.Outcome {
    try schedule?.check(for: timeline)
    if watched == nil, restartsFast(schedule) { return .done }
    if schedule == nil, TimerRef(handle)?.snapshot?.hasSchedule == false {
      throw .argument("the timer has no schedule yet: give restart one")
    }
    return try perform(.restarts) { $0.restart(schedule) }
  }

  /// Whether the core restarts the timer at once: one that runs, by a one-shot's schedule without policies or its own.
  @inline(__always)
  private func restartsFast(_ schedule: Schedule?) -> Bool {
    guard let schedule else { return TimerRef.restartFast(handle, nil) }
    guard schedule.isOneShotOnly, let leeway = CompactDuration(short: schedule.leeway) else { return false }
    return TimerRef.restartFast(handle, (schedule.first, schedule.firstIsDeadline, leeway))
  }

  @usableFromInline
  package func postponed(by delay: Duration) throws(ChimeError) -> ChimeTimer.Outcome {
    let distance = delay.nanoseconds
    guard distance >= 0 else { throw .argument("delay is \(delay): it must be 0 or more") }
    if watched == nil {
      let status = TimerRef.postpone(handle, delay: distance)
      return status.rawValue == 0 ? .done : try outcome(status)
    }
    return try perform { TimerRef.postpone($0.id, delay: distance) }
  }

  func postponed(until deadline: Int64) throws(ChimeError) -> ChimeTimer.Outcome {
    if watched == nil {
      let status = TimerRef.postpone(handle, until: deadline)
      return status.rawValue == 0 ? .done : try outcome(status)
    }
    return try perform { TimerRef.postpone($0.id, until: deadline) }
  }

  @usableFromInline
  package func cancelled() -> ChimeTimer.Outcome {
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

  // MARK: Waiting

  func stoppedAndWaited(_ timeout: Duration?) throws(ChimeError) -> ChimeTimer.Outcome {
    let end = ContinuousClock.Instant.end(of: timeout)
    watched?.calls?.changeWaiters(by: 1)
    defer {
      watched?.calls?.changeWaiters(by: -1)
      tellEnd()
    }
    let outcome = try cancelHandler { $0.cancelAndWait(timeout: max(0, timeout?.nanoseconds ?? .max)) }
    guard let calls = watched?.calls, outcome.isRunning else { return outcome }
    return try calls.calls.running.waitForNone(until: end) ? outcome.afterCalls : .timedOut
  }

  nonisolated(nonsending) func stoppedAndAwaited(_ timeout: Duration?) async throws -> ChimeTimer.Outcome {
    let end = ContinuousClock.Instant.end(of: timeout)
    watched?.calls?.changeWaiters(by: 1)
    defer {
      watched?.calls?.changeWaiters(by: -1)
      tellEnd()
    }
    var outcome = try cancelHandler { $0.cancelAndWait(timeout: 0) }
    if outcome == .timedOut, let timer = TimerRef(handle) {
      let limit = max(0, timeout?.nanoseconds ?? .max)
      let status = try await Blocking.run(for: handle, timeout: limit, timer.cancelAndWait)
      outcome = try watched?.calls?.stop(status.outcome(), generation) ?? status.outcome()
    }
    guard let calls = watched?.calls, outcome.isRunning else { return outcome }
    return try await calls.calls.running.waitForNone(until: end) ? outcome.afterCalls : .timedOut
  }

  // MARK: All calls

  /// What `cancelAndWait` does first: for an asynchronous handler the queue's part. Drops what waits even where it throws.
  private func cancelHandler(_ operation: (TimerRef) -> Status) throws(ChimeError) -> ChimeTimer.Outcome {
    do {
      return try perform(.stops, operation)
    } catch {
      _ = watched?.calls?.stop(.ignored, generation)
      throw error
    }
  }

  func tellEnd() {
    // A cancel handler waits for the queue's next pass; who reads ticks need not.
    if let buffer = watched?.buffer, state == .cancelled { buffer.end() }
  }

  /// What an operation answers that fails only for what has ended.
  func answer(_ effect: Effect = .none, _ operation: (TimerRef) -> Status) -> ChimeTimer.Outcome {
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
      let hasStarted = !outcome.isIgnored && (effect == .fires || effect == .restarts)
      // At rest, a timer that is stopped is still of the generation of its last tick.
      let keepsCurrent = isAccepted && effect != .suspends
      if effect != .fires { outcome = calls.stop(outcome, generation, keepsCurrent: keepsCurrent) }
      if hasStarted, let generation { calls.noteStart(generation) }
    }
    return outcome
  }

  /// Whether a tick is about to come.
  private var isDue: Bool {
    guard let timer = TimerRef(handle)?.snapshot, timer.state == .running else { return false }
    return timer.nextDeadline <= QueueCore.now(timer.queue) ?? .min
  }

  // MARK: Names

  /// A timer as dumps and traces write it.
  package static func name(of handle: UInt64) -> String { "0x" + String(handle, radix: 16) }

  var text: String {
    guard !hasLostTarget, let timer = TimerRef(handle), let info = timer.snapshot else {
      return "ChimeTimer(\(Self.name(of: handle)), ended)"
    }
    var parts = [Self.name(of: handle)]
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

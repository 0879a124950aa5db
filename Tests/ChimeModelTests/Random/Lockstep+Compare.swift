import CChime

/// Comparison of what the interface tells with what the model knows.
extension Lockstep {
  /// Asks the queue about each timer that may have released itself.
  func reconcile() throws(Difference) {
    for timer in model.present where timer.mayHaveReleasedItself && !timer.isReleased {
      var state: chime_state = 0
      if chime_timer_state(timer.id, &state) == invalidHandle { _ = model.release(timer) }
    }
  }

  func compareAll() throws(Difference) {
    if now(of: queue) != model.now { throw Difference("the time is \(now(of: queue)), not \(model.now)") }
    for timer in model.present where !timer.isReleased && timer.id != 0 { try compare(timer) }
    for timer in model.timers.suffix(4) where timer.isReleased && timer.id != 0 { try compare(timer) }

    // The statistics visit every slot that the queue's memory ever had, that of earlier queues included.
    guard step % 50 == 0 else { return }
    let stats = stats(of: queue)
    let unreleased = model.unreleased
    try expect(stats.timers, UInt64(unreleased.count), "stats.timers")
    try expect(stats.running, UInt64(unreleased.count { $0.state == .running }), "stats.running")
    try expect(stats.ticks, model.ticksDelivered, "stats.ticks")
  }

  func compare(_ timer: ModelTimer) throws(Difference) {
    do throws(Difference) {
      if timer.isReleased { try compareReleased(timer) } else { try compareUnreleased(timer) }
    } catch {
      throw Difference("timer \(timer.number): \(error)")
    }
  }

  private func compareReleased(_ timer: ModelTimer) throws(Difference) {
    var state: chime_state = -7
    try expect(chime_timer_state(timer.id, &state), invalidHandle, "state of a released timer")
    try expect(state, -7, "untouched state")
  }

  private func compareUnreleased(_ timer: ModelTimer) throws(Difference) {
    var info = makeTimerInfo()
    try expect(chime_timer_get_info(timer.id, &info), ok, "get_info")
    if timer.state.rawValue != info.state { throw Difference("state \(info.state), not \(timer.state)") }
    try expect(Int32(state(of: timer.id)), info.state, "chime_timer_state")
    try expect(info.queue, queue, "queue")
    try compareGeneration(timer, info)
    try takeOverOpenDeadline(timer, info)
    if !timer.deadlineIsOpen || timer.state != .running {
      try expect(info.next_deadline_ns, timer.nextDeadline, "next deadline")
    }
    try expect(nextDeadline(of: timer.id), info.next_deadline_ns, "chime_timer_next_deadline")
    try compareRemainder(timer, info)
    try expect(info.sequence, timer.sequence, "sequence")
    try expect(info.interval_ns, timer.schedule?.interval ?? 0, "interval")
    try expect(info.has_schedule, timer.schedule == nil ? 0 : 1, "has_schedule")
    // A one-shot ends after one tick whatever its limit, and need not remember it.
    if !timer.isOneShot {
      try expect(info.tick_limit, timer.schedule?.limit ?? 0, "tick limit")
      if let count = timer.dueCount {
        try expect(info.due_count, timer.schedule?.limit == nil ? 0 : count, "due count")
      }
    }
    try expect(info.busy, timer.isBusy ? 1 : 0, "busy")
    let leeway = timer.schedule?.leeway ?? 0
    // The header grants 8 parts in a thousand million, rounded down.
    if info.leeway_ns > leeway || info.leeway_ns < leeway - leeway / 33_000_000 - 1 {
      throw Difference("leeway is \(info.leeway_ns), not \(leeway)")
    }
  }

  private func compareGeneration(_ timer: ModelTimer, _ info: chime_timer_info) throws(Difference) {
    if let known = timer.knownGeneration, (known.number == info.generation) != (known.count == timer.generations) {
      let changes = timer.generations - known.count
      throw Difference("generation is \(info.generation), was \(known.number) \(changes) changes ago")
    }
    timer.knownGeneration = (info.generation, timer.generations)
    var generation: UInt64 = 0
    _ = chime_timer_generation(timer.id, &generation)
    try expect(generation, info.generation, "chime_timer_generation")
    try expect(chime_timer_check_generation(timer.id, generation), ok, "check of the generation")
    try expect(chime_timer_check_generation(timer.id, generation &+ 1), ignored, "check of another generation")
  }

  /// A timer under *delay* that was suspended in its own handler has no defined deadline after it.
  private func takeOverOpenDeadline(_ timer: ModelTimer, _ info: chime_timer_info) throws(Difference) {
    guard timer.deadlineIsOpen, timer.rearmsAtReturn != timer.generations, let schedule = timer.schedule else { return }
    if timer.remainder != nil {
      if info.remaining_ns < 0 { throw Difference("suspended under remaining: remaining \(info.remaining_ns)") }
      timer.remainder = info.remaining_ns
    } else if timer.state == .running {
      if info.next_deadline_ns > saturatingSum(model.now, schedule.interval) {
        throw Difference("next deadline \(info.next_deadline_ns) is later than an interval from now")
      }
      timer.deadline = info.next_deadline_ns
    } else {
      return
    }
    timer.deadlineIsOpen = false
  }

  private func compareRemainder(_ timer: ModelTimer, _ info: chime_timer_info) throws(Difference) {
    guard let remainder = timer.remainder, timer.state == .suspended else {
      return try expect(info.remaining_ns, -1, "remaining")
    }
    // Of a deadline that never comes all is left, or what is left of all time.
    if remainder == .max, info.remaining_ns >= .max - model.now { return }
    try expect(info.remaining_ns, remainder, "remaining")
  }

  private func expect<T: Equatable>(_ real: T, _ expected: T, _ what: String) throws(Difference) {
    if real != expected { throw Difference("\(what) is \(real), not \(expected)") }
  }
}

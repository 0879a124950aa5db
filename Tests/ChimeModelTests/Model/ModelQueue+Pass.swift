import CChime

/// Callbacks: which may come now, and what they do to the model.
extension ModelQueue {
  // MARK: advance

  func advanceBegins(to deadline: Int64) {
    target = max(now, deadline)
    pass = nil
  }

  /// `advance` has returned: nothing that was due may be left.
  func advanceEnded() throws(Difference) {
    guard let target else { return }
    for timer in unreleased {
      if timer.owesArmed { throw Difference("timer \(timer.number): ARMED did not come") }
      if timer.fireTime != nil { throw Difference("timer \(timer.number): FIRED did not come") }
      if timer.isDue(at: target) {
        throw Difference("timer \(timer.number), due at \(timer.deadline): no tick although time went to \(target)")
      }
    }
    try nothingIsOwedToTheReleased()
    for timer in present where timer.owedCancelled > 0 {
      throw Difference("timer \(timer.number): CANCELLED did not come")
    }
    now = max(now, target)
    self.target = nil
    pass = nil
  }

  /// Finalizers run at the end of the pass, or in the releasing call.
  func nothingIsOwedToTheReleased() throws(Difference) {
    for timer in present where timer.isReleased && !timer.isBusy {
      throw Difference("timer \(timer.number) was released, and its finalizer did not run")
    }
  }

  // MARK: Callbacks

  func callbackBegins(_ timer: ModelTimer, _ tick: chime_tick) throws(Difference) {
    if timer.finalizations > 0 { throw Difference("a callback after the finalizer") }
    if timer.isBusy { throw Difference("a callback inside a callback of the same timer") }
    if tick.reserved != 0 { throw Difference("reserved is \(tick.reserved)") }
    if pass != nil, let other = present.first(where: \.isBusy) {
      throw Difference("a callback inside the handler of timer \(other.number)")
    }
    try findTurn(of: timer, Int(tick.kind))
    if tick.actual_ns != now { throw Difference("actual is \(tick.actual_ns), the time is \(now)") }
    if tick.scheduled_ns > tick.actual_ns { throw Difference("early: scheduled \(tick.scheduled_ns)") }

    switch Int(tick.kind) {
    case CHIME_TICK_DUE: try dueBegins(timer, tick)
    case CHIME_TICK_FIRED: try firedBegins(timer, tick)
    case CHIME_TICK_ARMED:
      try noCounts(tick)
      if timer.owesArmed { timer.owesArmed = false } else { timer.spareArmed -= 1 }
    case CHIME_TICK_CANCELLED:
      try noCounts(tick)
      timer.owedCancelled -= 1
    default:
      throw Difference("no such kind of tick")
    }
    timer.isBusy = true
  }

  private func noCounts(_ tick: chime_tick) throws(Difference) {
    if tick.sequence != 0 || tick.missed != 0 { throw Difference("sequence and missed of such a callback are 0") }
  }

  private func dueBegins(_ timer: ModelTimer, _ tick: chime_tick) throws(Difference) {
    let sequence = timer.sequence + 1
    let observed = ModelTimer.DueTick(scheduled: tick.scheduled_ns, missed: tick.missed)
    var carried = [timer.carried]
    if timer.carriedMayBeDropped { carried.append(0) }
    let isOpen = pass?.isOpen ?? false
    for kept in carried {
      timer.carried = kept
      let agreeing = readings.filter { reading in
        let ends = isOpen ? [now, pass!.reading] : [reading.missedUpToPass ? pass?.reading ?? now : now]
        return ends.contains { timer.dueTick(upTo: $0, scheduledAtFirst: reading.scheduledAtFirst) == observed }
      }
      if agreeing.isEmpty { continue }
      readings = agreeing
      try check(tick, sequence: sequence, of: timer)
      timer.startDueTick(missed: tick.missed)
      timer.spareArmed = 0
      ticksDelivered += 1
      return
    }
    timer.carried = carried[0]
    let expected = readings.map { timer.dueTick(upTo: now, scheduledAtFirst: $0.scheduledAtFirst) }
    throw Difference("it should be \(expected[0])")
  }

  private func firedBegins(_ timer: ModelTimer, _ tick: chime_tick) throws(Difference) {
    if tick.missed != 0 { throw Difference("a FIRED tick misses nothing") }
    if tick.scheduled_ns != timer.fireTime { throw Difference("fire was called at \(timer.fireTime ?? -1)") }
    try check(tick, sequence: timer.sequence + 1, of: timer)
    timer.sequence += 1
    timer.fireTime = nil
    ticksDelivered += 1
  }

  private func check(_ tick: chime_tick, sequence: UInt64, of timer: ModelTimer) throws(Difference) {
    if tick.sequence != sequence { throw Difference("sequence should be \(sequence)") }
    if let known = timer.knownGeneration, (known.number == tick.generation) != (known.count == timer.generations) {
      let changes = timer.generations - known.count
      throw Difference("generation \(tick.generation), known was \(known.number), \(changes) changes ago")
    }
  }

  func callbackReturned(_ timer: ModelTimer) {
    timer.handlerReturned(now: now)
    guard timer.traits.selfReleasing, !timer.isReleased, timer.isAtRest else { return }
    if timer.hasPendingCallbacks {
      timer.mayHaveReleasedItself = true
    } else {
      _ = release(timer)
    }
  }

  func finalizerRuns(_ timer: ModelTimer) throws(Difference) {
    timer.finalizations += 1
    if timer.finalizations > 1 { throw Difference("the finalizer runs again") }
    if timer.isBusy { throw Difference("the finalizer runs before the last callback returned") }
    if timer.mayHaveReleasedItself { _ = release(timer) }
    if !timer.isReleased { throw Difference("the finalizer runs, but the timer was not released") }
    if timer.owedCancelled > 0 { throw Difference("the finalizer runs before CANCELLED") }
    if pass != nil, present.contains(where: \.isBusy) { throw Difference("the finalizer runs inside a handler") }
    forget(timer)
  }

  // MARK: Turns

  /// Finds the pass in which this callback is right, and uses up the timer's turn in it.
  private func findTurn(of timer: ModelTimer, _ kind: Int) throws(Difference) {
    if timer.isReleased || timer.mayHaveReleasedItself, kind != CHIME_TICK_DUE, isDue(timer, kind) {
      if target != nil, let turn = pass?.callbacks.firstIndex(where: { $0.timer === timer }) {
        pass?.callbacks[turn].isOver = true
      }
      return
    }
    guard target != nil else { throw Difference("a callback outside advance and release") }
    while true {
      if isDue(timer, kind), try takeTurn(timer, kind) { return }
      if let late = pass?.waiting.first {
        throw Difference("it is not due, or comes before timer \(late.number), whose turn is first")
      }
      guard try beginNextPass() else { throw Difference("it is not due") }
    }
  }

  private func isDue(_ timer: ModelTimer, _ kind: Int) -> Bool {
    if kind == CHIME_TICK_CANCELLED { return timer.owedCancelled > 0 }
    if kind == CHIME_TICK_ARMED { return timer.owesArmed || timer.spareArmed > 0 }
    if timer.isReleased { return false }
    if timer.owesArmed || timer.owedCancelled > 0 { return false }
    return kind == CHIME_TICK_FIRED ? timer.fireTime != nil : timer.isDue(at: now)
  }

  private func takeTurn(_ timer: ModelTimer, _ kind: Int) throws(Difference) -> Bool {
    if kind == CHIME_TICK_ARMED, !timer.owesArmed, pass != nil {
      pass?.isOpen = true
      return true
    }
    return try pass?.takeTurn(timer, kind, &readings) ?? false
  }

  /// Begins the next pass at this instant, or else at the next deadline; `false` when there is none before the target.
  private func beginNextPass() throws(Difference) -> Bool {
    let next = Pass(present, now: now)
    if !next.isEmpty || pass == nil && present.contains(where: { $0.spareArmed > 0 }) {
      pass = next
      return true
    }
    let deadlines = present.filter { !$0.isReleased && $0.state == .running && $0.deadline != .max }.map(\.deadline)
    guard let earliest = deadlines.min(), let target, earliest <= target else { return false }
    try nothingIsOwedToTheReleased()
    now = max(now, earliest)
    pass = Pass(present, now: now)
    return true
  }
}

/// Starting, stopping and moving timers: carries out the rows and columns of `Transition`.
extension TimerRef {
  /// Starts a timer that is idle, finished or cancelled; otherwise ignored.
  /// - Parameter schedule: valid; `nil` keeps the present one.
  package func activate(_ schedule: Schedule?) -> Status { apply(.activate, schedule) }

  /// Makes the timer run from now on, whatever its state.
  package func restart(_ schedule: Schedule?) -> Status { apply(.restart, schedule) }

  /// `restart` with the present schedule, whose first delay or deadline becomes this one. A timer without a schedule
  /// becomes a one-shot.
  /// - Parameter first: a delay is 0 or more.
  package func restart(first: Int64, isDeadline: Bool) -> Status {
    apply(.restart, Schedule(first: first, firstIsDeadline: isDeadline, interval: -1, leeway: -1), keepsRest: true)
  }

  /// Changes the schedule; the state stays.
  package func reschedule(_ schedule: Schedule?) -> Status { apply(.reschedule, schedule) }

  /// Changes the interval; state and the rest of the schedule stay, but for a jitter beyond the interval, which is
  /// shortened. The next tick is due one interval from now.
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: 0 or more, below the interval; `nil` keeps the present one, shortened to just below the interval if
  ///     necessary.
  package func reschedule(interval: Int64, leeway: Int64?) -> Status {
    apply(.reschedule, Schedule(first: interval, interval: interval, leeway: leeway ?? -1), keepsRest: true)
  }

  private func apply(_ event: TimerEvent, _ schedule: Schedule?, keepsRest: Bool = false) -> Status {
    guard let thread = ThreadState.obtain() else { return Memory.refusal }
    guard let writing = beginWriting(sending: event == .activate) else { return stale }
    let before = writing.before
    guard let next = writing.next(on: event) else { return writing.ignore() }
    guard schedule != nil || slot.flags.contains(.hasSchedule) else {
      return writing.undo(Status.invalidArgument.because("schedule is NULL, and the timer has none to keep"))
    }
    // A reschedule starts nothing: a running timer is being cancelled, others stay as they are.
    if event != .reschedule, writing.sideRecord?.target?.isGone == true { return writing.undo(refuseAsTargetGone()) }
    let schedule = keepsRest ? schedule.map { writing.completed($0) } : schedule
    if let schedule, schedule.firstIsDeadline, schedule.resume != 0 {
      return writing.undo(
        Status.invalidArgument.because(
          "the timer's resume_policy is CHIME_RESUME_REMAINING, which does not go with a deadline"))
    }
    var word = before.with(next)
    guard schedule?.needsSideRecord(on: control) != true || writing.makeSideRecord() != nil,
      writing.advanceGeneration(&word, mayFail: true)
    else { return writing.undo(Memory.refusal) }
    if let schedule { writing.store(schedule) }
    if let sideRecord = writing.sideRecord {
      sideRecord.dueCount = 0
      sideRecord.writerFields.firePending = false
      sideRecord.writerFields.carriedMissed = 0
    }
    if next == .running, before.isAtRest {
      writing.sequence = 0
      if let sideRecord = writing.sideRecord {
        sideRecord.sequenceHigh = 0
        sideRecord.missed = 0
        sideRecord.noteActivation()
      }
    }
    if next == .running {
      word = writing.store(
        due: writing.firstDeadline(control), before.state == .suspended ? word.withoutPostponement : word)
    } else if next == .suspended {
      // With `remaining` the first delay is what is left, and counts from the resume.
      writing.deadline =
        slot.flags.contains(.keepsRemaining)
        ? writing.withRandomPart(writing.first, control) : writing.firstDeadline(control)
    }
    if !next.isAtRest { writing.activationSequence = control.nextActivationSequence(thread) }
    word = writing.withPendingCallback(word)
    let offset = control.isWall && !next.isAtRest ? writing.ownWallOffset : nil
    let isBusy = writing.finish(word)
    if control.isWall { control.checkThatPassFollows(offset) }
    let traced: Trace.Event =
      switch event {
      case .activate: .activated
      case .restart: .restarted
      default: .rescheduled
      }
    return Trace.noteLast(traced, self, isBusy ? .running : .ok)
  }

  /// Holds ticks back; unless running, drops an extra tick at most.
  package func suspend() -> Status {
    guard let writing = beginWriting() else { return stale }
    guard writing.next(on: .suspend) != nil else { return dropExtraTick(writing, .suspended) }
    var word = writing.before
    writing.advanceGeneration(&word)
    writing.sideRecord?.writerFields.firePending = false
    let now = control.now
    let due = slot.dueTime(word)
    let deadline = slot.flags.contains(.keepsRemaining) ? writing.keepRemaining(until: due, now) : due
    let suspended = writing.withPendingCallback(word.suspended(at: now))
    let isBusy =
      if deadline == slot.deadline { writing.finish(suspended) } else {
        writing.finish(former: due) { writing in
          writing.deadline = deadline
          return suspended
        }
      }
    return Trace.noteLast(.suspended, self, isBusy ? .running : .ok)
  }

  /// Lets ticks through again; ignored unless suspended.
  package func resume() -> Status {
    guard let writing = beginWriting() else { return stale }
    guard let next = writing.next(on: .resume) else { return writing.undo(.ignored) }
    if slot.flags.contains(.keepsRemaining) { writing.deadline = control.now.saturatingAdd(slot.deadline) }
    let word = writing.before.with(next).withoutPostponement
    writing.finish(word)
    return Trace.noteLast(.resumed, self, .ok)
  }

  /// `postpone` through the cell: for suspended and repeating timers, timers on the wall clock, and distances that the
  /// word cannot hold (beyond 36 minutes, in virtual time 2.1 s).
  /// - Parameter time: on the queue's clock; for a delay, in the queue's internal time.
  @inline(never)
  func postpone(to time: Int64, delay: Int64?) -> Status {
    guard let writing = beginWriting() else { return stale }
    guard let next = writing.next(on: .postpone) else { return writing.ignore() }
    if control.isWall { return postponeOnWallClock(writing, to: time, delay: delay) }
    let (word, target) = (writing.before, time)
    let due = next == .suspended ? slot.deadline : slot.dueTime(word)
    let isBusy: Bool
    if next == .suspended {
      let keepsRemaining = slot.flags.contains(.keepsRemaining)
      let left = target == .max ? .max : target.saturatingSubtract(control.now)
      let wanted = keepsRemaining ? delay ?? left : target
      let deadline = max(due, wanted)
      if wanted == deadline { writing.forgetMissed() }
      writing.deadline = deadline
      isBusy = writing.finish(word)
    } else {
      if target >= due { writing.forgetMissed() }
      isBusy = writing.finishPostponing(to: max(due, target))
    }
    return Trace.noteLast(.postponed, self, isBusy ? .running : .ok)
  }

  /// `postpone` on the wall clock. It is decided by the clock as it is, which no pass may have looked at. What does not come
  /// later changes nothing, and does not even follow the clock: where the timer is by the next pass's look is not
  /// this call's to decide.
  @inline(never)
  private func postponeOnWallClock(_ writing: consuming Writing, to time: Int64, delay: Int64?) -> Status {
    // Three clocks or more are read for it, which a delay of a timer that follows no wall clock does not need.
    let offset = delay == nil || writing.ownWallOffset != nil ? control.lookAtWallClock() : control.wallOffset
    let due = writing.dueTime(offset)
    var target = delay == nil ? offset.deadline(of: time) : time
    let isRemainder = slot.flags.contains(.keepsRemaining) && !writing.before.isRunning
    if isRemainder { target = delay ?? (target == .max ? .max : target.saturatingSubtract(control.now)) }
    if target >= due { writing.forgetMissed() }
    guard target > due else {
      let isBusy = writing.undo()
      return Trace.noteLast(.postponed, self, isBusy ? .running : .ok)
    }
    // What is left of a suspended timer's time is a distance.
    if !writing.setWallDeadline(delay == nil && !isRemainder ? time : nil) { return writing.undo(Memory.refusal) }
    var word = writing.before
    if word.isRunning { word = writing.store(due: target, word) } else { writing.deadline = target }
    let own = writing.ownWallOffset
    let isBusy = writing.finish(word)
    control.checkThatPassFollows(own)
    return Trace.noteLast(.postponed, self, isBusy ? .running : .ok)
  }

  /// Changes the leeway and nothing else.
  /// - Parameter leeway: 0 or more, below the interval.
  package func setLeeway(_ leeway: Int64) -> Status {
    guard let writing = beginWriting() else { return stale }
    writing.leeway = CompactDuration(leeway)
    let word = writing.before
    writing.finish(word)
    return .ok
  }

  /// Requests one extra tick; ignored if cancelled.
  package func fire() -> Status {
    guard let writing = beginWriting() else { return stale }
    guard let next = writing.next(on: .fire) else { return writing.undo(.ignored) }
    // A running timer whose target has gone is being cancelled, and a cancelled timer ignores fire.
    if writing.sideRecord?.target?.isGone == true {
      return writing.undo(next.isAtRest ? refuseAsTargetGone() : .ignored)
    }
    guard let sideRecord = writing.makeSideRecord() else { return writing.undo(Memory.refusal) }
    if !sideRecord.writerFields.firePending {
      sideRecord.writerFields.firePending = true
      sideRecord.writerFields.fireTime = control.now
    }
    let word = writing.before.setting(TimerWord.callbackPendingBit)
    writing.finish(word)
    return Trace.noteLast(.fired, self, .ok)
  }
}

extension Writing {
  /// The state that follows upon an event; `nil` where the table says that nothing does.
  @inline(__always)
  func next(on event: TimerEvent) -> TimerState? { before.state.flatMap { Transition(from: $0, on: event).next } }

  /// A postponement moves the grid: what was missed on the old one before a suspend is not counted.
  fileprivate func forgetMissed() { sideRecord?.writerFields.carriedMissed = 0 }

  /// The time that a suspended timer with the policy `remaining` has left. Periods that were missed belong to its next
  /// tick.
  @inline(never)
  fileprivate func keepRemaining(until due: Int64, _ now: Int64) -> Int64 {
    let flags = slot.flags
    var due = due
    if ownWallOffset != nil {
      // It was postponed to a time of day. What is left until then, by the clock as it is, is a distance from now on.
      due = dueTime(control.lookAtWallClock())
      _ = setWallDeadline(nil)
    }
    if flags.contains(.repeating), !flags.contains(.delayPolicy), now > due {
      let missed = UInt64(now.saturatingSubtract(due) / period)
      sideRecord?.writerFields.carriedMissed &+= missed
    }
    return due == .max ? .max : max(0, due.saturatingSubtract(now))
  }

  /// Ends the writing of a running timer that is due at `time` now. True if a callback of the timer was running then.
  fileprivate consuming func finishPostponing(to time: Int64) -> Bool {
    let word = before
    let due = slot.dueTime(word)
    if time == due {
      return finish(word)
    } else if slot.flags.contains(.repeating) || control.isWall {
      let new = store(due: time, word)
      return finish(new)
    } else if let moved = word.moved(by: time.saturatingSubtract(slot.deadline), on: control) {
      return finish(moved)
    } else {
      // The word must change (P3c).
      return finish(former: due) { $0.store(due: time, word.withNextPostponement) }
    }
  }
}

extension TimerWord {
  /// The word with another postponement; `nil` if that does not fit. Virtual time is exact; otherwise the unit is 1,024
  /// ns, like the wheel's tick.
  @inline(__always)
  func moved(by distance: Int64, on control: QueueControlBlock) -> TimerWord? {
    with(postponement: distance) ?? (control.isVirtual ? nil : with(longPostponement: distance))
  }
}

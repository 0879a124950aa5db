/// Starting, stopping and moving timers: carries out the rows and columns of `Transition`.
extension TimerRef {
  /// Starts a timer that is idle, finished or cancelled; otherwise ignored.
  /// - Parameter schedule: valid; `nil` keeps the present one.
  package func activate(_ schedule: Schedule?) -> Status {
    let status = apply(.activate, schedule)
    return status == .running ? .ok : status
  }

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
    return carryOut(event) { before, next throws(Status) in
      guard schedule != nil || slot.flags.contains(.hasSchedule) else {
        throw Status.invalidArgument.because("schedule is NULL, and the timer has none to keep")
      }
      // A reschedule starts nothing: a running timer is being cancelled, others stay as they are.
      if event != .reschedule, slot.sideRecord?.target?.isGone == true { throw targetHasGone }
      let schedule = keepsRest ? schedule.map { slot.completed($0) } : schedule
      if let schedule, schedule.firstIsDeadline, schedule.resume != 0 {
        throw Status.invalidArgument.because(
          "the timer's resume_policy is CHIME_RESUME_REMAINING, which does not go with a deadline")
      }
      var word = before.with(next)
      guard schedule?.needsSideRecord(on: control) != true || slot.makeSideRecord() != nil,
        advanceGeneration(&word, mayFail: true)
      else { throw Memory.refusal }
      if let schedule { slot.store(schedule) }
      if let sideRecord = slot.sideRecord {
        sideRecord.dueCount = 0
        sideRecord.writerFields.firePending = false
        sideRecord.writerFields.carriedMissed = 0
      }
      if next == .running, before.isAtRest {
        slot.sequence = 0
        if let sideRecord = slot.sideRecord {
          sideRecord.sequenceHigh = 0
          sideRecord.missed = 0
          if sideRecord.writerFields.registrationHandler != nil { sideRecord.addCallback(.armed) }
        }
      }
      if next == .running {
        word = slot.store(
          due: slot.firstDeadline(control), before.state == .suspended ? word.withoutPostponement : word)
      } else if next == .suspended {
        // With `remaining` the first delay is what is left, and counts from the resume.
        slot.deadline =
          slot.flags.contains(.keepsRemaining)
          ? slot.withRandomPart(slot.first, control) : slot.firstDeadline(control)
      }
      if !next.isAtRest { slot.activationSequence = control.nextActivationSequence(thread) }
      word = word.withPendingCallback(of: slot)
      // A reschedule may drop the extra tick that a timer was to have before it releases itself.
      let isBusy = next.isAtRest ? endWriting(atRest: word) : endWriting(word)
      if control.isWall { followWallClock() }
      switch event {
      case .activate: Trace.note(.activated, self)
      case .restart: Trace.note(.restarted, self)
      default: Trace.note(.rescheduled, self)
      }
      return isBusy ? .running : .ok
    }
  }

  /// Holds ticks back; unless running, drops an extra tick at most.
  package func suspend() -> Status {
    // Not by `carryOut`: the compiler would leave so long a body a function of its own.
    guard var word = beginWriting() else { return stale }
    guard let state = word.state, Transition(from: state, on: .suspend).next != nil else {
      return dropExtraTick(word, .suspended)
    }
    advanceGeneration(&word)
    slot.sideRecord?.writerFields.firePending = false
    let now = control.now
    let due = slot.dueTime(word)
    let deadline = slot.flags.contains(.keepsRemaining) ? keepRemaining(until: due, now) : due
    let suspended = word.suspended(at: now).withPendingCallback(of: slot)
    let isBusy =
      if deadline == slot.deadline { endWriting(suspended) } else {
        DueTimeSpill.keep(due, of: slot) {
          slot.deadline = deadline
          return endWriting(suspended)
        }
      }
    Trace.note(.suspended, self)
    return isBusy ? .running : .ok
  }

  /// The time that a suspended timer with the policy `remaining` has left. Periods that were missed belong to its next
  /// tick.
  @inline(never)
  private func keepRemaining(until due: Int64, _ now: Int64) -> Int64 {
    let flags = slot.flags
    if flags.contains(.repeating), !flags.contains(.delayPolicy), now > due {
      let missed = UInt64(now.saturatingSubtract(due) / slot.period)
      slot.sideRecord?.writerFields.carriedMissed &+= missed
    }
    return due == .max ? .max : max(0, due.saturatingSubtract(now))
  }

  /// Lets ticks through again; ignored unless suspended.
  package func resume() -> Status {
    carryOut(.resume) { word, next in
      if slot.flags.contains(.keepsRemaining) { slot.deadline = control.now.saturatingAdd(slot.deadline) }
      endWriting(word.with(next).withoutPostponement)
      Trace.note(.resumed, self)
      return .ok
    }
  }

  /// `postpone` through the cell: for suspended and repeating timers, timers on the wall clock, and distances that the
  /// word cannot hold (beyond 36 minutes, in virtual time 2.1 s).
  /// - Parameter time: on the queue's clock; for a delay, in the queue's internal time.
  @inline(never)
  func postpone(to time: Int64, delay: Int64?) -> Status {
    carryOut(.postpone) { word, next throws(Status) in
      let isWall = control.isWall
      // Three clocks or more are read for it, which a delay of a timer that follows no wall clock does not need.
      let offset = isWall && (delay == nil || slot.ownWallOffset != nil) ? control.presentWallOffset : 0
      let target = delay != nil || time == .max ? time : time.saturatingSubtract(offset)
      let due = slot.dueTime(next == .suspended ? slot.deadline : slot.dueTime(word), wallOffset: offset)
      if isWall, target > due, !slot.flags.contains(.keepsRemaining),
        !slot.postponeOnWallClock(until: delay == nil ? time : nil)
      {
        throw Memory.refusal
      }
      if next == .suspended {
        let keepsRemaining = slot.flags.contains(.keepsRemaining)
        let left = target == .max ? .max : target.saturatingSubtract(control.now)
        let wanted = keepsRemaining ? delay ?? left : target
        let deadline = max(due, wanted)
        if wanted == deadline { slot.forgetMissed() }
        slot.deadline = deadline
        endWriting(word)
      } else {
        if target >= due { slot.forgetMissed() }
        endPostponing(word, to: max(due, target))
      }
      if isWall { followWallClock() }
      Trace.note(.postponed, self)
      return .ok
    }
  }

  /// Ends the writing of a running timer that is due at `time` now.
  private func endPostponing(_ word: TimerWord, to time: Int64) {
    let due = slot.dueTime(word)
    if time == due {
      endWriting(word)
    } else if slot.flags.contains(.repeating) || control.isWall {
      endWriting(slot.store(due: time, word))
    } else if let moved = word.moved(by: time.saturatingSubtract(slot.deadline), on: control) {
      endWriting(moved)
    } else {
      // A small postponement stays in the word, a different one each time: the word must change (P3c).
      let moved = word.with(postponement: word.postponement & 0xFFFF + 1) ?? word
      DueTimeSpill.keep(due, of: slot) { _ = endWriting(slot.store(due: time, moved)) }
    }
  }

  /// Changes the leeway and nothing else.
  /// - Parameter leeway: 0 or more, below the interval.
  package func setLeeway(_ leeway: Int64) -> Status {
    guard let word = beginWriting() else { return stale }
    slot.leeway = CompactDuration(leeway)
    endWriting(word)
    return .ok
  }

  /// Requests one extra tick; ignored if cancelled.
  package func fire() -> Status {
    carryOut(.fire) { word, next throws(Status) in
      // A running timer whose target has gone is being cancelled, and a cancelled timer ignores fire.
      if slot.sideRecord?.target?.isGone == true { throw next.isAtRest ? targetHasGone : .ignored }
      guard let sideRecord = slot.makeSideRecord() else { throw Memory.refusal }
      if !sideRecord.writerFields.firePending {
        sideRecord.writerFields.firePending = true
        sideRecord.writerFields.fireTime = control.now
      }
      endWriting(word.setting(TimerWord.callbackPendingBit))
      Trace.note(.fired, self)
      return .ok
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

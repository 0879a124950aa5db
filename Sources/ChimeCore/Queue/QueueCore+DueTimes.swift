/// Which due times a tick stands for, and when the next one is.
extension Writing {
  /// Stores the next due time of a running timer, on whatever clock.
  func move(from due: Int64, to next: Int64, _ word: TimerWord) -> TimerWord {
    moveOnWallClock(by: next.saturatingSubtract(due))
    return store(due: next, word)
  }
}

extension Writing {
  /// Policy *delay*: the interval counts from the end of the handler. Gives the word; `nil` if a later transition has decided
  /// otherwise.
  func counted(fromEnd end: Int64, _ word: TimerWord) -> TimerWord? {
    guard let fields = sideRecord?.writerFields, word.isRunning, slot.generation(word) == fields.provisional.generation
    else { return nil }
    // With jitter the random part stays that of the provisional time.
    let fromEnd = end.saturatingAdd(period).saturatingAdd(fields.randomPart)
    let current = slot.dueTime(word)
    // A postponement made in the meantime counts if it is later.
    let isPostponed = current > fields.provisional.deadline
    guard current != fields.provisional.deadline, ownWallOffset != nil else {
      return move(from: current, to: isPostponed ? max(fromEnd, current) : fromEnd, word)
    }
    // To a time of day: the timer follows that, unless its interval counts further.
    if dueTime(control.lookAtWallClock()) >= fromEnd { return nil }
    _ = setWallDeadline(nil)
    return store(due: fromEnd, word)
  }
}

extension SideRecordRef {
  /// Counts a tick that stands for so many missed due times of the grid, and for those carried over a suspend, against the
  /// limit. Gives how many missed ones that are, how many of those are of the grid, and whether the limit has been reached:
  /// what was carried counts first.
  fileprivate func countDueTimes(missed onGrid: UInt64) -> (missed: UInt64, onGrid: UInt64, isLast: Bool) {
    let carried = writerFields.carriedMissed
    var all = onGrid &+ carried
    var isLast = false
    writerFields.carriedMissed = 0
    if tickLimit > 0 {
      let left = tickLimit - dueCount
      isLast = all >= left - 1
      if isLast { all = left - 1 }
      dueCount += all + 1
    }
    missed &+= all
    return (all, all - min(carried, all), isLast)
  }
}

extension QueueCore {
  /// The tick that a due timer gives: the last of the due times that it stands for, how many others those are, and
  /// whether none follows.
  typealias DueTick = (scheduled: Int64, missed: UInt64, isLast: Bool)

  /// Moves the schedule past the tick that starts now, unless that is the last: a timer that has finished is due no more.
  /// The tick's missed due times are those since the deadline, and those carried over a suspend.
  func moveOn(
    _ writing: borrowing Writing, _ word: inout TimerWord, _ deadline: Int64, _ now: Int64
  ) -> DueTick {
    let (flags, period) = (writing.slot.flags, writing.period)
    guard flags.contains(.repeating) else { return (deadline, 0, true) }
    let isDelay = flags.contains(.delayPolicy)
    let onGrid = isDelay ? 0 : UInt64(bitPattern: now &- deadline) / UInt64(period)
    var (all, passed, isLast) = (onGrid, onGrid, false)
    if let sideRecord = onGrid > 0 ? writing.makeSideRecord() : writing.sideRecord {
      if sideRecord.jitter > 0 { return moveOnWithJitter(writing, sideRecord, &word, deadline, now) }
      (all, passed, isLast) = sideRecord.countDueTimes(missed: onGrid)
    }
    if !isLast {
      // By policy *delay* until the handler's end.
      let next =
        isDelay
        ? now.saturatingAdd(period) : deadline.saturatingAdd(onGrid, times: period).saturatingAdd(period)
      word = writing.move(from: deadline, to: next, word)
    }
    return (passed == 0 ? deadline : deadline.saturatingAdd(passed, times: period), all, isLast)
  }

  /// `moveOn` for a timer whose due times have random parts. The grid stands, but a time of the grid that has passed may
  /// not be due yet. All before it are, since a random part is at most the interval; so two are drawn at most.
  @inline(never)
  private func moveOnWithJitter(
    _ writing: borrowing Writing, _ sideRecord: SideRecordRef, _ word: inout TimerWord, _ deadline: Int64, _ now: Int64
  ) -> DueTick {
    let (period, jitter) = (writing.period, sideRecord.jitter)
    let start = deadline.saturatingSubtract(sideRecord.writerFields.randomPart)
    let isDelay = writing.slot.flags.contains(.delayPolicy)
    // How many times of the grid have passed since the one that the deadline belongs to, and of these are due.
    let passed = isDelay ? 0 : UInt64(bitPattern: now &- start) / UInt64(period)
    var onGrid = passed
    var latest: Int64?
    if passed > 0 {
      let part = control.randomPart(upTo: jitter)
      latest = part
      // One that is due just now has a tick of its own: without jitter, too, a pass in time finds nothing missed.
      if start.saturatingAdd(passed, times: period).saturatingAdd(part) >= now { onGrid -= 1 }
    }
    let (all, counted, isLast) = sideRecord.countDueTimes(missed: onGrid)
    var scheduled = deadline
    if counted > 0 {
      let part = counted == passed ? latest : nil
      scheduled = start.saturatingAdd(counted, times: period)
        .saturatingAdd(part ?? control.randomPart(upTo: jitter))
    }
    if !isLast {
      let part = onGrid < passed ? latest : nil
      let next = part ?? control.randomPart(upTo: jitter)
      sideRecord.writerFields.randomPart = next
      let time = isDelay ? now : start.saturatingAdd(onGrid, times: period)
      word = writing.move(from: deadline, to: time.saturatingAdd(period).saturatingAdd(next), word)
    }
    return (scheduled, all, isLast)
  }
}

import Synchronization

/// The operations that programs call millions of times a second, by id: each is one call across the module boundary.
/// The frequent case is handled here, any other by a call that finds the timer anew (`…Slow`), so that nothing is
/// kept for it meanwhile.
extension TimerRef {
  /// `cancel`: one compare-and-swap for a running timer with no side record and no callback under way, which does not
  /// release itself.
  package static func cancel(_ id: UInt64) -> Status {
    guard let (slot, control) = Slab.findWithOwner(of: id) else { return cancelSlow(id) }
    let word = slot.word
    guard word.isRunningAlone, !word.endsHalf, slot.isNamed(by: id, without: [.hasSideRecord, .selfRelease]),
      slot.cancel(word)
    else { return cancelSlow(id) }
    control.wakeRunIfWatched(slot)
    return Trace.isOn ? trace(.cancelled, id) : .ok
  }

  @inline(never)
  private static func cancelSlow(_ id: UInt64) -> Status { TimerRef(id)?.cancel() ?? unknown(id) }

  @inline(never)
  private static func trace(_ event: Trace.Event, _ id: UInt64) -> Status {
    TimerRef(id).map { Trace.noteLast(event, $0, .ok) } ?? .ok
  }

  /// `release`: one compare-and-swap for a timer with no side record and no callback under way; its slot goes to the
  /// thread's cache.
  package static func release(_ id: UInt64) -> Status { release(id, withContext: false) }

  /// `release` of a timer that may own its context, as Swift's do; the context is released with it.
  package static func releaseWithContext(_ id: UInt64) -> Status { release(id, withContext: true) }

  @inline(__always)
  private static func release(_ id: UInt64, withContext: Bool) -> Status {
    guard let (slot, control) = Slab.findWithOwner(of: id) else { return releaseSlow(id) }
    let word = slot.word
    guard word.isLiveAlone, slot.isNamed(by: id, without: .hasSideRecord), let writing = slot.tryFree(word)
    else { return releaseSlow(id) }
    let owned = withContext ? slot.ownedContext : nil
    if word.isRunning && control.isWatching(slot) || Trace.isOn { return finishRelease(writing) }
    if let writing = control.freeFast(writing, withContext: withContext) { return finishRelease(writing) }
    owned?.releaseObject()
    return .ok
  }

  @inline(never)
  private static func releaseSlow(_ id: UInt64) -> Status { TimerRef(id)?.release() ?? unknown(id) }

  @inline(never)
  private static func finishRelease(_ writing: consuming Writing) -> Status {
    TimerRef(slot: writing.slot, version: writing.slot.version).finishRelease(writing)
  }

  /// Moves the next deadline to `delay` from now, if that is later.
  package static func postpone(_ id: UInt64, delay: Int64) -> Status {
    guard let (slot, control) = Slab.findWithOwner(of: id) else { return unknown(id) }
    // The reading of the clock is a barrier: meanwhile the cell is fetched.
    Slab.prefetch(slot)
    return postpone(id, slot, control, to: control.now.saturatingAdd(delay), delay: delay)
  }

  /// Moves the next deadline to a point in time, if that is later.
  package static func postpone(_ id: UInt64, until target: Int64) -> Status {
    guard let (slot, control) = Slab.findWithOwner(of: id) else { return unknown(id) }
    return postpone(id, slot, control, to: target, delay: nil)
  }

  @inline(never)
  private static func postponeSlow(_ id: UInt64, to target: Int64, delay: Int64?) -> Status {
    isDueLater(id, than: target) ? .ok : TimerRef(id)?.postpone(to: target, delay: delay) ?? unknown(id)
  }

  /// Whether a running one-shot is due at that time or later, so that there is nothing to do. The word is the same before
  /// and after the deadline is read: so they belong together (P3c).
  @inline(__always)
  private static func isDueLater(_ id: UInt64, than target: Int64) -> Bool {
    guard let (slot, control) = Slab.findWithOwner(of: id) else { return false }
    let word = slot.word
    guard word.isRunningAlone, target <= slot.dueTime(word), slot.isNamed(by: id, without: .repeating), !control.isWall,
      !Trace.isOn
    else { return false }
    atomicMemoryFence(ordering: .acquiring)
    return slot.word == word
  }

  /// One compare-and-swap for a running one-shot, if the word can hold the distance.
  @inline(__always)
  private static func postpone(
    _ id: UInt64, _ slot: TimerSlot, _ control: QueueControlBlock, to target: Int64, delay: Int64?
  ) -> Status {
    let word = slot.word
    let deadline = slot.deadline
    guard word.isRunningAlone, slot.isNamed(by: id, without: .repeating), !control.isWall, target > deadline,
      let moved = word.moved(by: target &- deadline, on: control), word.isPostponed(less: moved),
      slot.postpone(word, moved)
    else { return postponeSlow(id, to: target, delay: delay) }
    return Trace.isOn ? trace(.postponed, id) : .ok
  }

  /// A one-shot's schedule without policies.
  package typealias OneShotSchedule = (first: Int64, firstIsDeadline: Bool, leeway: CompactDuration)

  /// `restart` and `reschedule`, which are the same for a running timer: this does them for one with no side record and
  /// no callback under way. False, and nothing is changed, for any other timer, or a delay below 0.
  /// - Parameter schedule: `nil` keeps the present one.
  @inline(never)
  package static func restartFast(_ id: UInt64, _ schedule: OneShotSchedule?) -> Bool {
    if let schedule, !schedule.firstIsDeadline, schedule.first < 0 { return false }
    return restartFast(id, without: .hasSideRecord) { writing, control in
      if let schedule {
        writing.versionAndFlags =
          writing.versionAndFlags & ~CellFlags.schedule.rawValue | CellFlags.hasSchedule.rawValue
          | (schedule.firstIsDeadline ? CellFlags.firstIsDeadline.rawValue : 0)
        writing.leeway = schedule.leeway
        writing.period = schedule.first
      }
      let first = writing.period
      return writing.slot.flags.contains(.firstIsDeadline) ? first : control.deadline(after: first)
    }
  }

  /// `restart(after:)` for a running one-shot with no side record and no callback under way. False, and nothing is
  /// changed, for any other timer.
  /// - Parameter delay: 0 or more.
  @inline(never)
  package static func restartFast(_ id: UInt64, after delay: Int64) -> Bool {
    restartFast(id, without: [.hasSideRecord, .repeating]) { writing, control in
      writing.versionAndFlags &= ~CellFlags.firstIsDeadline.rawValue
      writing.period = delay
      return control.now.saturatingAdd(delay)
    }
  }

  /// `restart(until:)`, in the same frequent case.
  @inline(never)
  package static func restartFast(_ id: UInt64, until deadline: Int64) -> Bool {
    restartFast(id, without: [.hasSideRecord, .repeating, .keepsRemaining]) { writing, _ in
      writing.versionAndFlags |= CellFlags.firstIsDeadline.rawValue
      writing.period = deadline
      return deadline
    }
  }

  /// Rearms a running timer that has none of the flags, and no callback under way. False, and nothing is changed, for
  /// any other timer.
  /// - Parameter due: changes the schedule, and says when the timer is due by it.
  @inline(__always)
  private static func restartFast(
    _ id: UInt64, without flags: CellFlags, due: (borrowing Writing, QueueControlBlock) -> Int64
  ) -> Bool {
    guard let (slot, control) = Slab.findWithOwner(of: id), control.createsFast, !Trace.isOn,
      let thread = ThreadState.existing
    else { return false }
    Slab.prefetchPosition(of: slot)
    let word = slot.word
    guard word.isRunningAlone, !word.endsHalf, slot.isNamed(by: id, without: flags),
      let writing = slot.beginWriting(word)
    else { return false }
    // A side record can have been added between the look and the swap, and a tick delivered. It holds named handlers and
    // the number of missed ticks at most, which stay.
    let due = due(writing, control)
    let new = writing.store(due: due, word.withNextGeneration)
    writing.activationSequence = control.nextActivationSequence(thread)
    writing.finish(new, due: due, on: control)
    return true
  }
}

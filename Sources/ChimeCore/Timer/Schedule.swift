/// When a timer ticks: first delay or deadline, interval, leeway, jitter, tick limit and two policies. A plain value;
/// any thread.
// Laid out as chime_schedule, so that C's is read where it lies; a test holds the two against each other. Times are in
// nanoseconds; `isValid` before the core accepts one.
public struct Schedule: Hashable, Sendable {
  /// What happens to due times that are missed.
  public enum MissedPolicy: Sendable {
    /// They come as one tick that says how many there were; the grid stands.
    case coalesce
    /// The interval counts from the end of the handler.
    case delay
  }

  /// What happens to the schedule during suspension.
  public enum ResumePolicy: Sendable {
    /// The grid stands; missed ticks come as one, at once.
    case coalesce
    /// The time that was left is kept, and the grid moves.
    case remaining
  }

  /// In C, the size. Its high half is Swift's: on which clock the deadline is (see `Schedule.timeline`).
  @usableFromInline package var size = UInt32(56)
  /// `deadlineFlag`: `first` is a deadline.
  @usableFromInline package var flags: UInt32
  /// Delay, 0 or more, or deadline of the first tick.
  @usableFromInline package var first: Int64
  /// 0: one-shot.
  @usableFromInline package var interval: Int64
  @usableFromInline package var leeway: Int64
  /// The timer finishes after this many due times; 0: no limit.
  @usableFromInline package var tickLimit: UInt64
  /// Raw values of the policies.
  @usableFromInline package var missed: UInt32
  @usableFromInline package var resume: UInt32
  /// Of a repeating timer: each tick is due at its time of the grid plus a random part, of this length at most.
  @usableFromInline package var jitter: Int64

  @inlinable
  package init(
    first: Int64, firstIsDeadline: Bool = false, interval: Int64 = 0, leeway: Int64 = 0, jitter: Int64 = 0,
    tickLimit: UInt64 = 0, missedPolicy: MissedPolicy = .coalesce, resumePolicy: ResumePolicy = .coalesce
  ) {
    flags = firstIsDeadline ? Schedule.deadlineFlag : 0
    self.first = first
    self.interval = interval
    self.leeway = leeway
    self.tickLimit = tickLimit
    missed = missedPolicy == .delay ? 1 : 0
    resume = resumePolicy == .remaining ? 1 : 0
    self.jitter = jitter
  }

  /// CHIME_SCHEDULE_DEADLINE.
  @inlinable package static var deadlineFlag: UInt32 { 0x10000 }

  @inlinable package var firstIsDeadline: Bool { flags != 0 }

  /// Nothing but a deadline is negative, the leeway of a repeating timer is below its interval, the jitter is at most the
  /// interval, a deadline does not go with the policy `remaining`, and no flag is unknown.
  @inlinable
  package var isValid: Bool {
    flags & ~Schedule.deadlineFlag == 0 && missed | resume <= 1 && interval | leeway | jitter >= 0
      && (firstIsDeadline || first >= 0)
      && (interval == 0 || leeway < interval) && jitter <= interval && !(firstIsDeadline && resume != 0)
  }

  /// A one-shot's without policies, which is valid but perhaps for a delay below 0.
  @inlinable
  package var isOneShotOnly: Bool {
    interval | jitter == 0 && missed | resume | flags & ~Schedule.deadlineFlag == 0 && leeway >= 0
  }

  /// Whether a timer on that queue needs a side record for it.
  @inline(__always)
  func needsSideRecord(on control: QueueControlBlock) -> Bool {
    interval > 0 && (tickLimit > 0 || jitter > 0 || first != interval || firstIsDeadline || missed | resume != 0)
      || firstIsDeadline && control.isWall
  }

  @inline(__always)
  var cellFlags: CellFlags {
    var flags: CellFlags = .hasSchedule
    if interval > 0 { flags.insert(.repeating) }
    if firstIsDeadline { flags.insert(.firstIsDeadline) }
    if missed != 0 { flags.insert(.delayPolicy) }
    if resume != 0 { flags.insert(.keepsRemaining) }
    return flags
  }
}

extension Writing {
  /// Stores a schedule in the cell. The side record is there if one is needed.
  @inline(__always)
  func store(_ schedule: Schedule) {
    versionAndFlags = versionAndFlags & ~CellFlags.schedule.rawValue | schedule.cellFlags.rawValue
    leeway = CompactDuration(schedule.leeway)
    period = schedule.interval > 0 ? schedule.interval : schedule.first
    if let sideRecord {
      sideRecord.tickLimit = schedule.interval > 0 ? schedule.tickLimit : 0
      sideRecord.hasFirst =
        schedule.interval > 0 && (schedule.first != schedule.interval || schedule.firstIsDeadline)
      sideRecord.first = schedule.first
      sideRecord.jitter = schedule.jitter
      sideRecord.writerFields.randomPart = 0
    }
  }

  /// A schedule with the cell's jitter, limit and policies, and the cell's interval and leeway where the given ones
  /// are negative.
  func completed(_ schedule: Schedule) -> Schedule {
    var schedule = schedule
    let flags = slot.flags
    if schedule.interval < 0 { schedule.interval = flags.contains(.repeating) ? period : 0 }
    if schedule.leeway < 0 {
      let leeway = flags.contains(.hasSchedule) ? leeway.nanoseconds : 0
      schedule.leeway = schedule.interval > 0 ? min(leeway, schedule.interval - 1) : leeway
    }
    schedule.jitter = min(sideRecord?.jitter ?? 0, schedule.interval)
    schedule.tickLimit = sideRecord?.tickLimit ?? 0
    schedule.missed = flags.contains(.delayPolicy) ? 1 : 0
    schedule.resume = flags.contains(.keepsRemaining) ? 1 : 0
    return schedule
  }

  /// The schedule's first delay or deadline.
  var first: Int64 {
    if let sideRecord, sideRecord.hasFirst { return sideRecord.first }
    return period
  }

  /// When the first tick is due if the schedule counts from now, its random part included. Reads the clock for a delay.
  @inline(__always)
  func firstDeadline(_ control: QueueControlBlock) -> Int64 {
    if control.isWall { return withRandomPart(firstDeadlineOnWallClock(control), control) }
    return withRandomPart(slot.flags.contains(.firstIsDeadline) ? first : control.now.saturatingAdd(first), control)
  }

  private func firstDeadlineOnWallClock(_ control: QueueControlBlock) -> Int64 {
    let follows = slot.flags.contains(.firstIsDeadline)
    // The side record is there.
    _ = setWallDeadline(follows ? first : nil)
    return follows ? control.lookAtWallClock().deadline(of: first) : control.now.saturatingAdd(first)
  }
}

/// Jitter. The deadline in the cell is when the tick is due; the side record keeps how much of it is the random part,
/// so that the time of the grid is known.
extension Writing {
  /// A time of the grid with a new random part, if the timer has jitter: when the tick is due.
  func withRandomPart(_ time: Int64, _ control: QueueControlBlock) -> Int64 {
    slot.hasSideRecord ? withItsRandomPart(time, control) : time
  }

  @inline(never)
  private func withItsRandomPart(_ time: Int64, _ control: QueueControlBlock) -> Int64 {
    guard let sideRecord, sideRecord.jitter > 0 else { return time }
    let part = control.randomPart(upTo: sideRecord.jitter)
    sideRecord.writerFields.randomPart = part
    if sideRecord.wallDeadline != SideRecordView.followsNoWall {
      sideRecord.wallDeadline = sideRecord.wallDeadline.saturatingAdd(part)
    }
    return time.saturatingAdd(part)
  }
}

extension TimerRef {
  /// The schedule as it was given, but for a one-shot's limit; `.some(nil)` if there was never one, `nil` if the id is stale.
  /// No query: a schedule is of one piece, so it is read as a change would be made, in turn with others.
  package var schedule: Schedule?? {
    guard let writing = beginWriting() else { return nil }
    let own = slot.sideRecord.flatMap { $0.hasFirst ? $0.first : nil }
    let schedule = slot.read().schedule(first: own)
    writing.undo()
    return .some(schedule)
  }

  /// Whether `QueueCore.run` does not wait for the timer's end.
  package var isBackground: Bool { slot.isBackground }
}

extension Snapshot {
  /// - Parameter own: a repeating timer's first delay or deadline, if it is not the interval.
  fileprivate func schedule(first own: Int64?) -> Schedule? {
    guard hasSchedule else { return nil }
    return Schedule(
      first: own ?? period, firstIsDeadline: flags.contains(.firstIsDeadline), interval: interval, leeway: leeway,
      jitter: jitter, tickLimit: tickLimit, missedPolicy: flags.contains(.delayPolicy) ? .delay : .coalesce,
      resumePolicy: flags.contains(.keepsRemaining) ? .remaining : .coalesce)
  }
}

import Synchronization

/// A timer at one moment: its word, and what queries report of its cell; `chime_timer_info` in Swift.
package struct Snapshot: Sendable {
  let control: QueueControlBlock
  var word: TimerWord
  /// When the timer is due, in the queue's internal time, if it is running.
  var due: Int64
  /// Of the cell: see `TimerCell.deadline`.
  var deadline: Int64
  var period: Int64
  var versionAndFlags: UInt32
  var cellLeeway: CompactDuration
  var sequenceLow: UInt32
  /// 0 for a timer without.
  package var jitter: Int64 = 0
  package var tickLimit: UInt64 = 0
  package var dueCount: UInt64 = 0
  package var missed: UInt64 = 0
  var sequenceHigh: UInt32 = 0
  package var generation: UInt64
  var targetID: UInt64 = 0
  var wallDeadline = SideRecordView.followsNoWall

  var version: UInt32 { versionAndFlags & Handle.versionMask }
  var flags: CellFlags { CellFlags(rawValue: versionAndFlags & ~Handle.versionMask) }

  package var state: TimerState { word.state ?? .idle }
  package var isBusy: Bool { word.isBusy }
  package var queue: UInt64 { control.id }
  /// The tick that has finished the timer is not counted in the cell.
  package var sequence: UInt64 {
    UInt64(sequenceHigh) << 32 &+ UInt64(sequenceLow) &+ (word.isFinished ? 1 : 0)
  }
  package var hasSchedule: Bool { flags.contains(.hasSchedule) }
  /// 0 for a one-shot.
  package var interval: Int64 { flags.contains(.repeating) ? period : 0 }
  package var leeway: Int64 { hasSchedule ? cellLeeway.nanoseconds : 0 }
  /// How much time is left until the next tick is due, 0 if it is due already; of a suspended timer that keeps it, the
  /// time that was left; of any other that does not run, `Int64.max`. Reads the clock for a running timer.
  package var remaining: Int64 {
    if word.isRunning { return due == .max ? .max : max(0, due.saturatingSubtract(control.now)) }
    return word.state == .suspended && flags.contains(.keepsRemaining) ? deadline : .max
  }

  /// When the timer is due, as the queue's clock shows it; `Int64.max` for a timer that is not running.
  package var nextDeadline: Int64 {
    guard word.isRunning else { return .max }
    return wallDeadline != SideRecordView.followsNoWall ? wallDeadline : control.wallTime(due)
  }
}

extension TimerSlot {
  /// How often a query reads the cell before it answers with what it has: it waits for nobody (promise 18).
  static var tries: Int { 64 }

  /// The timer as the last completed operation left it. Beside a writer that the system has taken off its processor,
  /// and only there, members can be of before and after that writer's change; word, due time and generation are exact
  /// there, too (P3).
  var snapshot: Snapshot {
    let snapshot = read()
    return isUnchanged(since: snapshot) ? snapshot : readSlow()
  }

  @inline(never)
  private func readSlow() -> Snapshot {
    var snapshot = read()
    for _ in 2..<TimerSlot.tries {
      if isUnchanged(since: snapshot) { break }
      snapshot = read()
    }
    return snapshot
  }

  /// Whether nobody has changed the cell since a snapshot was read, and nobody was changing it.
  private func isUnchanged(since snapshot: Snapshot) -> Bool {
    if snapshot.word.hasWriter, snapshot.word.isLive { return false }
    // Each change of the cell leaves another sequence, deadline, interval, leeway or wall deadline behind, or another word. The
    // word is looked at between the two readings, so that no change is half done at both; and last, since under
    // another generation the rest can be as it was.
    atomicMemoryFence(ordering: .acquiring)
    guard word == snapshot.word, sequence == snapshot.sequenceLow, deadline == snapshot.deadline,
      period == snapshot.period, leeway.bits == snapshot.cellLeeway.bits,
      sideRecord?.wallDeadline ?? SideRecordView.followsNoWall == snapshot.wallDeadline
    else { return false }
    atomicMemoryFence(ordering: .acquiring)
    return word == snapshot.word
  }

  /// What word and cell say at this moment.
  func read() -> Snapshot {
    let word = word
    let deadline = deadline
    var snapshot = Snapshot(
      control: Slab.owner(of: self), word: word, due: dueTime(word, deadline), deadline: deadline, period: period,
      versionAndFlags: versionAndFlags, cellLeeway: leeway, sequenceLow: sequence, generation: word.generation)
    guard let sideRecord else { return snapshot }
    snapshot.jitter = sideRecord.jitter
    snapshot.tickLimit = sideRecord.tickLimit
    snapshot.dueCount = sideRecord.dueCount
    snapshot.missed = sideRecord.missed
    snapshot.sequenceHigh = sideRecord.sequenceHigh
    snapshot.generation = sideRecord.generation(word)
    snapshot.targetID = sideRecord.targetID
    snapshot.wallDeadline = sideRecord.wallDeadline
    return snapshot
  }

  /// When a running timer is due, given a deadline that was read after the word; exact beside a writer, too.
  ///
  /// A writer that changes the deadline leaves the postponement in the word, and allows for it (`store(due:)`): so the
  /// sum is the time before its change, or after it. Where a writer cannot do that, it has left the time before its
  /// change (P3).
  private func dueTime(_ word: TimerWord, _ deadline: Int64) -> Int64 {
    if word.hasWriter, word.isLive {
      atomicMemoryFence(ordering: .acquiring)
      if let due = DueTimeSpill.of(self, word) { return due }
    }
    return word.dueTime(deadline)
  }

  /// When a timer is due that runs with this word; exact, unless the word has changed 64 times meanwhile.
  @inline(never)
  func exactDueTime(_ word: inout TimerWord) -> Int64 {
    var due = dueTime(word, deadline)
    for _ in 1..<TimerSlot.tries {
      atomicMemoryFence(ordering: .acquiring)
      let now = self.word
      if now == word { break }
      word = now
      due = dueTime(word, deadline)
    }
    return due
  }
}

/// When the timer was due whose writer is about to store a deadline that the word's postponement does not fit: for
/// queries that find that writer. There are three places, one timer at a time in each: its writer has one for a few
/// instructions, and a few more after its end, when another thread may be the timer's writer already: so the word says whose
/// time it is.
enum DueTimeSpill: ProcessState {
  fileprivate struct Place: ~Copyable {
    let isTaken = Atomic<Bool>(false)
    /// Whose it is (P3).
    let slot = Atomic<SlotLink>(.none)
    /// What that writer alone changes of the word, as it is until the writer's end.
    let word = Atomic<UInt64>(0)
    let time = Atomic<Int64>(0)
  }

  private static let first = Place()
  private static let second = Place()
  private static let third = Place()

  static func makeGlobals() {
    _ = first.isTaken.load(ordering: .relaxed)
    _ = second.isTaken.load(ordering: .relaxed)
    _ = third.isTaken.load(ordering: .relaxed)
  }

  static func reinitialize() {
    first.leave()
    second.leave()
    third.leave()
  }

  /// Runs `change`, in which the slot's writer stores another deadline and ends the writing, where queries find `due`. Waits
  /// only while three other writers are in here.
  static func keep<Result>(_ due: Int64, of slot: TimerSlot, _ change: () -> Result) -> Result {
    let number = take(due, of: slot)
    defer { leave(number) }
    return change()
  }

  @inline(never)
  private static func take(_ due: Int64, of slot: TimerSlot) -> Int {
    var spinWait = SpinWait()
    while true {
      if first.take(due, of: slot) { return 1 }
      if second.take(due, of: slot) { return 2 }
      if third.take(due, of: slot) { return 3 }
      spinWait.pause()
    }
  }

  @inline(never)
  private static func leave(_ number: Int) {
    switch number {
    case 1: first.leave()
    case 2: second.leave()
    default: third.leave()
    }
  }

  /// `nil` unless the writer of that word has left it here.
  static func of(_ slot: TimerSlot, _ word: TimerWord) -> Int64? {
    first.due(of: slot, word) ?? second.due(of: slot, word) ?? third.due(of: slot, word)
  }
}

extension DueTimeSpill.Place {
  fileprivate borrowing func take(_ due: Int64, of slot: TimerSlot) -> Bool {
    if isTaken.exchange(true, ordering: .acquiring) { return false }
    // With release order, too: whoever reads the next one's finds that the word has changed.
    time.store(due, ordering: .releasing)
    word.store(slot.word.writersOwn, ordering: .releasing)
    // The deadline is stored with release order: whoever reads the new one finds this.
    self.slot.store(SlotLink(slot), ordering: .releasing)
    return true
  }

  fileprivate borrowing func leave() {
    slot.store(.none, ordering: .releasing)
    isTaken.store(false, ordering: .releasing)
  }

  fileprivate borrowing func due(of slot: TimerSlot, _ word: TimerWord) -> Int64? {
    guard self.slot.load(ordering: .acquiring) == SlotLink(slot),
      self.word.load(ordering: .relaxed) == word.writersOwn
    else { return nil }
    return time.load(ordering: .relaxed)
  }
}

extension TimerRef {
  /// The timer as the last completed operation left it; `nil` if the id is stale. For queries: it changes nothing and
  /// waits for nobody.
  package var snapshot: Snapshot? {
    let snapshot = slot.snapshot
    return snapshot.word.isLive && snapshot.version == version ? snapshot : nil
  }
}

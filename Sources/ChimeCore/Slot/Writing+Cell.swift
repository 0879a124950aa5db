import Synchronization

/// What a writer stores. The stores release, except where no query reads what they store, so that whoever reads one
/// of them then reads a word that is at least as new (P3, P3b).
extension Writing {
  // SAFETY of all stores: nobody else stores anything there meanwhile.

  var deadline: Int64 {
    get { slot.deadline }
    nonmutating set { slot.cell.deadline.store(newValue, ordering: .releasing) }
  }

  /// Stores when the timer is due next, and gives the word to end the writing with. The postponement stays in the word
  /// and is allowed for, so that a query beside this writer finds the time before the change or after it (P3).
  func store(due time: Int64, _ word: TimerWord) -> TimerWord {
    let (deadline, overflow) = time.subtractingReportingOverflow(word.postponement)
    // The end of time stays that, with any postponement.
    self.deadline = overflow || time == .max ? time : deadline
    return overflow ? word.withoutPostponement : word
  }

  var versionAndFlags: UInt32 {
    get { slot.versionAndFlags }
    nonmutating set { slot.cell.versionAndFlags.store(newValue, ordering: .releasing) }
  }

  var leeway: CompactDuration {
    get { slot.leeway }
    nonmutating set { slot.cell.leeway.store(newValue.bits, ordering: .releasing) }
  }

  var activationSequence: UInt32 {
    get { slot.activationSequence }
    nonmutating set { slot.cell.activationSequence.store(newValue, ordering: .relaxed) }
  }

  var period: Int64 {
    get { slot.period }
    nonmutating set { slot.cell.period.store(newValue, ordering: .releasing) }
  }

  var sequence: UInt32 {
    get { slot.sequence }
    nonmutating set { slot.cell.sequence.store(newValue, ordering: .releasing) }
  }

  var handler: TickFunction? {
    get { slot.handler }
    nonmutating set { slot.cell.handler = newValue }
  }

  var context: Context {
    get { slot.context }
    nonmutating set { slot.cell.context = newValue }
  }

  // MARK: The side record

  /// The side record, if there is one.
  var sideRecord: SideRecordRef? {
    guard let view = slot.sideRecord else { return nil }
    return SideRecordRef(view, of: self)
  }

  /// The side record, made if need be; `nil` when there is no memory.
  func makeSideRecord(fromReserve: Bool = false) -> SideRecordRef? {
    if let sideRecord { return sideRecord }
    let sideRecord: SideRecordRef
    if let memory = slot.sideRecordMemory ?? SideRecords.take() {
      sideRecord = SideRecordRef(memory, of: self)
      sideRecord.reset()
    } else {
      guard let made = SideRecordRef(allocatedFor: self, fromReserve: fromReserve) else { return nil }
      sideRecord = made
    }
    unsafe slot.cell.sideRecord.store(sideRecord.view.pointer, ordering: .releasing)
    // A timer that is being made has the generation after the free slot's.
    let word = slot.word
    sideRecord.generationHigh = UInt32(
      truncatingIfNeeded: (word.isLive ? word : word.withNextGeneration).generationHalf)
    versionAndFlags |= CellFlags.hasSideRecord.rawValue
    return sideRecord
  }

  /// Ends the side record.
  func endSideRecord() {
    if slot.hasSideRecord { endItsSideRecord() }
  }

  @inline(never)
  private func endItsSideRecord() {
    guard let sideRecord else { return }
    versionAndFlags &= ~CellFlags.hasSideRecord.rawValue
    sideRecord.target?.detach(slot)
    sideRecord.end()
  }

  /// The word with its callback-pending flag set according to the side record.
  func withPendingCallback(_ word: TimerWord) -> TimerWord {
    guard let sideRecord, sideRecord.hasPendingCallback || sideRecord.writerFields.firePending else {
      return word.clearing(TimerWord.callbackPendingBit)
    }
    return word.setting(TimerWord.callbackPendingBit)
  }

  // MARK: Numbers that run over into the side record

  /// Counts a tick that does not finish the timer.
  func countTick() {
    sequence &+= 1
    if sequence == 0, let sideRecord = makeSideRecord() { sideRecord.sequenceHigh &+= 1 }
  }

  /// The word with the next generation; false if there is no memory for a side record.
  ///
  /// Where that must not fail, the side record may come out of the reserve. Without one the number that callers read
  /// begins again; the word alone still proves what has started.
  @discardableResult
  func advanceGeneration(_ word: inout TimerWord, mayFail: Bool = false) -> Bool {
    let ends = word.endsHalf
    word = word.withNextGeneration
    guard ends else { return true }
    guard let sideRecord = makeSideRecord(fromReserve: !mayFail) else { return !mayFail }
    sideRecord.generationHigh &+= 1
    return true
  }
}

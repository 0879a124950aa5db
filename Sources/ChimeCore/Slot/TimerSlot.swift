import Synchronization

/// A slot of the slab, and the only access to its cell. Copies cost nothing. A slot is never unmapped, so no method
/// can touch foreign memory, whatever became of the timer. The changes of its word stand in `TimerSlot+Word.swift`.
@safe struct TimerSlot: @unchecked Sendable {
  // SAFETY: points into a chunk of the slab, which is never unmapped; all shared fields are atomics.
  let cell: UnsafeMutablePointer<TimerCell>
  let index: UInt32

  /// Of no slot: a cell at an address that nothing reads.
  static var none: TimerSlot {
    unsafe TimerSlot(
      cell: UnsafeMutablePointer(bitPattern: MemoryLayout<TimerCell>.alignment).unsafelyUnwrapped, index: 0)
  }

  // MARK: Hints, proved by a swap of the word

  @inline(__always)
  var deadline: Int64 {
    get { unsafe cell.pointee.deadline.load(ordering: .relaxed) }
    nonmutating set { unsafe cell.pointee.deadline.store(newValue, ordering: .releasing) }
  }

  /// When the timer is due, if it is running with that word.
  @inline(__always)
  func dueTime(_ word: TimerWord) -> Int64 { word.dueTime(deadline) }

  /// Stores when the timer is due next, and gives the word to end the writing with. The postponement stays in the word
  /// and is allowed for, so that a query beside this writer finds the time before the change or after it (P3). The
  /// caller is the writer.
  @inline(__always)
  func store(due time: Int64, _ word: TimerWord) -> TimerWord {
    let (deadline, overflow) = time.subtractingReportingOverflow(word.postponement)
    if overflow || time == .max {
      self.deadline = time
      return word.withoutPostponement
    }
    self.deadline = deadline
    return word
  }

  @inline(__always)
  var version: UInt32 { versionAndFlags & Handle.versionMask }

  @inline(__always)
  var flags: CellFlags { CellFlags(rawValue: versionAndFlags & ~Handle.versionMask) }

  @inline(__always)
  var versionAndFlags: UInt32 {
    get { unsafe cell.pointee.versionAndFlags.load(ordering: .relaxed) }
    nonmutating set { unsafe cell.pointee.versionAndFlags.store(newValue, ordering: .releasing) }
  }

  @inline(__always)
  var leeway: CompactDuration {
    get { unsafe CompactDuration(bits: cell.pointee.leeway.load(ordering: .relaxed)) }
    nonmutating set { unsafe cell.pointee.leeway.store(newValue.bits, ordering: .releasing) }
  }

  @inline(__always)
  var activationSequence: UInt32 {
    get { unsafe cell.pointee.activationSequence.load(ordering: .relaxed) }
    nonmutating set { unsafe cell.pointee.activationSequence.store(newValue, ordering: .relaxed) }
  }

  @inline(__always)
  var period: Int64 {
    get { unsafe cell.pointee.period.load(ordering: .relaxed) }
    nonmutating set { unsafe cell.pointee.period.store(newValue, ordering: .releasing) }
  }

  @inline(__always)
  var sequence: UInt32 {
    get { unsafe cell.pointee.sequence.load(ordering: .relaxed) }
    nonmutating set { unsafe cell.pointee.sequence.store(newValue, ordering: .releasing) }
  }

  /// Whether this id names the timer in the slot's present version, with none of these flags: one comparison instead of
  /// splitting the id. For an id whose index is the slot's.
  @inline(__always)
  func isNamed(by id: UInt64, without flags: CellFlags) -> Bool {
    // The flags lie where an id has its kind, so they are looked at apart. The highest makes a negative number, which no
    // id is when shifted.
    let versionAndFlags = versionAndFlags, highest = flags.rawValue & CellFlags.hasSideRecord.rawValue
    let version = UInt64(
      bitPattern: Int64(Int32(bitPattern: versionAndFlags & (Handle.versionMask | highest))))
    guard versionAndFlags & (flags.rawValue & ~highest) == 0 else { return false }
    return id >> Handle.indexBits == version | Handle.Kind.timer.rawValue << Handle.versionBits
  }

  @inline(__always)
  var hasSideRecord: Bool { versionAndFlags & CellFlags.hasSideRecord.rawValue != 0 }

  // MARK: The writer's

  @inline(__always)
  var handler: TickFunction? {
    get { unsafe cell.pointee.handler }
    nonmutating set { unsafe cell.pointee.handler = newValue }
  }

  @inline(__always)
  var context: Context {
    get { unsafe cell.pointee.context }
    nonmutating set { unsafe cell.pointee.context = newValue }
  }

  /// The context, if it is a reference to an object: whoever has freed the slot releases that, after the slot was given
  /// back. So Swift's timers need no finalizer, and no side record for one. The release runs code of the host's, which may
  /// wait for the queue to end. The caller owns the slot.
  @inline(__always)
  var ownedContext: Context? { flags.contains(.ownsContext) ? context : nil }

  /// The side record, if there is one.
  @inline(__always)
  var sideRecord: SideRecordRef? { hasSideRecord ? sideRecordMemory : nil }

  var sideRecordMemory: SideRecordRef? {
    unsafe cell.pointee.sideRecord.load(ordering: .relaxed).map { unsafe SideRecordRef($0) }
  }

  /// Whether `QueueCore.run` does not wait for the timer's end.
  var isBackground: Bool { sideRecord?.isBackground ?? false }

  /// The version of the slot that was given a turn for a pending callback. The pass's own; there once a timer in the
  /// slot has had a side record.
  var turnVersion: UInt32 {
    get { unsafe sideRecordMemory?.pointer.pointee.turnVersion.load(ordering: .relaxed) ?? version }
    nonmutating set { unsafe sideRecordMemory?.pointer.pointee.turnVersion.store(newValue, ordering: .relaxed) }
  }

  /// The side record, made if need be; `nil` when there is no memory.
  func makeSideRecord(fromReserve: Bool = false) -> SideRecordRef? {
    if let sideRecord { return sideRecord }
    if let memory = sideRecordMemory {
      memory.reset()
    } else {
      guard let made = SideRecordRef.allocate(fromReserve: fromReserve) else { return nil }
      unsafe cell.pointee.sideRecord.store(made.pointer, ordering: .releasing)
    }
    // A timer that is being made has the generation after the free slot's.
    sideRecordMemory?.generationHigh = UInt32(
      truncatingIfNeeded: (word.isLive ? word : word.withNextGeneration).generationHalf)
    versionAndFlags |= CellFlags.hasSideRecord.rawValue
    return sideRecordMemory
  }

  /// Ends the side record; the caller owns the slot.
  @inline(__always)
  func endSideRecord() {
    if hasSideRecord { endItsSideRecord() }
  }

  @inline(never)
  private func endItsSideRecord() {
    guard let sideRecord else { return }
    versionAndFlags &= ~CellFlags.hasSideRecord.rawValue
    sideRecord.target?.detach(self)
    sideRecord.end()
  }

  // MARK: Ticks and generations

  /// Counts a tick that does not finish the timer. The caller is writer.
  func countTick() {
    sequence &+= 1
    if sequence == 0, let sideRecord = makeSideRecord() { sideRecord.sequenceHigh &+= 1 }
  }

  /// The whole generation. The caller is writer.
  @inline(__always)
  func generation(_ word: TimerWord) -> UInt64 {
    sideRecord?.generation(word) ?? word.generation
  }

  /// A postponement moves the grid: what was missed on the old one before a suspend is not counted. The caller is the
  /// writer.
  func forgetMissed() { sideRecord?.writerFields.carriedMissed = 0 }
}

import Synchronization

/// A slot of the slab. Copies cost nothing. A slot is never unmapped, so no method can touch foreign memory, whatever
/// became of the timer. The changes of its word stand in `TimerSlot+Word.swift`; its cell is stored by a `Writing`.
@safe struct TimerSlot: @unchecked Sendable {
  // SAFETY: points into a chunk of the slab, which is never unmapped; all shared fields are atomics.
  let pointer: UnsafeMutablePointer<TimerCell>
  let index: SlotIndex

  init(_ pointer: UnsafeMutablePointer<TimerCell>, index: SlotIndex) {
    unsafe self.pointer = pointer
    self.index = index
  }

  var cell: TimerCell {
    unsafeAddress { unsafe UnsafePointer(pointer) }
    nonmutating unsafeMutableAddress { unsafe pointer }
  }

  /// Of no slot: a cell at an address that nothing reads.
  static var none: TimerSlot {
    unsafe TimerSlot(
      UnsafeMutablePointer(bitPattern: MemoryLayout<TimerCell>.alignment).unsafelyUnwrapped, index: .unused)
  }

  // MARK: Hints, proved by a swap of the word

  var deadline: Int64 { cell.deadline.load(ordering: .relaxed) }

  /// When the timer is due, if it is running with that word.
  func dueTime(_ word: TimerWord) -> Int64 { word.dueTime(deadline) }

  var version: UInt32 { versionAndFlags & Handle.versionMask }

  var flags: CellFlags { CellFlags(rawValue: versionAndFlags & ~Handle.versionMask) }

  var versionAndFlags: UInt32 { cell.versionAndFlags.load(ordering: .relaxed) }

  var leeway: CompactDuration { CompactDuration(bits: cell.leeway.load(ordering: .relaxed)) }

  var activationSequence: UInt32 { cell.activationSequence.load(ordering: .relaxed) }

  var period: Int64 { cell.period.load(ordering: .relaxed) }

  var sequence: UInt32 { cell.sequence.load(ordering: .relaxed) }

  /// Whether this id names the timer in the slot's present version, with none of these flags: one comparison instead of
  /// splitting the id. For an id whose index is the slot's.
  func isNamed(by id: UInt64, without flags: CellFlags) -> Bool {
    // The flags lie where an id has its kind, so they are looked at apart. The highest makes a negative number, which no
    // id is when shifted.
    let versionAndFlags = versionAndFlags, highest = flags.rawValue & CellFlags.hasSideRecord.rawValue
    let version = UInt64(
      bitPattern: Int64(Int32(bitPattern: versionAndFlags & (Handle.versionMask | highest))))
    guard versionAndFlags & (flags.rawValue & ~highest) == 0 else { return false }
    return id >> Handle.indexBits == version | Handle.Kind.timer.rawValue << Handle.versionBits
  }

  var hasSideRecord: Bool { versionAndFlags & CellFlags.hasSideRecord.rawValue != 0 }

  // MARK: The writer's

  var handler: TickFunction? { cell.handler }

  var context: Context { cell.context }

  /// The context, if it is a reference to an object: whoever has freed the slot releases that, after the slot was given
  /// back. So Swift's timers need no finalizer, and no side record for one. The release runs code of the host's, which may
  /// wait for the queue to end.
  var ownedContext: Context? { flags.contains(.ownsContext) ? context : nil }

  /// The side record, if there is one.
  var sideRecord: SideRecordView? { hasSideRecord ? sideRecordMemory : nil }

  var sideRecordMemory: SideRecordView? {
    unsafe cell.sideRecord.load(ordering: .relaxed).map { unsafe SideRecordView($0) }
  }

  /// Whether `QueueCore.run` does not wait for the timer's end.
  var isBackground: Bool { sideRecord?.isBackground ?? false }

  /// The version of the slot that was given a turn for a pending callback. The pass's own; there once a timer in the
  /// slot has had a side record.
  var turnVersion: UInt32 {
    get { sideRecordMemory?.record.turnVersion.load(ordering: .relaxed) ?? version }
    nonmutating set { sideRecordMemory?.record.turnVersion.store(newValue, ordering: .relaxed) }
  }

  // MARK: Ticks and generations

  /// The whole generation of a timer with that word.
  @inline(__always)
  func generation(_ word: TimerWord) -> UInt64 {
    sideRecord?.generation(word) ?? word.generation
  }
}

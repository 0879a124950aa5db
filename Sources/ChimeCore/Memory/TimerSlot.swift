import Synchronization

/// A place in the slab, and the only way to its record. Copies are free; a slot is never unmapped, so no method of it
/// can touch foreign memory, whatever became of the timer.
@safe struct TimerSlot: @unchecked Sendable {
  // SAFETY: points into a chunk of the slab, which is never unmapped; all shared fields are atomics.
  private let record: UnsafeMutablePointer<TimerRecord>
  let index: UInt32

  @inline(__always)
  init(record: UnsafeMutablePointer<TimerRecord>, index: UInt32) {
    unsafe self.record = record
    self.index = index
  }

  // MARK: The word

  @inline(__always)
  var word: TimerWord { unsafe TimerWord(record.pointee.word.load(ordering: .acquiring)) }

  /// The word, read in the one order of all sequentially consistent operations: after this thread's push, or the place
  /// it has stored (see `QueueCell.published`, `WheelPlace`; P2, P5, P6, P8, Sources/README.md).
  @inline(__always)
  var wordInOrder: TimerWord { unsafe TimerWord(record.pointee.word.load(ordering: .sequentiallyConsistent)) }

  /// Swaps the word if it is still `expected`. Sequentially consistent, because the swapping thread reads its
  /// queue's `published`, the place, `watched` or the id afterwards (P1, P2, P5, P8, Sources/README.md).
  @inline(__always)
  func swap(_ expected: TimerWord, for new: TimerWord) -> Bool {
    unsafe record.pointee.word.compareExchange(
      expected: expected.bits, desired: new.bits, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// Sets one flag; false when it was set.
  func set(_ flag: UInt64) -> Bool {
    unsafe record.pointee.word.bitwiseOr(flag, ordering: .sequentiallyConsistent).oldValue & flag == 0
  }

  /// Sets two flags; the word as it was before.
  @inline(__always)
  func set(_ flag: UInt64, _ other: UInt64) -> TimerWord {
    unsafe TimerWord(record.pointee.word.bitwiseOr(flag | other, ordering: .sequentiallyConsistent).oldValue)
  }

  /// Clears one flag; the word as it is afterwards.
  @inline(__always)
  func clear(_ flag: UInt64) -> TimerWord {
    unsafe TimerWord(record.pointee.word.bitwiseAnd(~flag, ordering: .sequentiallyConsistent).newValue)
  }

  /// Clears two flags; the word as it was before.
  func clear(_ flag: UInt64, _ other: UInt64) -> TimerWord {
    unsafe TimerWord(record.pointee.word.bitwiseAnd(~(flag | other), ordering: .sequentiallyConsistent).oldValue)
  }

  // MARK: Hints, proved by a swap of the word

  @inline(__always)
  var deadline: Int64 {
    get { unsafe record.pointee.deadline.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.deadline.store(newValue, ordering: .releasing) }
  }

  @inline(__always)
  var life: UInt32 { lifeAndFlags & Handle.lifeMask }

  @inline(__always)
  var flags: RecordFlags { RecordFlags(rawValue: lifeAndFlags & ~Handle.lifeMask) }

  @inline(__always)
  var lifeAndFlags: UInt32 {
    get { unsafe record.pointee.lifeAndFlags.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.lifeAndFlags.store(newValue, ordering: .releasing) }
  }

  @inline(__always)
  var leeway: CompactDuration {
    get { unsafe CompactDuration(bits: record.pointee.leeway.load(ordering: .relaxed)) }
    nonmutating set { unsafe record.pointee.leeway.store(newValue.bits, ordering: .releasing) }
  }

  @inline(__always)
  var stamp: UInt32 {
    get { unsafe record.pointee.stamp.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.stamp.store(newValue, ordering: .relaxed) }
  }

  @inline(__always)
  var period: Int64 {
    get { unsafe record.pointee.period.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.period.store(newValue, ordering: .releasing) }
  }

  @inline(__always)
  var sequence: UInt32 {
    get { unsafe record.pointee.sequence.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.sequence.store(newValue, ordering: .releasing) }
  }

  @inline(__always)
  var hasExtras: Bool { lifeAndFlags & RecordFlags.hasExtras.rawValue != 0 }

  // MARK: The writer's

  @inline(__always)
  var handler: TickFunction? {
    get { unsafe record.pointee.handler }
    nonmutating set { unsafe record.pointee.handler = newValue }
  }

  @inline(__always)
  var context: Context {
    get { unsafe record.pointee.context }
    nonmutating set { unsafe record.pointee.context = newValue }
  }

  /// The extras, if there are any.
  @inline(__always)
  var extras: ExtrasRef? { hasExtras ? extrasMemory : nil }

  private var extrasMemory: ExtrasRef? {
    unsafe record.pointee.extras.load(ordering: .relaxed).map { unsafe ExtrasRef($0) }
  }

  /// The life of the slot that was given a turn for an extra callback. The pass's own; there once a timer in the slot has
  /// had extras.
  var turnLife: UInt32 {
    get { unsafe extrasMemory?.pointer.pointee.turnLife.load(ordering: .relaxed) ?? 0 }
    nonmutating set { unsafe extrasMemory?.pointer.pointee.turnLife.store(newValue, ordering: .relaxed) }
  }

  /// The extras, made if need be; `nil` when there is no memory.
  func makeExtras() -> ExtrasRef? {
    if let extras { return extras }
    if let memory = extrasMemory {
      memory.reset()
    } else {
      guard let made = ExtrasRef.allocate() else { return nil }
      unsafe record.pointee.extras.store(made.pointer, ordering: .releasing)
    }
    lifeAndFlags |= RecordFlags.hasExtras.rawValue
    return extrasMemory
  }

  /// Ends the extras; the caller owns the slot.
  @inline(__always)
  func endExtras() {
    guard let extras else { return }
    lifeAndFlags &= ~RecordFlags.hasExtras.rawValue
    extras.target?.detach(Handle.id(.timer, index: index, life: life))
    extras.end()
  }
}

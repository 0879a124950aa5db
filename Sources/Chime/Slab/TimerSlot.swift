import Glibc
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
  /// it has stored (see `QueueCell.published`, `WheelPlace`).
  @inline(__always)
  var wordInOrder: TimerWord { unsafe TimerWord(record.pointee.word.load(ordering: .sequentiallyConsistent)) }

  /// Swaps the word if it is still `expected`. Sequentially consistent, because the announcing thread reads its
  /// queue's `published` afterwards (see `QueueCell.published`).
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

  /// Clears one flag; the word as it is afterwards.
  @inline(__always)
  func clear(_ flag: UInt64) -> TimerWord {
    unsafe TimerWord(record.pointee.word.bitwiseAnd(~flag, ordering: .sequentiallyConsistent).newValue)
  }

  // MARK: Hints, proved by a swap of the word

  @inline(__always)
  var deadline: Int64 {
    get { unsafe record.pointee.deadline.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.deadline.store(newValue, ordering: .relaxed) }
  }

  @inline(__always)
  var life: UInt32 { lifeAndFlags & Handle.lifeMask }

  @inline(__always)
  var flags: RecordFlags { RecordFlags(rawValue: lifeAndFlags & ~Handle.lifeMask) }

  @inline(__always)
  var lifeAndFlags: UInt32 {
    get { unsafe record.pointee.lifeAndFlags.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.lifeAndFlags.store(newValue, ordering: .relaxed) }
  }

  @inline(__always)
  var leeway: CompactDuration {
    get { unsafe CompactDuration(bits: record.pointee.leeway.load(ordering: .relaxed)) }
    nonmutating set { unsafe record.pointee.leeway.store(newValue.bits, ordering: .relaxed) }
  }

  @inline(__always)
  var stamp: UInt32 {
    get { unsafe record.pointee.stamp.load(ordering: .relaxed) }
    nonmutating set { unsafe record.pointee.stamp.store(newValue, ordering: .relaxed) }
  }

  @inline(__always)
  var hasExtras: Bool { unsafe record.pointee.extras.load(ordering: .relaxed) != nil }

  // MARK: The writer's

  @inline(__always)
  var period: Int64 {
    get { unsafe record.pointee.period }
    nonmutating set { unsafe record.pointee.period = newValue }
  }

  @inline(__always)
  var sequence: UInt32 {
    get { unsafe record.pointee.sequence }
    nonmutating set { unsafe record.pointee.sequence = newValue }
  }

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
  var extras: ExtrasRef? {
    unsafe record.pointee.extras.load(ordering: .relaxed).map { unsafe ExtrasRef($0) }
  }

  /// The extras, allocated if need be; `nil` when there is no memory.
  func makeExtras() -> ExtrasRef? {
    if let extras { return extras }
    guard let made = ExtrasRef.allocate() else { return nil }
    unsafe record.pointee.extras.store(made.pointer, ordering: .relaxed)
    return made
  }

  /// Frees the extras; the caller owns the slot.
  @inline(__always)
  func freeExtras() {
    guard let extras else { return }
    unsafe record.pointee.extras.store(nil, ordering: .relaxed)
    extras.target?.detach(Handle.id(.timer, index: index, life: life))
    extras.deallocate()
  }
}

/// A timer's extras; belongs to whoever is the timer's writer.
@safe struct ExtrasRef {
  // SAFETY: allocated by `allocate`, freed by the owner of the slot that holds it, after it took it out of the slot.
  let pointer: UnsafeMutablePointer<TimerExtras>

  init(_ pointer: UnsafeMutablePointer<TimerExtras>) { unsafe self.pointer = pointer }

  static func allocate() -> ExtrasRef? {
    guard let memory = unsafe malloc(MemoryLayout<TimerExtras>.size) else { return nil }
    let typed = unsafe memory.bindMemory(to: TimerExtras.self, capacity: 1)
    unsafe typed.initialize(to: TimerExtras())
    return unsafe ExtrasRef(typed)
  }

  func deallocate() {
    unsafe pointer.pointee.target?.release()
    unsafe pointer.pointee.named?.release()
    unsafe free(pointer.pointee.label)
    unsafe free(pointer)
  }

  /// Runs `body` on the extras.
  @inline(__always)
  func update<Result>(_ body: (inout TimerExtras) -> Result) -> Result { unsafe body(&pointer.pointee) }

  @inline(__always)
  var value: TimerExtras { unsafe pointer.pointee }

  @inline(__always)
  var target: TimerTarget? { unsafe pointer.pointee.target?.takeUnretainedValue() }

  /// Whether something is to be called when the timer is released.
  var hasLastWork: Bool { unsafe value.finalizer != nil || value.pendingCallbacks > 0 || value.named != nil }

  @inline(__always)
  var named: NamedHandlers? { unsafe pointer.pointee.named?.takeUnretainedValue() }
}

internal import CPlatform
import Synchronization

/// A timer's side record, as any thread may read it (see `TimerCell`).
@safe struct SideRecordView {
  // SAFETY: allocated by `SideRecordRef.init(allocatedFor:fromReserve:)`, and never freed: the memory stays with its slot.
  let pointer: UnsafeMutablePointer<TimerSideRecord>

  /// The wall deadline of a timer whose deadline does not follow the wall clock.
  static var followsNoWall: Int64 { .min }

  @inline(__always)
  init(_ pointer: UnsafeMutablePointer<TimerSideRecord>) { unsafe self.pointer = pointer }

  var tickLimit: UInt64 { unsafe pointer.pointee.tickLimit.load(ordering: .relaxed) }
  var isBackground: Bool { unsafe pointer.pointee.isBackground.load(ordering: .relaxed) }
  var hasFirst: Bool { unsafe pointer.pointee.hasFirst.load(ordering: .relaxed) }
  var first: Int64 { unsafe pointer.pointee.first.load(ordering: .relaxed) }
  var jitter: Int64 { unsafe pointer.pointee.jitter.load(ordering: .relaxed) }
  var dueCount: UInt64 { unsafe pointer.pointee.dueCount.load(ordering: .relaxed) }
  var missed: UInt64 { unsafe pointer.pointee.missed.load(ordering: .relaxed) }
  var sequenceHigh: UInt32 { unsafe pointer.pointee.sequenceHigh.load(ordering: .relaxed) }
  var generationHigh: UInt32 { unsafe pointer.pointee.generationHigh.load(ordering: .relaxed) }
  var wallDeadline: Int64 { unsafe pointer.pointee.wallDeadline.load(ordering: .relaxed) }
  var targetID: UInt64 { unsafe pointer.pointee.targetID.load(ordering: .relaxed) }

  /// Read only inside `Labels.read`, except by the writer.
  var label: UnsafeMutablePointer<CChar>? { unsafe pointer.pointee.label.load(ordering: .acquiring) }

  /// The whole generation of a timer with that word. `generationHigh` counts halves of the word's range, and its last bit
  /// is the word's highest one: unless a writer has raised it and not yet swapped the word.
  func generation(_ word: TimerWord) -> UInt64 {
    let halves = generationHigh
    let settled = halves & 1 == word.generationHalf ? halves : halves &- 1
    return UInt64(settled >> 1) << TimerWord.generationBits | word.generation
  }

  /// The target's reference, for a callback that holds the target: it was there before the callback began, and stays until
  /// that ends.
  @unsafe var targetOfCallback: Unmanaged<TimerTarget>? { unsafe writerFields.pointee.target }

  /// Behind the atomics and not one of their members: a change of a member is one of the whole to Swift, and so to the
  /// thread sanitizer, beside others who read the atomics.
  static var writerFieldsOffset: Int { unsafe (MemoryLayout<TimerSideRecord>.size + 15) & ~15 }

  @inline(__always)
  var writerFields: UnsafeMutablePointer<TimerSideRecord.WriterFields> {
    // SAFETY: the allocation has put it there.
    unsafe (UnsafeMutableRawPointer(pointer) + SideRecordView.writerFieldsOffset)
      .assumingMemoryBound(to: TimerSideRecord.WriterFields.self)
  }
}

/// The labels of timers. A label is not freed while it is being read, and a reader holds others up only as long as it
/// takes to copy one: the lock has priority inheritance.
enum Labels: ProcessState {
  private static let lock = Locked(())

  static func makeGlobals() { lock.withLock { _ in } }
  static func reinitialize() { lock.reinitialize() }

  /// A copy of a label; `nil` when there is no memory.
  static func copy(_ text: UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
    let count = unsafe strlen(text)
    guard let memory = unsafe malloc(count + 1) else { return nil }
    return unsafe Text.copy(text, count, to: memory)
  }

  static func free(_ label: UnsafeMutablePointer<CChar>) { lock.withLock { _ in unsafe CPlatform.free(label) } }

  /// Runs `body`, in which no label is freed.
  static func read<Result>(_ body: () -> Result) -> Result { lock.withLock { _ in body() } }
}

/// Memory of side records whose slots' pages were given back, for the next timers that need one, on whichever queue. It is
/// never freed: a query may still read what it was. Any thread.
enum SideRecords: ProcessState {
  @safe private struct List {
    // SAFETY: records that belong to no slot; each has the address of the next as its target's id.
    var first: UnsafeMutablePointer<TimerSideRecord>?
  }

  private static let list = Locked(List())
  /// A hint, so that a timer takes no lock for an empty list.
  private static let areThere = Atomic<Bool>(false)

  static func makeGlobals() { list.withLock { _ in } }

  static func reinitialize() {
    list.reinitialize(List())
    areThere.store(false, ordering: .relaxed)
  }

  static func leave(_ record: SideRecordView) {
    list.withLock { list in
      let next = unsafe UInt64(UInt(bitPattern: list.first))
      unsafe record.pointer.pointee.targetID.store(next, ordering: .releasing)
      unsafe list.first = record.pointer
      areThere.store(true, ordering: .relaxed)
    }
  }

  static func take() -> SideRecordView? {
    if !areThere.load(ordering: .relaxed) { return nil }
    return list.withLock { list in
      guard let first = unsafe list.first else { return nil }
      let record = unsafe SideRecordView(first)
      unsafe list.first = UnsafeMutablePointer(bitPattern: UInt(record.targetID))
      if unsafe list.first == nil { areThere.store(false, ordering: .relaxed) }
      return record
    }
  }
}

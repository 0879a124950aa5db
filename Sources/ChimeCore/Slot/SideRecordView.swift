internal import CPlatform
import Synchronization

/// A timer's side record, as any thread may read it (see `TimerCell`).
@safe struct SideRecordView {
  // SAFETY: allocated by `SideRecordRef.init(allocatedFor:fromReserve:)`, and never freed: the memory stays with its slot.
  let pointer: UnsafeMutablePointer<TimerSideRecord>

  var record: TimerSideRecord { unsafeAddress { unsafe UnsafePointer(pointer) } }

  /// The wall deadline of a timer whose deadline does not follow the wall clock.
  static var followsNoWall: Int64 { .min }

  init(_ pointer: UnsafeMutablePointer<TimerSideRecord>) { unsafe self.pointer = pointer }

  var tickLimit: UInt64 { record.tickLimit.load(ordering: .relaxed) }
  var isBackground: Bool { record.isBackground.load(ordering: .relaxed) }
  var hasFirst: Bool { record.hasFirst.load(ordering: .relaxed) }
  var first: Int64 { record.first.load(ordering: .relaxed) }
  var jitter: Int64 { record.jitter.load(ordering: .relaxed) }
  var dueCount: UInt64 { record.dueCount.load(ordering: .relaxed) }
  var missed: UInt64 { record.missed.load(ordering: .relaxed) }
  var sequenceHigh: UInt32 { record.sequenceHigh.load(ordering: .relaxed) }
  var generationHigh: UInt32 { record.generationHigh.load(ordering: .relaxed) }
  var wallDeadline: Int64 { record.wallDeadline.load(ordering: .relaxed) }
  var targetID: UInt64 { record.targetID.load(ordering: .relaxed) }

  /// For the writer, and for a callback under way.
  var named: Unmanaged<NamedHandlers>? { unsafe record.named.load(ordering: .acquiring) }

  /// Read only inside `Labels.read`, except by the writer.
  var label: UnsafeMutablePointer<CChar>? { unsafe record.label.load(ordering: .acquiring) }

  /// The whole generation of a timer with that word. `generationHigh` counts halves of the word's range, and its last bit
  /// is the word's highest one: unless a writer has raised it and not yet swapped the word.
  func generation(_ word: TimerWord) -> UInt64 {
    let halves = generationHigh
    let settled = halves & 1 == word.generationHalf ? halves : halves &- 1
    return UInt64(settled >> 1) << TimerWord.generationBits | word.generation
  }

  /// Leaves the rest of a callback's end to the writer.
  func leave(callbackEnd time: Int64) {
    record.callbackEnd.store(time, ordering: .releasing)
  }

  /// The target's reference, for a callback that holds the target: it was there before the callback began, and stays until
  /// that ends.
  @unsafe var targetOfCallback: Unmanaged<TimerTarget>? { unsafe writerFieldsPointer.pointee.target }

  /// Behind the atomics and not one of their members: a change of a member is one of the whole to Swift, and so to the
  /// thread sanitizer, beside others who read the atomics.
  static var writerFieldsOffset: Int { (MemoryLayout<TimerSideRecord>.size + 15) & ~15 }

  var writerFieldsPointer: UnsafeMutablePointer<TimerSideRecord.WriterFields> {
    // SAFETY: the allocation has put it there.
    unsafe (UnsafeMutableRawPointer(pointer) + SideRecordView.writerFieldsOffset)
      .assumingMemoryBound(to: TimerSideRecord.WriterFields.self)
  }
}

/// The labels of timers. A label is not freed while one may be read; neither waits for the other. Whoever ends a label while
/// somebody reads leaves it to the last reader (P3d).
enum Labels: ProcessState {
  /// How many read.
  private static let readers = Atomic<Int>(0)
  /// Labels that have ended, each linked to the one before.
  // SAFETY: of memory that nobody has but who takes it from there.
  nonisolated(unsafe) static let ended = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

  static func makeGlobals() {
    _ = readers.load(ordering: .relaxed)
    _ = unsafe ended.load(ordering: .relaxed)
  }

  static func reinitialize() {
    readers.store(0, ordering: .relaxed)
    unsafe ended.store(nil, ordering: .relaxed)
  }

  /// Before the text: the link.
  private static var linkBytes: Int { unsafe MemoryLayout<UnsafeMutableRawPointer?>.stride }

  /// A copy of a label; `nil` when there is no memory.
  static func copy(_ text: UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
    let count = unsafe strlen(text)
    guard let memory = unsafe malloc(linkBytes + count + 1) else { return nil }
    return unsafe Text.copy(text, count, to: memory + linkBytes)
  }

  /// Ends a label, which no timer has any more.
  static func free(_ label: UnsafeMutablePointer<CChar>) {
    let block = unsafe UnsafeMutableRawPointer(label) - linkBytes
    // Who reads has counted itself before it looked for a label; sequentially consistent: store buffering.
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    if readers.load(ordering: .acquiring) == 0 { return unsafe CPlatform.free(block) }
    unsafe leave(block, block)
    freeEnded()
  }

  /// Runs `body`, in which no label that it finds is freed.
  static func read<Result>(_ body: () -> Result) -> Result {
    readers.wrappingAdd(1, ordering: .relaxed)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    defer {
      readers.wrappingAdd(-1, ordering: .sequentiallyConsistent)
      freeEnded()
    }
    return body()
  }

  /// Frees what has ended, if nobody reads: whoever finds a label now finds one that had not ended.
  private static func freeEnded() {
    while readers.load(ordering: .sequentiallyConsistent) == 0 {
      guard let first = unsafe ended.exchange(nil, ordering: .sequentiallyConsistent) else { return }
      if readers.load(ordering: .sequentiallyConsistent) != 0 {
        unsafe leave(first, last(of: first))
        continue
      }
      var next: UnsafeMutableRawPointer? = unsafe first
      while let block = unsafe next {
        unsafe next = block.load(as: UnsafeMutableRawPointer?.self)
        unsafe CPlatform.free(block)
      }
    }
  }

  private static func leave(_ first: UnsafeMutableRawPointer, _ last: UnsafeMutableRawPointer) {
    var head = unsafe ended.load(ordering: .relaxed)
    while true {
      unsafe last.storeBytes(of: head, as: UnsafeMutableRawPointer?.self)
      let (isDone, found) = unsafe ended.compareExchange(
        expected: head, desired: first, ordering: .sequentiallyConsistent)
      if isDone { return }
      unsafe head = found
    }
  }

  private static func last(of first: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    var last = unsafe first
    while let next = unsafe last.load(as: UnsafeMutableRawPointer?.self) { unsafe last = next }
    return unsafe last
  }
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
      record.record.targetID.store(next, ordering: .releasing)
      unsafe list.first = record.pointer
      areThere.store(true, ordering: .relaxed)
    }
  }

  /// `nil` also while another thread has the list: a new one serves as well.
  static func take() -> SideRecordView? {
    if !areThere.load(ordering: .relaxed) { return nil }
    let record = list.withLockIfFree { list -> SideRecordView? in
      guard let first = unsafe list.first else { return nil }
      let record = unsafe SideRecordView(first)
      unsafe list.first = UnsafeMutablePointer(bitPattern: UInt(record.targetID))
      if unsafe list.first == nil { areThere.store(false, ordering: .relaxed) }
      return record
    }
    return record ?? nil
  }
}

import Synchronization

/// Room for all that the passes of a queue can have to write down: so much for each slot of the queue, taken when the
/// slots are, so that a pass needs no memory (promise 19). Pages of it that are not used cost nothing.
///
/// Whoever takes slots leaves it in the control block; the pass that first meets such a slot takes it from there,
/// copies what it has in the old one, and gives that back to the system. A queue's end leaves it to the next queue.
@safe struct PassScratch: @unchecked Sendable {
  // SAFETY: mapped for `slots` times `bytes`; used by whoever holds the queue's pass lock, the deliveries behind their
  // lock.
  private let base: UnsafeMutableRawPointer
  let slots: Int

  /// A batch has at most two turns of a slot: for a pending callback, and for what is due.
  private static let itemBytes = 2 * MemoryLayout<BatchItem>.stride
  private static let indexBytes = MemoryLayout<SlotIndex>.stride
  private static let indexLists = 5
  private static let bytes = 2 * itemBytes + indexLists * indexBytes

  init?(slots: Int) {
    guard let memory = unsafe Memory.map(slots * PassScratch.bytes) else { return nil }
    unsafe base = memory
    self.slots = slots
    if UInt(bitPattern: memory) >> 48 != 0 { invariantFailure("an address of more than 48 bits", Int64(slots)) }
  }

  /// Where it is and how large, in one word: pages begin at multiples of 4096, and the slots are those of whole chunks. 0 is
  /// none.
  var bits: UInt64 {
    unsafe UInt64(UInt(bitPattern: base)) >> 12 | UInt64(slots / SlotChunk.slotCount) << 36
  }

  init?(bits: UInt64) {
    guard let memory = unsafe UnsafeMutableRawPointer(bitPattern: UInt((bits << 28) >> 16)) else { return nil }
    unsafe base = memory
    slots = PassScratch.slots(bits: bits)
  }

  static func slots(bits: UInt64) -> Int { Int(bits >> 36) * SlotChunk.slotCount }

  func unmap() { unsafe Memory.unmap(base, slots * PassScratch.bytes) }

  /// How much of it is for the slots of a chunk.
  static var bytesPerChunk: Int { SlotChunk.slotCount * bytes }

  /// Lets the system have the pages, whose contents go.
  func discard() { unsafe Memory.discard(base, slots * PassScratch.bytes) }

  var ready: PassList<BatchItem> { unsafe PassList(base, capacity: 2 * slots) }
  var sorting: PassList<BatchItem> { unsafe PassList(base + slots * PassScratch.itemBytes, capacity: 2 * slots) }
  var pendingCallbacks: PassList<SlotIndex> { list(0) }
  var due: PassList<SlotIndex> { list(1) }
  var aside: PassList<SlotIndex> { list(2) }
  var released: PassList<SlotIndex> { list(3) }
  /// What a concurrent queue has handed over; or what a queue that gives records has outstanding.
  var deliveries: PassList<SlotIndex> { list(4) }
  var outstanding: PassList<TaggedSlot> { list(4) }

  private func list<Index>(_ number: Int) -> PassList<Index> {
    unsafe PassList(base + slots * (2 * PassScratch.itemBytes + number * PassScratch.indexBytes), capacity: slots)
  }
}

/// A list in a `PassScratch`: it never grows beyond its capacity, since a slot has at most so many places in it. What lies
/// behind its end is memory that may be used, too.
@safe struct PassList<Element: BitwiseCopyable> {
  // SAFETY: `capacity` elements, of which the first `count` have been written.
  private(set) var base: UnsafeMutablePointer<Element>?
  private(set) var capacity = 0
  private(set) var count = 0

  /// Of a queue that has no slots yet.
  init() { unsafe base = nil }

  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    unsafe base = memory.bindMemory(to: Element.self, capacity: capacity)
    self.capacity = capacity
  }

  var isEmpty: Bool { count == 0 }
  var indices: Range<Int> { 0..<count }
  var last: Element? { count == 0 ? nil : self[count - 1] }

  subscript(i: Int) -> Element {
    // SAFETY: the callers go by `indices` and `capacity`, which the checked build makes sure of.
    get {
      checkIndex(i, below: capacity)
      return unsafe base.unsafelyUnwrapped[i]
    }
    nonmutating set {
      checkIndex(i, below: capacity)
      unsafe base.unsafelyUnwrapped[i] = newValue
    }
  }

  mutating func append(_ element: Element) {
    if count == capacity { invariantFailure("a slot more than there is room for", Int64(capacity)) }
    unsafe base.unsafelyUnwrapped[count] = element
    count &+= 1
  }

  mutating func popLast() -> Element? {
    if count == 0 { return nil }
    count -= 1
    return unsafe base.unsafelyUnwrapped[count]
  }

  /// Returns a large batch's pages to the system.
  mutating func removeAll() {
    discard(count)
    count = 0
  }

  func discard(_ count: Int) {
    if count > 4096 { unsafe Memory.discard(base, count * MemoryLayout<Element>.stride) }
  }

  /// Moves to a larger place.
  mutating func move(to other: PassList) {
    var other = other
    if count > other.capacity { invariantFailure("a smaller place", Int64(count), Int64(other.capacity)) }
    if count > 0 { unsafe other.base?.update(from: base.unsafelyUnwrapped, count: count) }
    other.count = count
    self = other
  }

  /// Has the other's memory, and the other this one's, with the elements written there.
  mutating func exchangeMemory(with other: inout PassList) {
    if invariantsAreChecked, capacity != other.capacity {
      invariantFailure("memory of another size", Int64(capacity), Int64(other.capacity))
    }
    unsafe swap(&base, &other.base)
  }
}

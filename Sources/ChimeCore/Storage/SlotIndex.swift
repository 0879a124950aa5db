import Synchronization

/// The index of a slot. Only the slab makes one, of a slot that exists; so whoever has one was given it by the slab, or by
/// a link or list that was filled with such.
struct SlotIndex: Equatable, BitwiseCopyable {
  let number: UInt32

  /// - Parameter number: of a slot that the slab has.
  @unsafe init(existing number: UInt32) { self.number = number }

  /// Slot 0's, which is never given out: for memory in which no index stands yet.
  static var unused: SlotIndex { unsafe SlotIndex(existing: 0) }

  /// The chunk that the slot is in.
  var chunk: SlotChunk { unsafe SlotChunk(existing: Int(number >> 8)) }
}

/// A chunk of the slab, by its number: 256 slots.
struct SlotChunk: BitwiseCopyable {
  static var slotCount: Int { 256 }

  let number: Int

  /// - Parameter number: of a chunk that the slab has.
  @unsafe init(existing number: Int) { self.number = number }

  var first: SlotIndex { unsafe SlotIndex(existing: UInt32(number * SlotChunk.slotCount)) }
  var slots: SlotRange { unsafe SlotRange(self, count: 1) }
}

/// An index and a number below 4, in 32 bits.
struct TaggedSlot: BitwiseCopyable {
  private let bits: UInt32

  init(_ slot: SlotIndex, _ tag: UInt32) { bits = slot.number << 2 | tag & 3 }

  // SAFETY: of the index that it was made of.
  var slot: SlotIndex { unsafe SlotIndex(existing: bits >> 2) }
  var tag: UInt32 { bits & 3 }
}

/// Slots with consecutive indices.
struct SlotRange: Sequence, IteratorProtocol, BitwiseCopyable {
  private var first: UInt32
  private var end: UInt32

  /// The slots of chunks, which follow one another and all exist.
  @unsafe init(_ chunk: SlotChunk, count: Int) {
    self.init(chunk.first.number, UInt32((chunk.number + count) * SlotChunk.slotCount))
  }

  private init(_ first: UInt32, _ end: UInt32) { (self.first, self.end) = (first, end) }

  static var none: SlotRange { SlotRange(0, 0) }
  var isEmpty: Bool { first == end }
  var count: UInt32 { end - first }

  /// Those before the first of `others`, if that is one of these.
  func without(_ others: SlotRange) -> SlotRange {
    !others.isEmpty && first <= others.first && others.first < end ? SlotRange(first, others.first) : self
  }

  func begins(with slot: SlotIndex) -> Bool { !isEmpty && first == slot.number }

  func begins(in chunk: SlotChunk) -> Bool { !isEmpty && Int(first) / SlotChunk.slotCount == chunk.number }

  /// Those that follow a chunk in which these begin.
  func behind(_ chunk: SlotChunk) -> SlotRange {
    SlotRange(Swift.min(end, UInt32((chunk.number + 1) * SlotChunk.slotCount)), end)
  }

  func containsAll(of chunk: SlotChunk) -> Bool {
    first <= chunk.first.number && Int(end) >= (chunk.number + 1) * SlotChunk.slotCount
  }

  mutating func next() -> SlotIndex? {
    if first == end { return nil }
    defer { first &+= 1 }
    // SAFETY: one of the chunks'.
    return unsafe SlotIndex(existing: first)
  }
}

/// A slot, or none, in a field of 32 bits: its index + 1, so that zeroes link to nothing.
struct SlotLink: Equatable, BitwiseCopyable {
  let bits: UInt32

  /// - Parameter bits: of a link.
  @unsafe init(bits: UInt32) { self.bits = bits }

  init(_ index: SlotIndex) { bits = index.number &+ 1 }

  static var none: SlotLink { unsafe SlotLink(bits: 0) }
  /// No slot either: the ends of a list in which `none` says that a slot is not in it; a watched timer that has ended.
  static var end: SlotLink { unsafe SlotLink(bits: .max) }

  var index: SlotIndex? { unsafe bits &- 1 < .max &- 1 ? existingIndex : nil }

  /// Of a link that is known to be to a slot.
  @unsafe var existingIndex: SlotIndex { unsafe SlotIndex(existing: bits &- 1) }
}

extension SlotIndex: AtomicRepresentable {
  typealias AtomicRepresentation = UInt32.AtomicRepresentation

  static func encodeAtomicRepresentation(_ index: consuming SlotIndex) -> AtomicRepresentation {
    UInt32.encodeAtomicRepresentation(index.number)
  }

  static func decodeAtomicRepresentation(_ stored: consuming AtomicRepresentation) -> SlotIndex {
    unsafe SlotIndex(existing: UInt32.decodeAtomicRepresentation(stored))
  }
}

extension SlotLink: AtomicRepresentable {
  typealias AtomicRepresentation = UInt32.AtomicRepresentation

  static func encodeAtomicRepresentation(_ link: consuming SlotLink) -> AtomicRepresentation {
    UInt32.encodeAtomicRepresentation(link.bits)
  }

  static func decodeAtomicRepresentation(_ stored: consuming AtomicRepresentation) -> SlotLink {
    unsafe SlotLink(bits: UInt32.decodeAtomicRepresentation(stored))
  }
}

extension SlotRange: AtomicRepresentable {
  typealias AtomicRepresentation = UInt64.AtomicRepresentation

  static func encodeAtomicRepresentation(_ range: consuming SlotRange) -> AtomicRepresentation {
    UInt64.encodeAtomicRepresentation(UInt64(range.first) << 32 | UInt64(range.end))
  }

  static func decodeAtomicRepresentation(_ stored: consuming AtomicRepresentation) -> SlotRange {
    let bits = UInt64.decodeAtomicRepresentation(stored)
    return SlotRange(UInt32(truncatingIfNeeded: bits >> 32), UInt32(truncatingIfNeeded: bits))
  }
}

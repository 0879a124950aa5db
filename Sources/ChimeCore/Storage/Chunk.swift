import Synchronization

/// What a chunk of the slab knows of its slots as a whole. It is in the chunk's memory, where zero bytes are a new one; the
/// chunks of a control block are a chain of groups, each of which was mapped as one, so that visits need no lock (P14f).
@safe struct ChunkHead: ~Copyable {
  /// How many slots are not in the control block's list of free ones. Stored behind its lock, or before the chunk is
  /// appended.
  let out = Atomic<UInt32>(0)
  /// How many have used up their versions.
  let usedUp = Atomic<UInt32>(0)
  /// The chunk's number, if it has been given another than the one it began with; otherwise 0. Stored behind the lock.
  let number = Atomic<UInt32>(0)
  /// Behind the lock; see `QueueControlBlock.giveBack`.
  var pages = Pages.inUse
  /// In the first chunk of a group: how many there are, and the number that it began with. Constant.
  var groupCount: UInt32 = 0
  var groupNumber: UInt32 = 0
  /// In the first chunk of a group: the next group. Stored once.
  let nextGroup = unsafe Atomic<UnsafeMutablePointer<ChunkHead>?>(nil)

  func count(out difference: Int) {
    out.store(UInt32(Int(out.load(ordering: .relaxed)) + difference), ordering: .releasing)
  }

  /// Whether the pages behind the first were given back to the system.
  enum Pages: UInt32 {
    case inUse, leaving, left
  }
}

/// Goes through the chunks of a control block in the order in which they came; at their end, on with those that have come
/// since.
@safe struct ChunkCursor {
  // SAFETY: in chunks, which are never unmapped.
  private var group: UnsafeMutablePointer<ChunkHead>?
  private var number = 0

  init() { unsafe group = nil }

  mutating func next(of control: QueueControlBlock) -> Chunk? {
    while true {
      if let group = unsafe group, unsafe number < group.pointee.groupCount {
        defer { number += 1 }
        return unsafe Chunk(group, number)
      }
      let following = unsafe group?.pointee.nextGroup.load(ordering: .acquiring)
      guard let next = unsafe group == nil ? control.firstGroup : following else { return nil }
      unsafe (group, number) = (next, 0)
    }
  }
}

/// A chunk of a control block.
@safe struct Chunk {
  /// The address of its cells.
  let cells: UnsafeMutableRawPointer
  /// The number that it began with.
  let initialNumber: SlotChunk

  /// One of a group: they follow one another.
  @unsafe init(_ group: UnsafeMutablePointer<ChunkHead>, _ number: Int) {
    unsafe cells = UnsafeMutableRawPointer(group) + (number * Slab.chunkStride + Slab.cellsOffset - Slab.headOffset)
    initialNumber = unsafe SlotChunk(existing: Int(group.pointee.groupNumber) + number)
  }

  var head: ChunkHead {
    unsafeAddress { unsafe UnsafePointer(Slab.head(at: cells)) }
    nonmutating unsafeMutableAddress { unsafe Slab.head(at: cells) }
  }

  /// The number that it has now.
  var number: SlotChunk {
    let other = Int(head.number.load(ordering: .acquiring))
    return other == 0 ? initialNumber : unsafe SlotChunk(existing: other)
  }

  var slots: SlotRange { number.slots }
}

extension SlotChunk {
  var head: ChunkHead { unsafeAddress { unsafe UnsafePointer(Slab.head(at: Slab.chunk(of: first))) } }

  /// How many slots are not in the list of free ones. Behind the lock of the control block.
  func count(out difference: Int) { head.count(out: difference) }
}

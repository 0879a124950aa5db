import Synchronization

/// What a chunk of the slab knows of its slots as a whole. It is in the chunk's memory, where zero bytes are a new one; the
/// chunks of a control block are a chain of groups, each of which was mapped as one, so that visits need no lock (P14f).
@unsafe struct ChunkHead: ~Copyable {
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

  /// Whether the pages behind the first were given back to the system.
  enum Pages: UInt32 {
    case inUse, leaving, left
  }
}

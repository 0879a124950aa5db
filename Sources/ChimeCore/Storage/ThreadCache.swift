@safe struct ThreadCacheStorage {
  /// In place, and without InlineArray, which macOS 26 was the first to have. The first member: see `ThreadCache.ring`.
  var ring: (Sixteen, Sixteen, Sixteen, Sixteen) = (zeros, zeros, zeros, zeros)
  var control: QueueControlBlock?
  /// How many slots were ever put in and taken out; the ring has room for 64.
  var pushed: UInt32 = 0
  var popped: UInt32 = 0

  typealias Four = (SlotIndex, SlotIndex, SlotIndex, SlotIndex)
  typealias Sixteen = (Four, Four, Four, Four)
  private static var four: Four { (.unused, .unused, .unused, .unused) }
  private static var zeros: Sixteen { (four, four, four, four) }
}

/// A thread's free slots of one control block: first in, first out, so that a slot's generation repeats as rarely as
/// possible (P14c, P14e).
@safe struct ThreadCache {
  static var capacity: Int { 64 }
  /// The last ones are kept: that many others come before a slot is used again (P14e).
  static var kept: Int { 28 }
  /// How many there are after an exchange with the control block's list: if there were too few, and if it was full.
  static var filled: Int { 60 }
  static var leftAfterOverflow: Int { 40 }
  /// See `claimCacheIfWorthIt`.
  static var missesBeforeClaim: Int { 9 }

  // SAFETY: points into the thread's own ThreadStorage; only that thread uses it.
  let pointer: UnsafeMutablePointer<ThreadCacheStorage>

  init(_ pointer: UnsafeMutablePointer<ThreadCacheStorage>) { unsafe self.pointer = pointer }

  var storage: ThreadCacheStorage {
    unsafeAddress { unsafe UnsafePointer(pointer) }
    nonmutating unsafeMutableAddress { unsafe pointer }
  }

  /// How often it was used, modulo 2^32.
  var uses: UInt32 { storage.pushed &+ storage.popped }

  /// Whether it has slots of another control block, in which a queue lives.
  func isOfAnotherQueue(than control: QueueControlBlock) -> Bool {
    guard let owner = storage.control, owner != control else { return false }
    return owner.id != 0
  }

  func isOf(_ control: QueueControlBlock) -> Bool {
    // As numbers: optional pointers are compared in two steps.
    unsafe unsafeBitCast(storage.control, to: UInt.self) == UInt(bitPattern: control.pointer)
  }

  var count: Int { Int(storage.pushed &- storage.popped) }

  private var ring: UnsafeMutablePointer<SlotIndex> {
    // SAFETY: homogeneous tuples are laid out as arrays of what they hold; the first member begins where the whole does.
    unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: SlotIndex.self)
  }

  /// The slot that has been here longest, if there are enough slots.
  func pop() -> SlotIndex? { hasEnough ? takeOldest() : nil }

  var hasEnough: Bool { count > ThreadCache.kept }

  /// The slot that has been here longest, if there is any.
  func takeOldest() -> SlotIndex? {
    let popped = storage.popped
    if popped == storage.pushed { return nil }
    storage.popped = popped &+ 1
    return unsafe ring[Int(popped & 63)]
  }

  /// Takes in as many as it has after an exchange with the list. What was put in before there were enough to take one out
  /// comes behind them.
  func fill(_ next: () -> SlotIndex?) {
    let recent = count < ThreadCache.kept ? count : 0
    while count < ThreadCache.filled, let index = next() { _ = push(index) }
    for _ in 0..<recent { if let index = takeOldest() { _ = push(index) } }
  }

  func push(_ index: SlotIndex) -> Bool {
    let pushed = storage.pushed
    if pushed &- storage.popped == UInt32(ThreadCache.capacity) { return false }
    unsafe ring[Int(pushed & 63)] = index
    storage.pushed = pushed &+ 1
    return true
  }
}

extension ThreadState {
  /// Control blocks share the four caches by index: the offset of the one for a control block, from the first.
  static func cacheOffset(ofControlBlock index: UInt32) -> UInt32 {
    UInt32(Int(index & 3) * MemoryLayout<ThreadCacheStorage>.stride)
  }

  private func cache(atOffset offset: Int) -> ThreadCache {
    // SAFETY: a homogeneous tuple of four caches is laid out as an array of them, and the offset is of one of them.
    unsafe ThreadCache((UnsafeMutableRawPointer(pointer) + offset).assumingMemoryBound(to: ThreadCacheStorage.self))
  }

  func cacheAt(_ i: Int) -> ThreadCache { cache(atOffset: (i & 3) * MemoryLayout<ThreadCacheStorage>.stride) }

  /// The cache that holds this control block's slots, if there is one.
  func cache(of control: QueueControlBlock) -> ThreadCache? {
    let cache = cache(atOffset: control.cacheOffset)
    return cache.isOf(control) ? cache : nil
  }

  /// Takes the control block's entry among the caches for it, giving back the slots of another control block.
  func claimCache(for control: QueueControlBlock) -> ThreadCache {
    let cache = cache(atOffset: control.cacheOffset)
    if !cache.isOf(control) {
      evict(cache)
      cache.storage.control = control
    }
    return cache
  }

  /// `claimCache`, except while the cache serves another queue: `nil` then, and the caller takes or puts back one slot. A
  /// thread that uses two queues in turn, whose control blocks share a cache, would empty and fill it in each call. So a
  /// control block claims it with the ninth miss in a row, between which the other queue has not used it.
  func claimCacheIfWorthIt(for control: QueueControlBlock) -> ThreadCache? {
    let cache = cache(atOffset: control.cacheOffset)
    if cache.isOfAnotherQueue(than: control) {
      let last = storage.missed
      let isInARow = last.control == control && last.uses == cache.uses
      storage.missed = (control, isInARow ? last.count + 1 : 1, cache.uses)
      if storage.missed.count < ThreadCache.missesBeforeClaim { return nil }
    }
    return claimCache(for: control)
  }

  func evict(_ cache: ThreadCache) {
    cache.storage.control?.emptyCache(cache)
    cache.storage.control = nil
  }
}

/// Giving out slots and taking them back, mostly from and to a thread's own cache.
extension QueueControlBlock {
  /// A free slot.
  @inline(__always)
  func takeSlot(_ thread: ThreadState) throws(Status) -> Writing {
    if let index = thread.cache(of: self)?.pop() { return Writing(free: Slab.slot(index)) }
    return Writing(free: try takeSlotSlow(thread))
  }

  /// Takes back a slot whose word is free already. The slot's next timer has the next version. The context is forgotten:
  /// to a leak detector what the slot still pointed to would not be lost.
  /// - Parameter thread: the calling thread's state, if there is memory for one.
  @inline(__always)
  func free(_ writing: consuming Writing, _ thread: ThreadState?, released: Bool = false) {
    writing.context = .none
    let version = writing.slot.version &+ 1
    writing.versionAndFlags = version & Handle.versionMask
    let slot = writing.forget()
    let usedUp = version >= Handle.versionMask
    if !usedUp, let cache = thread?.cache(of: self), cache.push(slot.index) { return }
    freeSlow(slot, thread, usedUp: usedUp, released: released)
  }

  /// A timer of a queue with a limit is about to be released, and its slot stays until its last callbacks have run. While
  /// it is being written, its queue does not end.
  @inline(never)
  func noteReleased(_: borrowing Writing) { changeGivenOut { $0.released &+= 1 } }

  /// `free` for the frequent case: a timer without side record and owned context, whose slot fits into the calling
  /// thread's cache; `nil` then. For any other nothing is done.
  /// - Parameter withContext: an owned context does not matter: the caller releases it.
  @inline(__always)
  func freeFast(_ writing: consuming Writing, withContext: Bool) -> Writing? {
    let slot = writing.slot
    let others: CellFlags = withContext ? .hasSideRecord : [.hasSideRecord, .ownsContext]
    // One of these flags makes it larger than any version.
    let version = slot.versionAndFlags & (Handle.versionMask | others.rawValue) &+ 1
    guard version < Handle.versionMask, let cache = ThreadState.existing?.cache(of: self), cache.push(slot.index) else {
      return writing
    }
    writing.context = .none
    writing.versionAndFlags = version
    writing.forget()
    return nil
  }
}

import Synchronization

/// The list of free slots that threads' caches draw on (`Writing+Slots.swift`). It is behind the control block's lock, and
/// is used once for many slots. A queue with a timer limit counts behind the lock, exactly.
extension QueueControlBlock {
  /// Takes a free slot out of the list, and more for the thread's cache.
  func takeSlotSlow(_ thread: ThreadState) throws(Status) -> TimerSlot {
    // Another control block's slots leave the cache before this one's lock is taken: two control blocks are never
    // locked at once.
    let cache = isLimited ? nil : thread.claimCacheIfWorthIt(for: self)
    return try unsafe storage.pointee.slots.withLock { store throws(Status) in
      if isLimited, store.live &- store.released >= store.limit {
        throw Status.limit.because("queue has as many timers as its timer_limit admits")
      }
      // Where there is no cache, the list keeps as many as one would.
      guard let index = take(&store, keeping: cache == nil && !isLimited ? ThreadCache.kept : 0) else {
        throw Memory.refusal
      }
      store.live &+= 1
      if let cache {
        while cache.count < ThreadCache.filled, let more = take(&store, keeping: 0) { _ = cache.push(more) }
      }
      showGivenOut(store)
      return Slab.slot(index)
    }
  }

  /// A free slot for a thread whose cache serves another queue, as `takeSlotSlow` would take one; `nil` where that has more
  /// to do.
  @inline(__always)
  func takeListed(_ thread: ThreadState) -> SlotIndex? {
    if isLimited || thread.claimCacheIfWorthIt(for: self) != nil { return nil }
    return unsafe storage.pointee.slots.withLock { store in
      guard store.free.count > ThreadCache.kept, let index = store.free.popFirst() else { return nil }
      store.count(out: 1, of: index.chunk)
      store.live &+= 1
      showGivenOut(store)
      return index
    }
  }

  /// Puts a free slot into the list, with others of a cache that is full.
  func freeSlow(_ slot: TimerSlot, _ thread: ThreadState?, usedUp: Bool, released: Bool) {
    let cache = isLimited || usedUp ? nil : thread?.claimCacheIfWorthIt(for: self)
    unsafe storage.pointee.slots.withLock { store in
      store.live &-= 1
      if released { store.released &-= 1 }
      if usedUp {
        store.countUsedUp(of: slot.index.chunk)
        if store.isUsedUp(slot.index.chunk) { store.usedUpChunks += 1 }
        return
      }
      put(slot.index, &store)
      if let cache {
        while cache.count > ThreadCache.halved, let index = cache.takeOldest() { put(index, &store) }
      }
    }
    // The last thing that a call does, or inside a pass, which does it itself.
    if isLimited, id == 0 { try? wakeToDispose() }
  }

  /// Empties a thread's cache into the list.
  func emptyCache(_ cache: ThreadCache) {
    unsafe storage.pointee.slots.withLock { store in
      while let index = cache.takeOldest() { put(index, &store) }
    }
  }

  /// Chunks that belong to the control block.
  var chunkCount: Int { unsafe storage.pointee.slots.withLock { $0.chunks.count } }

  /// Slots of a limited control block that are given out.
  var liveCount: UInt64 { unsafe storage.pointee.slots.withLock { $0.live } }

  /// Puts a slot at the end of the free list.
  private func put(_ index: SlotIndex, _ store: inout SlotStore) {
    store.count(out: -1, of: index.chunk)
    store.free.append(index)
  }

  /// - Parameter kept: as many free slots stay in the list, if others can be made.
  private func take(_ store: inout SlotStore, keeping kept: Int) -> SlotIndex? {
    let index: SlotIndex
    // Unused slots come first while too few others would come before a slot is used again.
    if store.free.count > (store.fresh.isEmpty ? kept : ThreadCache.kept), let free = store.free.popFirst() {
      index = free
      // The lists of what there is are objects of the language's.
    } else if !store.fresh.isEmpty || Memory.promises({ addFresh(&store) }), let fresh = store.fresh.next() {
      index = fresh
      if store.freshHaveLeft { Slab.haveBackCell(of: fresh) }
    } else if let free = store.free.popFirst() {
      index = free
    } else {
      return nil
    }
    store.count(out: 1, of: index.chunk)
    return index
  }

  /// Makes slots that can be given out; false if there is no memory.
  @inline(never)
  private func addFresh(_ store: inout SlotStore) -> Bool {
    takeLeftChunk(&store) || renumber(&store) || grow(&store)
  }

  /// Makes the slots of a chunk that was given back those that are given out next. False if there is no such chunk.
  func takeLeftChunk(_ store: inout SlotStore) -> Bool {
    while store.nextLeft < store.chunks.count {
      let chunk = store.chunks[store.nextLeft]
      store.nextLeft += 1
      let head = unsafe Slab.head(of: chunk)
      if unsafe head.pointee.pages != .left { continue }
      unsafe head.pointee.pages = .inUse
      store.fresh = Slab.usable(chunk.slots)
      store.freshHaveLeft = true
      return true
    }
    return false
  }

  /// By half, at first. A large queue grows by huge pages, which make its starts faster by a third to a half; where there
  /// is no room for those, as another.
  private func grow(_ store: inout SlotStore) -> Bool {
    let half = store.chunks.count / 2
    return half >= Slab.chunksInHugePages && grow(&store, by: Slab.chunksInHugePages)
      || grow(&store, by: min(max(half, 1), 64))
  }

  @inline(never)
  private func grow(_ store: inout SlotStore, by count: Int) -> Bool {
    guard store.chunks.reserve(for: count), store.prepareFirstRegion(),
      makeScratch(slots: (store.chunks.count + count) * Slab.slotsPerChunk),
      let fresh = unsafe Slab.addChunks(count, to: &store.chunks, owner: UnsafeMutableRawPointer(storage))
    else { return false }
    store.fresh = fresh
    store.freshHaveLeft = false
    unsafe append(Slab.beginGroup(store.chunks[store.chunks.count - count], count: count), to: &store)
    return true
  }

  /// Gives a chunk whose slots have all used up their versions a new number, and with it new versions, so that the slab
  /// does not grow for ever (promise 14). False if there is no such chunk, or something still refers to each.
  private func renumber(_ store: inout SlotStore) -> Bool {
    // A callback of a concurrent queue holds its slot by itself for a moment.
    if store.usedUpChunks == 0 || queue?.isHeldUp == true { return false }
    for (i, chunk) in store.chunks.enumerated() where store.isUsedUp(chunk) && Slab.areAtRest(chunk.slots) {
      guard let renumbered = unsafe Slab.renumber(chunk, &store, owner: UnsafeMutableRawPointer(storage)) else {
        return false
      }
      store.usedUpChunks -= 1
      store.chunks[i] = renumbered
      store.fresh = renumbered.slots
      store.freshHaveLeft = false
      return true
    }
    return false
  }

  // MARK: Wheel pages

  /// Pages that no wheel has: the control block's own, then those that came with its chunks.
  func takeWheelPages() -> WheelPageRegion? {
    unsafe storage.pointee.slots.withLock { store in
      if store.regionsTaken > store.chunks.count { return nil }
      defer { store.regionsTaken += 1 }
      return store.regionsTaken == 0 ? store.firstRegion : Slab.wheelPages(of: store.chunks[store.regionsTaken - 1])
    }
  }

  func freeWheelPages() { unsafe storage.pointee.slots.withLock { $0.regionsTaken = 0 } }
}

extension QueueControlBlock {
  /// Whether there is room that the pass has not taken.
  var hasScratch: Bool { unsafe storage.pointee.hasScratch.load(ordering: .relaxed) }

  /// Makes room for so many slots; false if it is refused.
  func makeScratch(slots: Int) -> Bool {
    guard let scratch = PassScratch(slots: slots) else { return false }
    leaveScratch(scratch)
    return true
  }

  func takeScratch() -> PassScratch? {
    unsafe storage.pointee.scratch.withLock { scratch in
      defer { scratch = nil }
      unsafe storage.pointee.hasScratch.store(false, ordering: .relaxed)
      return scratch
    }
  }

  /// Leaves room to the pass, or to the queue that comes next. The larger of two is kept.
  func leaveScratch(_ scratch: PassScratch) {
    var smaller: PassScratch? = scratch
    unsafe storage.pointee.scratch.withLock { kept in
      if let kept, kept.slots > scratch.slots { return }
      swap(&kept, &smaller)
      unsafe storage.pointee.hasScratch.store(true, ordering: .relaxed)
    }
    smaller?.unmap()
  }
}

/// Visits to the slots of a control block. They need no lock: a thread that is held up behind the one of the free slots
/// delays no query, and one that is held up in a query no start (P14f).
extension QueueControlBlock {
  /// Puts chunks behind the others. Behind the lock.
  func append(_ group: UnsafeMutablePointer<ChunkHead>, to store: inout SlotStore) {
    if let last = unsafe store.lastGroup {
      unsafe last.pointee.nextGroup.store(group, ordering: .releasing)
    } else {
      unsafe storage.pointee.firstGroup.store(group, ordering: .releasing)
    }
    unsafe store.lastGroup = group
  }

  /// Makes sure that visits do not miss the slots that were just taken out of the list. Behind the lock.
  ///
  /// The taker stores what visits go by: a chunk's count of slots, its number, the slots that were never given out; then
  /// loads the queue's id, or the offset of the wall clock. Who takes the id away, or stores the offset, then visits the
  /// slots. A sequentially consistent fence stands between in both: store buffering (P8, P13).
  func showGivenOut(_ store: borrowing SlotStore) {
    unsafe storage.pointee.fresh.store(store.fresh, ordering: .releasing)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// Visits every slot that may hold a timer: of each chunk that has one outside the list of free ones, all that were ever
  /// given out. Slots given out in the meantime may be missed.
  func forEachSlot<Failure>(_ body: (TimerSlot) throws(Failure) -> Void) throws(Failure) {
    var visit = beginVisit()
    while let (chunk, slots) = unsafe visit.next() {
      for index in slots { try body(unsafe Slab.slot(index, in: chunk)) }
    }
  }

  private func beginVisit() -> Visit {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return unsafe Visit(
      fresh: storage.pointee.fresh.load(ordering: .acquiring),
      group: storage.pointee.firstGroup.load(ordering: .acquiring))
  }

  /// Where a visit is.
  @safe private struct Visit {
    let fresh: SlotRange
    // SAFETY: in chunks, which are never unmapped.
    var group: UnsafeMutablePointer<ChunkHead>?
    var number = 0

    /// The next chunk that has slots to be looked at, and those.
    @unsafe @inline(never)
    mutating func next() -> (chunk: UnsafeMutableRawPointer, slots: SlotRange)? {
      while let group = unsafe group {
        if unsafe number == group.pointee.groupCount {
          unsafe self.group = group.pointee.nextGroup.load(ordering: .acquiring)
          number = 0
          continue
        }
        defer { number += 1 }
        if let used = unsafe Slab.usedSlots(of: group, number, but: fresh) { return unsafe used }
      }
      return nil
    }
  }

  /// Visits every slot of one chunk; `number` may be larger than there are.
  func forEachSlot(inOneOfItsChunks number: Int, _ body: (TimerSlot) -> Void) {
    let chunk = unsafe storage.pointee.slots.withLock { $0.chunks.isEmpty ? nil : $0.chunks[number % $0.chunks.count] }
    guard let chunk else { return }
    for index in chunk.slots { body(Slab.slot(index)) }
  }
}

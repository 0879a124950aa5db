import Synchronization

/// The list of free slots that threads' caches draw on (in `takeSlot` and `free`, `ThreadCache.swift`). It is behind the control block's lock, and
/// is used once for many slots. But no thread waits for another that stands still with the lock: what is given back
/// meanwhile is left beside the list, and who finds too little there makes new slots (P14h).
extension QueueControlBlock {
  /// Takes a free slot out of the list, and more for the thread's cache.
  func takeSlotSlow(_ thread: ThreadState) throws(Status) -> TimerSlot {
    if isLimited { try countGivenOut() }
    let cache = isLimited ? nil : thread.claimCacheIfWorthIt(for: self)
    let listed = storage.slots.withLockIfSoon { store -> SlotIndex? in
      listReturned(&store)
      guard let index = take(&store) else { return nil }
      cache?.fill { take(&store) }
      keepSpare(&store)
      showGivenOut(store)
      return index
    }
    guard let index = listed ?? takeBesideList(cache) else {
      if isLimited { changeGivenOut { $0.slots &-= 1 } }
      throw Memory.refusal
    }
    return Slab.slot(index)
  }

  /// A free slot for a thread whose cache serves another queue, as `takeSlotSlow` would take one; `nil` where that has more
  /// to do.
  @inline(__always)
  func takeListed(_ thread: ThreadState) -> SlotIndex? {
    if isLimited || thread.claimCacheIfWorthIt(for: self) != nil { return nil }
    let index = storage.slots.withLockIfFree { store -> SlotIndex? in
      guard store.free.count > ThreadCache.kept, let index = store.free.popFirst() else { return nil }
      index.chunk.count(out: 1)
      showGivenOut(store)
      return index
    }
    return index ?? nil
  }

  /// Puts a free slot into the thread's cache, which gives others to the list if it is full, or into the list; or notes
  /// that it has no version left.
  func freeSlow(_ slot: TimerSlot, _ thread: ThreadState?, usedUp: Bool, released: Bool) {
    if usedUp {
      noteUsedUp(slot.index.chunk)
    } else if !isLimited, let cache = thread?.claimCacheIfWorthIt(for: self) {
      if cache.count == ThreadCache.capacity {
        giveBack { cache.count > ThreadCache.leftAfterOverflow ? cache.takeOldest() : nil }
      }
      _ = cache.push(slot.index)
    } else {
      var index: SlotIndex? = slot.index
      giveBack {
        defer { index = nil }
        return index
      }
    }
    guard isLimited else { return }
    changeGivenOut {
      $0.slots &-= 1
      if released { $0.released &-= 1 }
    }
    // The last thing that a call does, or inside a pass, which does it itself.
    if id == 0 { try? wakeToDispose() }
  }

  /// Gives back the slots that the calling thread keeps.
  func emptyOwnCache() {
    if let thread = ThreadState.existing, let cache = thread.cache(of: self) { thread.evict(cache) }
  }

  /// Empties a thread's cache into the list.
  func emptyCache(_ cache: ThreadCache) { giveBack { cache.takeOldest() } }

  /// Puts slots into the list, the oldest first; beside it while another thread has the lock.
  private func giveBack(_ next: () -> SlotIndex?) {
    let isDone: Void? = storage.slots.withLockIfFree { store in
      listReturned(&store)
      while let index = next() { put(index, &store) }
      keepSpare(&store)
    }
    if isDone != nil { return }
    var returned = SlotChain()
    while let index = next() { returned.push(index) }
    returned.leave(in: storage.returned)
  }

  /// Puts a slot at the end of the list.
  private func put(_ index: SlotIndex, _ store: inout SlotStore) {
    index.chunk.count(out: -1)
    store.free.append(index)
  }

  /// Puts what was left beside the list into it. A thread that stands still here has taken it from all others: they find
  /// what was kept before.
  func listReturned(_ store: inout SlotStore) {
    if storage.returned.load(ordering: .relaxed) == .none { return }
    keepSpare(&store)
    var returned = SlotChain(takenFrom: storage.returned)
    returned.reverse()
    while let index = returned.pop() { put(index, &store) }
  }

  /// Keeps slots of the list beside it for those who find it taken: twice as many whenever they were too few, but half of
  /// the list at most, and none that were used just before (P14e). Without that each thread that loses its processor there
  /// would cost another chunk.
  private func keepSpare(_ store: inout SlotStore) {
    let wanted = storage.spareWanted.load(ordering: .relaxed)
    if wanted == 0 { return }
    storage.spare.forEach { word in
      let count = min(wanted / SpareSlots.chainCount, store.free.count / 2)
      if count < ThreadCache.kept || word.load(ordering: .relaxed) != .none { return }
      var spare = SlotChain()
      for _ in 0..<count {
        guard let index = store.free.popFirst() else { break }
        index.chunk.count(out: 1)
        spare.push(index)
      }
      spare.leave(in: word)
    }
  }

  /// Puts what was kept beside the list back.
  func listSpare(_ store: inout SlotStore) {
    storage.spare.forEach { word in
      var spare = SlotChain(takenFrom: word)
      spare.reverse()
      while let index = spare.pop() { put(index, &store) }
    }
  }

  private func take(_ store: inout SlotStore) -> SlotIndex? {
    let index: SlotIndex
    // The list keeps as many as a cache; others come while too few would come before a slot is used again.
    if store.free.count > ThreadCache.kept, let free = store.free.popFirst() {
      index = free
    } else if store.fresh.isEmpty, let spare = takeSpare(nil) {
      return spare
    } else if !store.fresh.isEmpty || addFresh(&store), let fresh = store.fresh.next() {
      index = fresh
      if store.freshHaveLeft { Slab.haveBackCell(of: fresh) }
    } else if let free = store.free.popFirst() {
      index = free
    } else {
      return nil
    }
    index.chunk.count(out: 1)
    return index
  }

  /// Takes one of the slots that are kept beside the list, and more into a cache.
  private func takeSpare(_ cache: ThreadCache?) -> SlotIndex? {
    var index: SlotIndex?
    storage.spare.forEach { word in
      if index != nil || word.load(ordering: .relaxed) == .none { return }
      var spare = SlotChain(takenFrom: word)
      index = spare.pop()
      cache?.fill { spare.pop() }
      spare.leave(in: word)
    }
    return index
  }

  /// Takes a slot while another thread stands still with the lock: the oldest of those that were left beside the list, if
  /// enough others stay there (P14e), or one of those that are kept there, or a new one.
  @inline(never)
  private func takeBesideList(_ cache: ThreadCache?) -> SlotIndex? {
    var returned = SlotChain(takenFrom: storage.returned)
    var index = returned.takeBehind(ThreadCache.kept, cache)
    returned.leave(in: storage.returned)
    if index == nil { index = takeSpare(cache) }
    // Their chunks count them as given out.
    guard index == nil else {
      atomicMemoryFence(ordering: .sequentiallyConsistent)
      return index
    }
    guard var fresh = grow(by: 1, allGivenOut: true), let new = fresh.next() else { return nil }
    let wanted = storage.spareWanted.load(ordering: .relaxed)
    let all = chunkCount * Slab.slotsPerChunk
    storage.spareWanted.store(max(SpareSlots.initialCount, min(wanted * 2, all)), ordering: .relaxed)
    cache?.fill { fresh.next() }
    var others = SlotChain()
    while let index = fresh.next() { others.push(index) }
    others.leave(in: storage.returned)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return new
  }

  // MARK: Limits

  /// Slots of a limited control block that are given out.
  var givenOut: UInt64 { UInt64(storage.givenOut.load(ordering: .sequentiallyConsistent).slots) }

  /// Counts a slot that is about to be given out.
  private func countGivenOut() throws(Status) {
    let limit = storage.limit.load(ordering: .relaxed)
    let isCounted = changeGivenOut {
      if $0.timers >= limit { return false }
      $0.slots &+= 1
      return true
    }
    if !isCounted { throw Status.limit.because("queue has as many timers as its timer_limit admits") }
  }

  /// Pairs with the queue's end: who gives a slot back counts, then looks at the id; the end takes the id away, then looks
  /// at the count (P14j).
  func changeGivenOut<Result>(_ change: (inout GivenOut) -> Result) -> Result {
    var old = storage.givenOut.load(ordering: .relaxed)
    while true {
      var new = old
      let result = change(&new)
      let (isDone, found) = storage.givenOut.compareExchange(
        expected: old, desired: new, ordering: .sequentiallyConsistent)
      if isDone { return result }
      old = found
    }
  }

  // MARK: New slots

  /// Chunks that belong to the control block, or are about to.
  var chunkCount: Int { storage.chunkCount.load(ordering: .relaxed) }

  /// Makes slots that can be given out; false if there is no memory.
  @inline(never)
  private func addFresh(_ store: inout SlotStore) -> Bool {
    takeLeftChunk(&store) || renumber(&store) || grow(&store)
  }

  /// Makes the slots of a chunk that was given back those that are given out next. False if there is no such chunk, or the
  /// limit forbids it.
  func takeLeftChunk(_ store: inout SlotStore) -> Bool {
    var chunks = store.nextLeft
    while let chunk = chunks?.next(of: self) {
      if chunk.head.pages != .left { continue }
      guard prepareFirstWheelPages(), Slab.countPages(of: chunk) else { return false }
      chunk.head.pages = .inUse
      store.nextLeft = chunks
      store.fresh = Slab.usable(chunk.slots)
      store.freshHaveLeft = true
      return true
    }
    store.nextLeft = nil
    return false
  }

  /// By half, at first. A large queue grows by huge pages, which make its starts faster by a third to a half; where there
  /// is no room for those, as another.
  private func grow(_ store: inout SlotStore) -> Bool {
    let half = chunkCount / 2
    let large = half >= Slab.chunksInHugePages ? grow(by: Slab.chunksInHugePages) : nil
    guard let fresh = large ?? grow(by: min(max(half, 1), 64)) else { return false }
    store.fresh = fresh
    store.freshHaveLeft = false
    return true
  }

  /// - Parameter allGivenOut: no slot of the one chunk is in the list.
  @inline(never)
  func grow(by count: Int, allGivenOut: Bool = false) -> SlotRange? {
    let total = storage.chunkCount.wrappingAdd(count, ordering: .relaxed).newValue
    guard prepareFirstWheelPages(), makeScratch(slots: total * Slab.slotsPerChunk),
      let (group, slots) = unsafe Slab.addChunks(count, owner: UnsafeMutableRawPointer(pointer))
    else {
      storage.chunkCount.wrappingAdd(-count, ordering: .relaxed)
      return nil
    }
    if allGivenOut { unsafe group.pointee.out.store(slots.count, ordering: .relaxed) }
    unsafe append(group)
    return slots
  }

  private func noteUsedUp(_ number: SlotChunk) {
    let count = number.head.usedUp.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
    guard count == Slab.usable(number.slots).count else { return }
    storage.usedUpChunks.wrappingAdd(1, ordering: .relaxed)
  }

  /// Gives a chunk whose slots have all used up their versions a new number, and with it new versions, so that the slab
  /// does not grow for ever (promise 14). False if there is no such chunk, or something still refers to each.
  private func renumber(_ store: inout SlotStore) -> Bool {
    // A callback of a concurrent queue holds its slot by itself for a moment.
    if storage.usedUpChunks.load(ordering: .relaxed) == 0 || queue?.isHeldUp == true { return false }
    var chunks = ChunkCursor()
    while let chunk = chunks.next(of: self) {
      if !chunk.isUsedUp || !Slab.areAtRest(chunk.slots) { continue }
      guard let renumbered = unsafe Slab.renumber(chunk, &store, owner: UnsafeMutableRawPointer(pointer)) else {
        return false
      }
      storage.usedUpChunks.wrappingAdd(-1, ordering: .relaxed)
      store.fresh = renumbered.slots
      store.freshHaveLeft = false
      return true
    }
    return false
  }

  // MARK: Wheel pages

  /// Maps the wheel pages that the control block has without chunks, or counts them again; false if they are refused.
  func prepareFirstWheelPages() -> Bool {
    if let region = firstWheelPages { return countFirstWheelPages(region) }
    guard let region = WheelPageRegion.first() else { return false }
    let isFirst = unsafe storage.firstWheelPages.compareExchange(
      expected: nil, desired: region.base, ordering: .acquiringAndReleasing
    ).exchanged
    if !isFirst { unsafe Memory.unmap(region.base, region.count * WheelPage.size) }
    return true
  }

  private func countFirstWheelPages(_ region: WheelPageRegion) -> Bool {
    if !storage.firstWheelPagesHaveLeft.load(ordering: .relaxed) { return true }
    guard storage.firstWheelPagesHaveLeft.exchange(false, ordering: .relaxed) else { return true }
    if Memory.count(region.bytesDiscarded) { return true }
    storage.firstWheelPagesHaveLeft.store(true, ordering: .relaxed)
    return false
  }

  /// Lets the system have them when the queue has ended.
  func giveBackFirstWheelPages() {
    guard let region = firstWheelPages else { return }
    region.discard()
    if storage.firstWheelPagesHaveLeft.exchange(true, ordering: .relaxed) { return }
    Memory.uncount(region.bytesDiscarded)
  }

  var firstWheelPages: WheelPageRegion? {
    unsafe storage.firstWheelPages.load(ordering: .acquiring).map { unsafe WheelPageRegion(first: $0) }
  }
}

extension Chunk {
  /// Whether no slot has a version left.
  var isUsedUp: Bool {
    head.usedUp.load(ordering: .acquiring) == Slab.usable(slots).count
  }

  /// The wheel pages that come with it.
  var wheelPages: WheelPageRegion {
    unsafe WheelPageRegion(
      base: cells + (Slab.wheelPagesOffset - Slab.cellsOffset), count: Slab.wheelPagesPerChunk)
  }

  /// The slots that may hold a timer, if there are any outside the list of free ones; but for those that were never given
  /// out, whose pages stay untouched.
  func usedSlots(but fresh: SlotRange) -> SlotRange? {
    if fresh.containsAll(of: initialNumber) || head.out.load(ordering: .acquiring) == 0 { return nil }
    return slots.without(fresh)
  }
}

extension QueueControlBlock {
  /// Whether there is room that the pass has not taken.
  var hasScratch: Bool { storage.scratch.load(ordering: .relaxed) != 0 }

  /// Makes room for so many slots; false if it is refused.
  func makeScratch(slots: Int) -> Bool {
    guard let scratch = PassScratch(slots: slots) else { return false }
    leaveScratch(scratch)
    return true
  }

  func takeScratch() -> PassScratch? {
    PassScratch(bits: storage.scratch.exchange(0, ordering: .acquiring))
  }

  /// Leaves room to the pass, or to the queue that comes next. The larger of two is kept. Who takes a word out owns what it
  /// says.
  func leaveScratch(_ scratch: PassScratch) {
    var kept = storage.scratch.load(ordering: .relaxed)
    while PassScratch.slots(bits: kept) < scratch.slots {
      let (isDone, found) = storage.scratch.compareExchange(
        expected: kept, desired: scratch.bits, ordering: .acquiringAndReleasing)
      if isDone {
        PassScratch(bits: kept)?.unmap()
        return
      }
      kept = found
    }
    scratch.unmap()
  }
}

/// Visits to the slots of a control block. They need no lock: a thread that is held up behind the one of the free slots
/// delays no query, and one that is held up in a query no start (P14f).
extension QueueControlBlock {
  /// The first group of its chunks.
  var firstGroup: UnsafeMutablePointer<ChunkHead>? { unsafe storage.firstGroup.load(ordering: .acquiring) }

  /// Puts chunks behind the others.
  private func append(_ group: UnsafeMutablePointer<ChunkHead>) {
    var next = unsafe storage.firstGroup.compareExchange(
      expected: nil, desired: group, ordering: .acquiringAndReleasing
    ).original
    while let last = unsafe next {
      unsafe next =
        last.pointee.nextGroup.compareExchange(
          expected: nil, desired: group, ordering: .acquiringAndReleasing
        ).original
    }
  }

  /// Makes sure that visits do not miss the slots that were just taken out of the list. Behind the lock.
  ///
  /// The taker stores what visits go by: a chunk's count of slots, its number, the slots that were never given out; then
  /// loads the queue's id, or the offset of the wall clock. Who takes the id away, or stores the offset, then visits the
  /// slots. A sequentially consistent fence stands between in both: store buffering (P8, P13).
  func showGivenOut(_ store: borrowing SlotStore) {
    storage.fresh.store(store.fresh, ordering: .releasing)
    atomicMemoryFence(ordering: .sequentiallyConsistent)
  }

  /// Visits every slot that may hold a timer: of each chunk that has one outside the list of free ones, all that were ever
  /// given out. Slots given out in the meantime may be missed.
  func forEachSlot<Failure>(_ body: (TimerSlot) throws(Failure) -> Void) throws(Failure) {
    let fresh = beginVisit()
    var chunks = ChunkCursor()
    while let (chunk, slots) = chunks.nextUsed(of: self, but: fresh) {
      for index in slots { try body(unsafe Slab.slot(index, in: chunk.cells)) }
    }
  }

  /// Gives the slots that were never given out.
  private func beginVisit() -> SlotRange {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    return storage.fresh.load(ordering: .acquiring)
  }

  /// Visits every slot of one chunk; `number` may be larger than there are.
  func forEachSlot(inOneOfItsChunks number: Int, _ body: (TimerSlot) -> Void) {
    var chunks = ChunkCursor()
    for _ in 0..<number % max(chunkCount, 1) { _ = chunks.next(of: self) }
    guard let chunk = chunks.next(of: self) else { return }
    for index in chunk.slots { unsafe body(Slab.slot(index, in: chunk.cells)) }
  }
}

extension ChunkCursor {
  /// The next chunk that has slots to be looked at, and those.
  @inline(never)
  fileprivate mutating func nextUsed(
    of control: QueueControlBlock, but fresh: SlotRange
  ) -> (chunk: Chunk, slots: SlotRange)? {
    while let chunk = next(of: control) {
      if let slots = chunk.usedSlots(but: fresh) { return (chunk, slots) }
    }
    return nil
  }
}

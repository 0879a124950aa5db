import Synchronization

/// What a queue that has ended gives back to the system while its control block waits for the next one: all pages but the
/// first of each chunk, where what ids need in order to stay stale is kept (P14g).
///
/// A slot that is used again must have the next version (P4b), and its word's generations must run on (P4). The cells in
/// the pages that go leave both where the slot's wheel position is otherwise, which is nowhere (`LeftCell`), and have them back
/// when the slot is given out again. Meanwhile a cell is zeroes, or as it was: a free slot, for whoever has an old id.
/// What the system has does not count as held until a queue uses it again.
extension QueueControlBlock {
  /// To be called when the queue has ended and nobody visits its slots any more, before the next one can begin. Not while
  /// a late creator, who stands still, has the lock.
  func giveBack() {
    if let scratch = takeScratch() {
      scratch.discard()
      leaveScratch(scratch)
    }
    _ = storage.slots.withLockIfSoon { store in
      giveBackFirstWheelPages()
      storage.spareWanted.store(0, ordering: .relaxed)
      listReturned(&store)
      listSpare(&store)
      var chunks = ChunkCursor()
      while let chunk = chunks.next(of: self) {
        if Slab.canGiveBack(chunk, but: store.fresh) { chunk.head.pages = .leaving }
      }
      // The list is chained through the cells. It keeps what is in other chunks, in its order.
      for _ in 0..<store.free.count {
        guard let index = store.free.popFirst() else { break }
        if index.chunk.head.pages == .inUse { store.free.append(index) }
      }
      chunks = ChunkCursor()
      while let chunk = chunks.next(of: self) {
        if chunk.head.pages != .leaving { continue }
        Slab.giveBackPages(of: chunk, but: store.fresh)
        chunk.head.pages = .left
        if store.fresh.begins(in: chunk.number) { store.fresh = store.fresh.behind(chunk.number) }
      }
      store.nextLeft = ChunkCursor()
    }
  }
}

extension Slab {
  /// Whether the pages of a chunk can be given back: each slot that was ever given out is in the list of free ones, and
  /// nothing else refers to it.
  static func canGiveBack(_ chunk: Chunk, but fresh: SlotRange) -> Bool {
    if fresh.containsAll(of: chunk.number) { return false }
    return chunk.head.pages == .inUse && chunk.head.out.load(ordering: .acquiring) == 0
      && areAtRest(chunk.slots.without(fresh))
  }

  /// Leaves what ids need of the cells behind the first page (P14g), and lets the system have the other pages.
  static func giveBackPages(of chunk: Chunk, but fresh: SlotRange) {
    let base = unsafe chunk.cells - cellsOffset
    for index in chunk.slots.without(fresh) {
      let slot = slot(index)
      if unsafe UnsafeMutableRawPointer(slot.pointer) < base + firstPage { continue }
      if let sideRecord = slot.sideRecordMemory {
        unsafe slot.cell.sideRecord.store(nil, ordering: .releasing)
        SideRecords.leave(sideRecord)
      }
      position(of: slot).leave(LeftCell(slot.word, version: slot.version))
    }
    unsafe Memory.discard(base + firstPage, chunkStride - firstPage)
    Memory.uncount(bytesLeft(of: chunk))
  }
}

extension TimerSlot {
  /// Whether the timer that was in the slot with that version ended with its queue, and the slot was not used since.
  func hasEndedWithQueue(_ word: TimerWord, _ version: UInt32) -> Bool {
    if word.hasEndedWithQueue(version) { return true }
    let left = Slab.position(of: self).left
    return word.isFree && left.isThere && left.word.hasEndedWithQueue(version)
  }
}

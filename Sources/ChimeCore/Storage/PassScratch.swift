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
  private static let itemBytes = 2 * MemoryLayout<ReadyItem>.stride
  private static let indexBytes = MemoryLayout<UInt32>.stride
  private static let indexLists = 5
  private static let bytes = 2 * itemBytes + indexLists * indexBytes

  init?(slots: Int) {
    guard let memory = unsafe Memory.map(slots * PassScratch.bytes) else { return nil }
    unsafe base = memory
    self.slots = slots
  }

  func unmap() { unsafe Memory.unmap(base, slots * PassScratch.bytes) }

  var ready: PassList<ReadyItem> { unsafe PassList(base, capacity: 2 * slots) }
  var sorting: PassList<ReadyItem> { unsafe PassList(base + slots * PassScratch.itemBytes, capacity: 2 * slots) }
  var pendingCallbacks: PassList<UInt32> { list(0) }
  var due: PassList<UInt32> { list(1) }
  var others: PassList<UInt32> { list(2) }
  var retired: PassList<UInt32> { list(3) }
  /// What a concurrent queue has handed over, or a queue that gives records has outstanding.
  var deliveries: PassList<UInt32> { list(4) }

  private func list(_ number: Int) -> PassList<UInt32> {
    unsafe PassList(base + slots * (2 * PassScratch.itemBytes + number * PassScratch.indexBytes), capacity: slots)
  }
}

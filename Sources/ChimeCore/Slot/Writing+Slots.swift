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

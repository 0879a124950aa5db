/// What the tick's path calls until it has a `Writing`, too.
extension TimerSlot {
  @inline(__always) func asWriting<R>(_ body: (borrowing Writing) -> R) -> R {
    let writing = Writing(assumed: self)
    let result = body(writing)
    writing.forget()
    return result
  }
  @inline(__always)
  func store(due time: Int64, _ word: TimerWord) -> TimerWord { asWriting { $0.store(due: time, word) } }
  @inline(__always) func makeSideRecord() -> SideRecordRef? { asWriting { $0.makeSideRecord() } }
  @inline(__always) func countTick() { asWriting { $0.countTick() } }
  @inline(__always) func moveOnWallClock(by distance: Int64) { asWriting { $0.moveOnWallClock(by: distance) } }
  @inline(__always) var ownWallOffset: Int64? { asWriting { $0.ownWallOffset } }
  @inline(__always) func endSideRecord() { asWriting { $0.endSideRecord() } }
  @inline(__always)
  @discardableResult
  func endWriting(_ new: TimerWord) -> TimerWord { Writing(assumed: self).giveUp(new) }
  @inline(__always) func retire(_ control: QueueControlBlock) { Writing(assumed: self).retire(control) }
  @inline(__always) func free(_ control: QueueControlBlock) { Writing(assumed: self).free(control) }
  @inline(__always)
  @_disfavoredOverload
  func tryAcquireReleased() -> Bool {
    guard let writing: Writing = tryAcquireReleased() else { return false }
    writing.forget()
    return true
  }
  @inline(__always)
  @_disfavoredOverload
  func beginWriting(_ word: TimerWord) -> Bool {
    guard let writing: Writing = beginWriting(word) else { return false }
    writing.forget()
    return true
  }
}

extension TimerRef {
  @inline(__always) func beginWriting() -> TimerWord? {
    guard let writing = startWriting() else { return nil }
    let before = writing.before
    writing.forget()
    return before
  }
  @inline(__always) func abandonWriting(_ word: TimerWord) { Writing(assumed: slot, word).abandon() }
  @inline(__always) func endWriting(_ word: TimerWord) { Writing(assumed: slot).end(word) }
}

extension QueueControlBlock {
  @inline(__always)
  func free(_ slot: TimerSlot, _ thread: ThreadState?) { free(Writing(assumed: slot), thread) }
  @inline(__always) func noteReleased() { unsafe storage.pointee.slots.withLock { $0.released &+= 1 } }
}

extension TimerWord {
  @inline(__always)
  func withPendingCallback(of slot: TimerSlot) -> TimerWord { slot.asWriting { $0.withPendingCallback(self) } }
}

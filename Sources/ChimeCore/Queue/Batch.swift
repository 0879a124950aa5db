/// What the slices of a pass have collected and not delivered: the callbacks that are due, in the order of promise 12,
/// those that get a turn in the next batch, and released slots. It lies in the `PassScratch`, so collecting needs no
/// memory. The pass's own.
struct Batch {
  /// Slots whose pending callback gets a turn in the next batch; their enqueued flag is set.
  private var pendingCallbacks = PassList<SlotIndex>()
  private var ready = PassList<BatchItem>()
  /// Scratch memory for sorting `ready`.
  private var sorting = PassList<BatchItem>()
  /// Scratch memory: slots that the wheel gave out; and of those, the ones that are not due yet or, later, that a
  /// concurrent queue hands over at the end of the slice.
  private var due = PassList<SlotIndex>()
  var aside = PassList<SlotIndex>()
  /// The first of `ready` that had no turn.
  private var next = 0
  /// Slots of released timers, each with its writing: at the end of the slice callbacks and finalizers that are owed are called,
  /// and the slots freed.
  private(set) var released = PassList<SlotIndex>()
  private var scratch: PassScratch?
  /// Looked at by checks: the slot that was held back last.
  var heldBack: SlotIndex?

  /// How many turns the batch has that was collected last.
  var count: Int { ready.count }
  /// Turns are left: the last slice ended before its batch. Nothing new is collected until the batch is delivered.
  var isOpen: Bool { next < ready.count }
  /// Whether something waits that no wake-up of the wheel's brings.
  var wantsSlice: Bool { isOpen || !pendingCallbacks.isEmpty || !released.isEmpty }

  /// Whether nothing waits but turns for ticks of timers in the background.
  var isForBackground: Bool {
    guard pendingCallbacks.isEmpty, released.isEmpty else { return false }
    var index = next
    while index < ready.count {
      guard ready[index].kind == .due, Slab.slot(ready[index].slot).isBackground else { return false }
      index += 1
    }
    return true
  }

  /// Whether something waits that is no tick of a timer that is due.
  var hasOtherTurns: Bool {
    !pendingCallbacks.isEmpty || !released.isEmpty || (next..<ready.count).contains { ready[$0].kind != .due }
  }

  func contains(_ slot: TimerSlot) -> Bool { (next..<ready.count).contains { ready[$0].slot == slot.index } }

  /// Gives a slot a turn for its pending callback in the next batch, unless it already has one.
  mutating func addPendingCallback(of slot: TimerSlot) {
    if slot.set(TimerWord.enqueuedBit) {
      slot.turnVersion = slot.version
      pendingCallbacks.append(slot.index)
    }
  }

  /// Keeps a released timer for the end of the slice.
  mutating func appendReleased(_ writing: consuming Writing) { released.append(writing.forget().index) }

  /// The released timer that was kept last.
  mutating func takeReleased() -> Writing? {
    guard let index = released.popLast() else { return nil }
    return Writing(released: Slab.slot(index))
  }

  /// Takes back turns of callbacks that are not pending any more, up to one that is or may be.
  mutating func dropOutdated() {
    while let index = pendingCallbacks.last {
      let slot = Slab.slot(index)
      let word = slot.wordInOrder
      guard !word.hasWriter, word.isFree || word.isLive && !word.hasPendingCallback else { return }
      _ = slot.clear(TimerWord.enqueuedBit)
      _ = pendingCallbacks.popLast()
    }
  }

  /// Collects the pending callbacks and everything that is due at `now`.
  @inline(always)
  mutating func collect(_ now: Int64, from wheel: inout Wheel) {
    if !pendingCallbacks.isEmpty { collectPendingCallbacks() }
    // Into the tick that contains now: some of its timers are due, and the others go back.
    wheel.advance(to: now &+ WheelTicks.rest(shift: wheel.shift), into: &due)
    // Never is not due, even at the end of time.
    let latest = min(now, .max - 1)
    for i in due.indices {
      let index = due[i]
      let slot = Slab.slot(index)
      let word = slot.wordInOrder
      // A timer that is being written has its turn, which waits for the writer (P2).
      guard word.isRunning || word.hasWriter && word.isLive else {
        // Its turn was held back (P2c).
        if word.hasPendingCallback, word.isLive { addPendingCallback(of: slot) }
        continue
      }
      // `.min` is the time of callbacks that come before all ticks.
      let deadline = max(slot.dueTime(word), QueueControlBlock.atOnce)
      if deadline <= latest || word.hasWriter {
        ready.append(
          BatchItem(deadline: min(deadline, now), activationSequence: slot.activationSequence, slot: index, .due))
      } else {
        aside.append(index)
      }
    }
    due.removeAll()
    if !aside.isEmpty { placeAside(&wheel) }
    if ready.count > 1 { ready.sortByTurn(&sorting) }
    checkOrder(at: now)
  }

  @inline(never)
  private mutating func collectPendingCallbacks() {
    for i in pendingCallbacks.indices {
      let slot = Slab.slot(pendingCallbacks[i])
      let time = slot.pendingCallbackTime()
      ready.append(
        BatchItem(
          deadline: time, activationSequence: slot.activationSequence, slot: slot.index,
          time == .min ? .callback : .fired))
    }
    pendingCallbacks.removeAll()
  }

  /// Timers that have been moved later since they were placed, or come later in this tick.
  @inline(never)
  private mutating func placeAside(_ wheel: inout Wheel) {
    for i in aside.indices {
      let slot = Slab.slot(aside[i])
      let word = slot.wordInOrder
      wheel.place(slot, word)
      // Its turn was held back (P2c).
      if word.hasPendingCallback, !word.isReleased { addPendingCallback(of: slot) }
    }
    aside.removeAll()
  }

  /// The next turn, in order.
  @inline(__always)
  mutating func takeTurn() -> BatchItem? {
    guard isOpen else { return nil }
    if next & 15 == 0, ready.count > 1 {
      // Reads the cells of the next turns, so that their cache misses overlap. Otherwise the locked operations of the
      // ticks before would separate them.
      for i in next..<min(next + 16, ready.count) { _ = Slab.slot(ready[i].slot).activationSequence }
    }
    next += 1
    return ready[next - 1]
  }

  /// The turn that was taken comes once more.
  mutating func repeatTurn() { next -= 1 }

  /// The slice ends. A batch that is left open goes on with the next one.
  mutating func endSlice() {
    if isOpen { return }
    ready.removeAll()
    next = 0
  }

  /// The queue closes: no turn comes any more.
  mutating func close() {
    while let item = takeTurn() {
      if item.kind != .due { _ = Slab.slot(item.slot).clear(TimerWord.enqueuedBit) }
    }
    for i in pendingCallbacks.indices { _ = Slab.slot(pendingCallbacks[i]).clear(TimerWord.enqueuedBit) }
    pendingCallbacks.removeAll()
    endSlice()
  }

  // MARK: Checks

  /// What was collected is due, and in order.
  private func checkOrder(at now: Int64) {
    guard invariantsAreChecked else { return }
    for i in ready.indices {
      let item = ready[i]
      if i > 0, BatchItem.precedes(item, ready[i - 1]) {
        invariantFailure("a batch out of order", ready[i - 1].deadline, item.deadline)
      }
      if item.deadline > now, item.kind == .due || item.kind == .callback {
        invariantFailure("a turn that is not due", item.deadline, now)
      }
    }
  }

  /// At the end of a pass that has delivered its batch.
  func checkThatItIsEmpty() {
    if ready.count + due.count + aside.count > 0 {
      invariantFailure("a pass left what it collected", Int64(due.count), Int64(aside.count))
    }
  }

  /// Generation and sequence of a timer that is running when its turn comes. One that is suspended then loses the turn, even if
  /// it is resumed at once, which keeps the generation: the resume sends it again.
  func stateAtTurn(of slot: TimerSlot) -> (UInt64, UInt32)? {
    let word = slot.wordInOrder
    return word.isRunning ? (word.generation, slot.sequence) : nil
  }

  /// A due timer that has had its turn has ticked, has it again, or was changed by a callback: otherwise its tick would come
  /// after those with later deadlines.
  /// - Parameter before: its generation and sequence, when the turn came.
  func checkThatTurnWasUsed(_ item: BatchItem, _ before: (UInt64, UInt32), at now: Int64) {
    let slot = Slab.slot(item.slot)
    if item.slot == heldBack { return }
    // The end of time never comes.
    guard item.kind == .due, item.deadline < .max, slot.isStillDue(item.deadline, item.activationSequence, at: now),
      (slot.wordInOrder.generation, slot.sequence) == before, !contains(slot)
    else { return }
    invariantFailure("a due timer that had its turn did not tick", Int64(slot.index.number), item.deadline)
  }

  // MARK: Its room

  /// How many slots there is room for.
  var room: Int { scratch?.slots ?? 0 }

  /// Moves to a larger room.
  mutating func move(to scratch: PassScratch) {
    ready.move(to: scratch.ready)
    sorting.move(to: scratch.sorting)
    pendingCallbacks.move(to: scratch.pendingCallbacks)
    due.move(to: scratch.due)
    aside.move(to: scratch.aside)
    released.move(to: scratch.released)
    self.scratch?.unmap()
    self.scratch = scratch
  }

  /// Gives the room up, at the queue's end.
  mutating func leaveScratch() -> PassScratch? {
    let scratch = scratch
    self = Batch()
    return scratch
  }
}

/// What a pass asks of a timer that has a turn: whether it still wants the turn, and when.
extension TimerSlot {
  /// Whether the timer is due as it was when it got its turn, and no callback of it runs.
  func isStillDue(_ due: Int64, _ activationSequence: UInt32, at now: Int64) -> Bool {
    let word = wordInOrder
    return word.isRunning && !word.isBusy && !word.hasWriter && self.activationSequence == activationSequence
      && due <= now
      && dueTime(word) == due
  }

  /// The key by which a pending callback is ordered: registration and cancel callbacks first, an extra tick by the time
  /// at which it was requested.
  func pendingCallbackTime() -> Int64 {
    let timer = TimerRef(slot: self, version: version)
    // The side record belongs to the writer. One who is there is not waited for: the timer is changing.
    guard let word = timer.word, !word.hasWriter, let writing = beginWriting(word) else { return .min }
    var time = Int64.min
    if let sideRecord = writing.sideRecord, !sideRecord.hasPendingCallback, sideRecord.writerFields.firePending {
      time = sideRecord.writerFields.fireTime
    }
    writing.undo()
    return time
  }
}

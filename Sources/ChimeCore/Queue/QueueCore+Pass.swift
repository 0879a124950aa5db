import Synchronization

/// The pass: one visit of the queue to its wheel. It takes what is due, runs it or hands it over, and sets the next
/// wake-up.
extension QueueCore {
  static var ticksPerSlice: Int { 256 }
  static var nanosecondsPerSlice: Int64 { 1_000_000 }

  /// What the drivers run: one slice of at most 256 ticks or 1 ms, so that other users of the dispatch queue get their
  /// turn.
  package func pass() {
    asPass(onDriver: true) { frame in
      control.nextWakeUp = QueueControlBlock.awake
      runSlice(.ofOthers(from: control.now), frame)
      if !isAbandoned { afterSlice(frame) }
    }
  }

  /// Ends a pass: closes the queue, or makes sure that the next pass comes.
  func afterSlice(_ frame: CurrentFrame) {
    if isClosing.load(ordering: .sequentiallyConsistent) {
      closeIfPossible(frame)
    } else if batchIsOpen {
      driver.wake(self)
    } else {
      armNextWakeUp()
    }
    checkThatNothingIsForgotten()
  }

  /// How much one slice may do.
  struct Limit {
    var end = Int64.max
    var count = Int.max

    static var none: Limit { Limit() }
    /// At most 256 ticks or 1 ms.
    static func ofOthers(from now: Int64) -> Limit {
      Limit(end: now.saturatingAdd(QueueCore.nanosecondsPerSlice), count: QueueCore.ticksPerSlice)
    }
  }

  /// Takes in the changes of other threads, collects what is due unless a batch is still open, and delivers.
  func runSlice(_ limit: Limit, _ frame: CurrentFrame) {
    followWallClock()
    let now = control.now
    let before = delivered
    takeInbox()
    runFunctions(limit, frame)
    if isAbandoned { return }
    if !batchIsOpen {
      collect(now)
      counters.count(
        passAt: now, due: ready.count, isEmpty: ready.isEmpty && retired.isEmpty && delivered == before)
    }
    deliverBatch(limit, since: before, frame)
    if isAbandoned { return }
    disposeOfRetired(frame)
  }

  /// Stores the next wake-up and arms the driver for it. The inbox is looked at once more after the time is stored: a
  /// pusher pushes first and reads the time afterwards, so one of the two sees the other (P1, Sources/README.md).
  private func armNextWakeUp() {
    // Three tries, then another pass: pushers must not hold this one up. A stored time that is out of date costs one
    // more pass.
    for _ in 0..<3 {
      let next = wheel.earliest()
      if !pendingCallbacks.isEmpty || hasRetired || endIsWanted { break }
      if let next, next <= control.now { break }
      control.nextWakeUp = next ?? .max
      if isClosing.load(ordering: .sequentiallyConsistent) { break }
      if control.stepIsPending { break }
      if control.inboxIsEmpty, !hasFunctions {
        driver.arm(at: next == .max ? nil : next)
        return
      }
      control.nextWakeUp = QueueControlBlock.awake
      takeInbox()
    }
    driver.wake(self)
  }

  /// Sorts timers that other threads have changed into the wheel, the next batch, or the retired slots.
  @inline(__always)
  func takeInbox() {
    if !control.inboxIsEmpty { takeWhatIsInInbox() }
    entries.store(wheel.entryCount, ordering: .relaxed)
  }

  // Not inlined: Swift 6.3's optimizer crashes over it in `pass`.
  @inline(never)
  private func takeWhatIsInInbox() {
    control.drain { slot, word in
      if control.hasRoom { takeRoom() }
      admit(slot, word)
    }
  }

  /// Decides where a slot goes whose word has changed. A slot whose handler is running is skipped: the handler's end
  /// sends it again.
  private func admit(_ slot: TimerSlot, _ word: TimerWord) {
    if word.isBusy {
      // A tick that was taken as a record ends with the next taking, which must come in time for what is due now.
      if givesRecords {
        if word.isRunning { place(slot, word) }
        if word.hasPendingCallback || word.isReleased { endIsWanted = true }
      }
      return
    }
    if word.isReleased {
      handOver == nil ? claim(slot) : enqueueDelivery(slot)
    } else if word.hasPendingCallback {
      handOver == nil ? enqueueCallback(slot) : enqueueDelivery(slot)
    }
    place(slot, word)
  }

  /// Gives a slot a turn for its pending callback, unless it already has one.
  private func enqueueCallback(_ slot: TimerSlot) {
    if slot.set(TimerWord.enqueuedBit) {
      slot.turnVersion = slot.version
      pendingCallbacks.append(slot.index)
    }
  }

  /// Places a running timer where it belongs; a timer that is being written, where its record says at this moment. If it
  /// belongs elsewhere afterwards, its writer sends it, because the writer reads the position after this, or finds it
  /// changed (P2, Sources/README.md).
  func place(_ slot: TimerSlot, _ word: TimerWord) {
    if word.isRunning { wheel.place(slot, deadline: slot.dueTime(word), leeway: slot.leeway) }
  }

  /// Makes the next batch: the pending callbacks, and everything that was placed at or before `now`.
  private func collect(_ now: Int64) {
    for i in pendingCallbacks.indices {
      let slot = Slab.slot(pendingCallbacks[i])
      ready.append(
        ReadyItem(
          deadline: slot.pendingCallbackTime(), startOrder: slot.startOrder, slot: slot.index, isPendingCallback: true))
    }
    pendingCallbacks.removeAll()
    wheel.advance(to: now, into: &due)
    for i in due.indices {
      let index = due[i]
      let slot = Slab.slot(index)
      let word = slot.wordInOrder
      if word.hasWriter {
        // Its turn waits for the writer (P2, Sources/README.md).
        guard word.isLive else { continue }
        let deadline = min(max(slot.dueTime(word), QueueControlBlock.atOnce), now)
        ready.append(ReadyItem(deadline: deadline, startOrder: slot.startOrder, slot: index, isPendingCallback: false))
        continue
      }
      guard word.isRunning else { continue }
      let deadline = max(slot.dueTime(word), QueueControlBlock.atOnce)
      if deadline > now {
        outdated.append(index)
      } else {
        ready.append(ReadyItem(deadline: deadline, startOrder: slot.startOrder, slot: index, isPendingCallback: false))
      }
    }
    due.removeAll()
    // Timers that have been moved later since they were placed.
    for i in outdated.indices {
      let slot = Slab.slot(outdated[i])
      place(slot, slot.wordInOrder)
    }
    outdated.removeAll()
    if ready.count > 1 { ready.sortByTurn(&sorting) }
  }

  /// Delivers the batch, until it or the slice ends.
  private func deliverBatch(_ limit: Limit, since before: Int, _ frame: CurrentFrame) {
    var deliveries = 0
    while readyNext < ready.count, delivered &- before < limit.count {
      if readyNext & 15 == 0 { fetch(readyNext..<min(readyNext + 16, ready.count)) }
      let item = ready[readyNext]
      let slot = Slab.slot(item.slot)
      readyNext += 1
      var version: UInt32?
      if item.turn != .due {
        _ = slot.clear(TimerWord.enqueuedBit)
        version = slot.turnVersion
      } else if item.startOrder != slot.startOrder {
        // Restarted since it was collected, or another timer by now: placed by its new deadline. Whoever restarted it
        // may have relied on the position taken away here, and not sent it; a writer still at it may do so too, and is
        // waited for (P2b, Sources/README.md).
        place(slot, wordWithoutWriter(slot))
        continue
      }
      if handOver == nil {
        let time = deliver(slot, item.turn, of: version, frame)
        if isAbandoned { return }
        deliveries += 1
        if limit.end != .max, deliveries >= limit.count || time > limit.end || driver.shouldYield { break }
      } else if slot.set(TimerWord.enqueuedBit) {
        // (P4d, Sources/README.md.)
        outdated.append(item.slot)
      }
    }
    if !outdated.isEmpty {
      // Counted until the hooks have ended, which come after the timers' own ends.
      outstanding.add(outdated.count, ordering: .sequentiallyConsistent)
      handOver?.add(outdated)
      outdated.removeAll()
    }
    batchIsOpen = readyNext < ready.count
    if !batchIsOpen {
      ready.removeAll()
      readyNext = 0
    }
  }

  /// The word, once the timer has no writer or was released.
  private func wordWithoutWriter(_ slot: TimerSlot) -> TimerWord {
    var word = slot.wordInOrder
    var backoff = Backoff()
    while word.hasWriter, word.isLive {
      backoff.pause()
      word = slot.wordInOrder
    }
    return word
  }

  /// Reads the records of the next items, so that their cache misses overlap. Otherwise the locked operations of the
  /// ticks before would separate them.
  @inline(__always)
  private func fetch(_ items: Range<Int>) {
    for i in items { _ = Slab.slot(ready[i].slot).startOrder }
  }

  // MARK: Concurrent queues

  /// Enqueues a delivery of the slot on the concurrent queue, unless one is already under way (P4d, Sources/README.md).
  private func enqueueDelivery(_ slot: TimerSlot) {
    guard slot.set(TimerWord.enqueuedBit) else { return }
    // Counted until the hooks have ended, which come after the timer's own end.
    outstanding.add(1, ordering: .sequentiallyConsistent)
    handOver?.add(slot)
  }

  /// What a runner does with deliveries, as long as there are some: so many at most, and no more after a millisecond.
  /// - Returns: how many it has delivered; negative when time was up.
  func deliverHandedOver(atMost most: Int, _ next: () -> TimerSlot?) -> Int {
    guard var slot = next() else { return 0 }
    var count = 0
    var isOver = false
    let end = control.now.saturatingAdd(QueueCore.nanosecondsPerSlice)
    withHooks {
      ThreadState.inside(control) { frame in
        while true {
          count += 1
          let word = slot.clear(TimerWord.enqueuedBit)
          if word.isReleased {
            if slot.own() { dispose(of: slot, frame) }
          } else if deliver(slot, .due, of: nil, frame) > end {
            isOver = true
          }
          guard !isAbandoned, !isOver, count < most, let another = next() else { return }
          slot = another
        }
      }
    }
    if isAbandoned { return count }
    outstanding.subtract(count, ordering: .sequentiallyConsistent)
    if isClosing.load(ordering: .sequentiallyConsistent) { control.wake() }
    return isOver ? -1 : count
  }

  // MARK: Ends of slots

  /// Claims a released slot, for the end of the slice.
  func claim(_ slot: TimerSlot) {
    if slot.own() { retired.append(slot.index) }
  }

  func disposeOfRetired(_ frame: CurrentFrame) {
    if givesRecords, !isClosing.load(ordering: .sequentiallyConsistent) {
      // Outside `takeTicks` they wait for it.
      while recordBuffer != nil, let index = retired.last {
        guard disposeIntoRecords(Slab.slot(index), frame) else { return }
        retired.removeLast()
      }
    } else {
      while !isAbandoned, let index = retired.popLast() { dispose(of: Slab.slot(index), frame) }
    }
  }

  /// Whether released slots want another slice.
  var hasRetired: Bool { !retired.isEmpty }

  // MARK: Functions

  private func runFunctions(_ limit: Limit, _ frame: CurrentFrame) {
    frame.slot = nil
    guard hasFunctions else { return }
    // Only those that are there now: what they put on the queue runs in the next slice.
    var left = functions.withLock { $0.waiting.count } + takenFunctions.count
    // Other slices end by the clock, and with whole batches; the waiting functions are one batch.
    if limit.end == .max { left = min(left, limit.count) }
    while left > 0, let item = nextFunction() {
      left -= 1
      if isClosing.load(ordering: .sequentiallyConsistent) {
        item.drop()
      } else if recordBuffer != nil {
        let now = control.wallTime(control.now)
        recordBuffer?.append(
          TickRecord(
            timer: 0, generation: 0, sequence: 0, missed: 0, scheduled: now, actual: now, context: item.context,
            target: .none, kind: TickKind.function.rawValue))
      } else {
        item.run()
        if isAbandoned { return }
      }
      delivered += 1
    }
  }

  /// Runs `body`, a series of callbacks, on a thread that can be cancelled if the host's can.
  @inline(__always)
  func asHost(_ body: () -> Void) {
    if let host = driver.hostCancellation { host.allow(body) } else { body() }
  }

  /// Runs `body`, a series of callbacks on a thread that the host did not create, between the host's hooks.
  @inline(__always)
  func withHooks(_ body: () -> Void) {
    guard let hooks else { return body() }
    hooks.enter?(hooks.context)
    body()
    hooks.leave?(hooks.context)
  }
}

extension QueuedFunction {
  func run() {
    function(context)
    drop()
  }

  func drop() {
    if let finalizer { finalizer(context) }
  }
}

extension TimerSlot {
  /// The key by which a pending callback is ordered: registration and cancel callbacks first, an extra tick by the time
  /// at which it was requested.
  func pendingCallbackTime() -> Int64 {
    let timer = TimerRef(slot: self, version: version)
    // The side record belongs to the writer.
    guard let word = timer.beginWriting() else { return .min }
    defer { timer.abandonWriting(word) }
    if let sideRecord, sideRecord.value.pendingCallbacks == 0, sideRecord.value.firePending {
      return sideRecord.value.fireTime
    }
    return .min
  }
}

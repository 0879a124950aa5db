import Synchronization

/// The pass: one visit of the queue to its wheel. It takes what is due, runs it or hands it over, and sets the next
/// wake-up.
extension QueueCore {
  /// What the drivers run: one slice, between the host's hooks if there may be something to call.
  @inline(never)
  package func pass() throws(Forked) {
    try asPass { pass throws(Forked) in
      control.nextWakeUp = QueueControlBlock.awake
      control.countPass()
      // The hooks are not called either.
      if isSuspended {
        noteEmptyPass()
        return try afterSlice(pass)
      }
      let now = takeChanges(pass)
      if mayCallBack(at: now, pass) {
        // The hooks are callbacks of the queue, too.
        try withHooks { () throws(Forked) in try runWholeSlice(at: now, callsBack: true, pass) }
      } else {
        try runWholeSlice(at: now, callsBack: false, pass)
      }
    }
  }

  @inline(never)
  private func runWholeSlice(at now: Int64, callsBack: Bool, _ pass: borrowing Pass) throws(Forked) {
    // Without the hooks what has come meanwhile waits for the next slice.
    let count = callsBack || handOver != nil ? 256 : 0
    try collectAndDeliver(Limit(end: now.saturatingAdd(Tunables.slice), count: count), at: now, pass)
    try afterSlice(pass, callsBack: callsBack)
  }

  /// Whether a slice may call anything: on a concurrent queue it hands over, and calls only at the queue's end. Without hooks
  /// it makes no difference, and is not looked for.
  private func mayCallBack(at now: Int64, _ pass: borrowing Pass) -> Bool {
    if hooks == nil || closing.hasBegun || batch.wantsSlice { return true }
    if handOver != nil { return false }
    return functions.hasNext || wheel.earliest(until: now &+ WheelTicks.rest(shift: wheel.shift)) != nil
  }

  /// Ends a pass: closes the queue, which calls back, or makes sure that the next pass comes.
  func afterSlice(_ pass: borrowing Pass, callsBack: Bool = true) throws(Forked) {
    if closing.hasBegun {
      callsBack ? try closeIfPossible(pass) : driver.wake(self)
    } else if isSuspended {
      driver.rest(self)
    } else if batch.isOpen {
      driver.wake(self)
    } else {
      armNextWakeUp(pass)
    }
    checkThatNothingIsForgotten(pass)
  }

  /// How much one slice may do: 256 ticks or 1 ms, so that other users of the thread get their turn; in a call of the host's,
  /// as many callbacks as it asks for.
  struct Limit {
    var end = Int64.max
    var count = Int.max
    /// It is a slice of `run`, which a stop ends.
    var isOfRun = false
    /// And so does the end of all that it waits for.
    var endsWhenIdle = false
    /// The host wants so many callbacks of a call, and may call again for the rest.
    var isOfCalls: Bool { end == .max && count != .max }
  }

  /// Whether no other callback is to begin in the slice: the run that it belongs to is to stop, or others' turn has come.
  @inline(__always)
  func isOver(_ limit: Limit) -> Bool {
    limit.end != .max
      ? driver.shouldYield
      : limit.isOfRun
        && (control.stopIsPending(id)
          || limit.endsWhenIdle && control.hasHadBackground && driver.hasNothingToWaitFor(self))
  }

  /// Takes in the changes of other threads, collects what is due unless a batch is still open, and delivers.
  @inline(__always)
  func runSlice(_ limit: Limit, _ pass: borrowing Pass) throws(Forked) {
    let now = takeChanges(pass)
    try collectAndDeliver(limit, at: now, pass)
  }

  /// Takes in the changes of other threads, and gives the time before that.
  @inline(__always)
  private func takeChanges(_ pass: borrowing Pass) -> Int64 {
    followWallClock(pass)
    let now = control.now
    takeInbox(pass)
    return now
  }

  /// The rest of a slice, for the changes that were taken in.
  func collectAndDeliver(_ limit: Limit, at now: Int64, _ pass: borrowing Pass) throws(Forked) {
    let before = delivered
    var counted = before
    if functions.hasNext, !isOver(limit) {
      if limit.isOfCalls, functionsAhead == 0, batch.isOpen {
        // In the call before, functions have left no room: a tick comes first, or those that come again would keep it back.
        try deliverBatch(Limit(count: min(limit.count, 1)), since: delivered, pass)
        if isSuspended { return }
      }
      try runFunctions(limit, since: before, pass)
      if isSuspended { return }
      // A slice by the clock has room for ticks, however many functions there were.
      if limit.end != .max { counted = delivered }
    }
    if isOver(limit) { return }
    if !batch.isOpen {
      batch.collect(now, from: &wheel)
      counters.count(
        passAt: now, due: batch.count, isEmpty: batch.count == 0 && batch.released.isEmpty && delivered == before)
    }
    try deliverBatch(limit, since: counted, pass)
    if !batch.released.isEmpty { try disposeReleased(pass) }
  }

  /// Stores the next wake-up and arms the driver for it. The inbox is looked at once more after the time is stored: a
  /// pusher pushes first and reads the time afterwards: store buffering (P1).
  private func armNextWakeUp(_ pass: borrowing Pass) {
    // Three tries, then another pass: pushers must not hold this one up. A stored time that is out of date costs one
    // more pass.
    for _ in 0..<3 {
      var next = wheel.earliest() ?? .max
      if batch.wantsSlice || records.endIsWanted { break }
      let now = control.now
      if next <= now { break }
      // Where timers have ended since they came, the wake-up stays: otherwise each of those that follow them would bring a
      // pass of its own.
      if earliestAdmitted <= now { earliestAdmitted = .max }
      if !control.runsInCalls { next = min(next, earliestAdmitted) }
      next = min(next, wallLookTime)
      control.nextWakeUp = next
      if closing.hasBegun { break }
      if control.stepIsPending { break }
      if control.inboxIsEmpty, !functions.hasNext {
        driver.arm(at: next == .max ? nil : next)
        return
      }
      control.nextWakeUp = QueueControlBlock.awake
      takeInbox(pass)
    }
    driver.wake(self)
  }

  /// Sorts timers that other threads have changed into the wheel, the next batch, or `batch.released`.
  func takeInbox(_ pass: borrowing Pass) {
    if !control.inboxIsEmpty { takeWhatIsInInbox(pass) }
    entries.store(wheel.entryCount, ordering: .relaxed)
  }

  // Not inlined: Swift 6.3's optimizer crashes over it in `pass`.
  @inline(never)
  private func takeWhatIsInInbox(_ pass: borrowing Pass) {
    if closing.isReleasing { return }
    control.drain { slot, word in
      if slot.deadline < earliestAdmitted, word.isRunning || word.state == .cancelled || !word.isLive {
        earliestAdmitted = min(earliestAdmitted, wheel.placement(of: slot))
      }
      if control.hasScratch { takeScratch(pass) }
      admit(slot, word, pass)
    }
  }

  /// Decides where a slot goes whose word has changed. A busy one is skipped: what follows the end of its callback, or
  /// record, places it or sends it again.
  private func admit(_ slot: TimerSlot, _ word: TimerWord, _ pass: borrowing Pass) {
    if word.isBusy {
      // A tick that was taken as a record ends with the next taking, which must come in time for what is due now.
      if givesRecords {
        wheel.place(slot, word)
        if word.hasPendingCallback || word.isReleased { records.endIsWanted = true }
      }
      return
    }
    if word.isReleased || word.hasPendingCallback {
      if handOver != nil {
        enqueueDelivery(slot)
      } else if !word.isReleased {
        batch.addPendingCallback(of: slot)
      } else if let released = slot.tryAcquireReleased() {
        batch.appendReleased(released)
      }
    }
    wheel.place(slot, word)
  }

  /// Delivers the batch, until it or the slice ends.
  @inline(never)
  private func deliverBatch(_ limit: Limit, since before: Int, _ pass: borrowing Pass) throws(Forked) {
    let endsEarly = limit.end != .max || limit.isOfRun
    while delivered &- before < limit.count, !isSuspended, let item = batch.takeTurn() {
      let slot = Slab.slot(item.slot)
      if item.kind != .due {
        _ = slot.clear(TimerWord.enqueuedBit)
      } else if item.activationSequence != slot.activationSequence {
        // Restarted or replaced since it was collected. Whoever restarted it may have relied on the position that the
        // wheel has taken away, and not sent it: so it is placed (P2b).
        placeAnew(slot, pass)
        continue
      }
      if handOver == nil {
        let now = control.now
        let atTurn = invariantsAreChecked ? batch.stateAtTurn(of: slot) : nil
        try deliver(&tick, slot, item.kind, at: now, isAlone: true, pass.frame)
        if let atTurn, !closing.hasBegun { batch.checkThatTurnWasUsed(item, atTurn, at: now) }
        if endsEarly, batch.isOpen, now > limit.end || isOver(limit) { break }
      } else if slot.set(TimerWord.enqueuedBit) {
        // Handed over below (P4d).
        batch.aside.append(item.slot)
      }
    }
    if let handOver, !batch.aside.isEmpty {
      // Counted until the hooks have ended, which come after the timers' own ends.
      closing.enter(batch.aside.count)
      handOver.add(batch.aside)
      batch.aside.removeAll()
    }
    batch.endSlice()
  }

  /// Places a timer that has lost its position, behind any writer.
  @inline(never)
  private func placeAnew(_ slot: TimerSlot, _ pass: borrowing Pass) {
    var spinWait = SpinWait()
    while true {
      let word = slot.wordInOrder
      if !word.hasWriter || !word.isLive { return wheel.place(slot, word) }
      if control.isVirtual {
        spinWait.pause()
      } else if !spinWait.spin() {
        return holdBack(slot, at: control.now)
      }
    }
  }

  /// Another thread is writing the timer: gives it a later turn. That thread may have lost its processor,
  /// and no other timer waits for it. (In virtual time nothing may come late, and on a concurrent queue only the thread
  /// that was to call the handler waits.)
  @inline(never)
  func holdBack(_ slot: TimerSlot, at now: Int64) {
    batch.heldBack = slot.index
    wheel.holdBack(slot, until: now.saturatingAdd(Tunables.writer))
  }

  // MARK: Concurrent queues

  /// Enqueues a delivery of the slot on the concurrent queue, unless one is already under way (P4d).
  private func enqueueDelivery(_ slot: TimerSlot) {
    guard slot.set(TimerWord.enqueuedBit) else { return }
    // Counted until the hooks have ended, which come after the timer's own end.
    closing.enter()
    handOver?.add(slot)
  }

  /// What a worker does with deliveries, as long as there are some: so many at most, and no more after a millisecond.
  /// - Returns: how many it has delivered; `most` when time was up.
  @inline(never)
  func deliverHandedOver(atMost most: Int, _ next: () -> TimerSlot?) throws(Forked) -> Int {
    guard !isSuspended, var slot = next() else { return 0 }
    var tick = StartedTick(slot)
    var count = 0
    var isOver = false
    let timeOfEnd = control.now.saturatingAdd(Tunables.slice)
    try ThreadState.inside(control) { frame throws(Forked) in
      try withHooks { () throws(Forked) in
        while true {
          count += 1
          let word = slot.clear(TimerWord.enqueuedBit)
          if word.isReleased {
            if let released = slot.tryAcquireReleased() { try disposeOrRetire(released, frame) }
          } else {
            let now = control.now
            if word.hasPendingCallback { try deliverCallbacks(of: slot, word, &tick, at: now, frame) }
            // One of them may have suspended the queue.
            if isSuspended { sendOn(slot) } else { try deliver(&tick, slot, at: now, frame) }
            isOver = now > timeOfEnd
          }
          guard !isOver, count < most, !isSuspended, let another = next() else { return }
          slot = another
        }
      }
    }
    if closing.leave(count) { control.wake() }
    return isOver ? most : count
  }

  @inline(never)
  private func deliver(
    _ tick: inout StartedTick, _ slot: TimerSlot, at now: Int64, _ frame: CurrentFrame
  ) throws(Forked) {
    try deliver(&tick, slot, .due, at: now, isAlone: false, frame)
  }

  /// Delivers the callbacks that come before a due tick, which would otherwise lose its turn to later ones.
  @inline(never)
  private func deliverCallbacks(
    of slot: TimerSlot, _ word: TimerWord, _ tick: inout StartedTick, at now: Int64, _ frame: CurrentFrame
  ) throws(Forked) {
    let (due, activationSequence) = (slot.dueTime(word), slot.activationSequence)
    var left = 64
    while left > 0, !isSuspended, slot.wordInOrder.hasPendingCallback, slot.isStillDue(due, activationSequence, at: now)
    {
      left -= 1
      try deliver(&tick, slot, at: now, frame)
    }
  }

  // MARK: Ends of slots

  func disposeReleased(_ pass: borrowing Pass) throws(Forked) {
    if closing.isReleasing { return }
    if givesRecords, !closing.hasBegun {
      // Outside `takeTicks` they wait for it.
      while records.areTaken, !isSuspended, let released = batch.takeReleased() {
        if let kept = try disposeIntoRecords(released, pass) { return batch.appendReleased(kept) }
      }
    } else {
      while !isSuspended, let released = batch.takeReleased() { try dispose(released, pass.frame) }
    }
  }

  // MARK: Functions

  private func runFunctions(_ limit: Limit, since before: Int, _ pass: borrowing Pass) throws(Forked) {
    // Only those that are there now: what they put on the queue runs in the next slice. In calls with a limit, those that
    // have not had their turn go on, and others come behind ticks that are due.
    if functionsAhead == 0 || !limit.isOfCalls { functionsAhead = functions.count() }
    var left = functionsAhead
    // Any other slice runs all that wait, as one batch.
    if limit.end == .max || limit.count == 0 { left = min(left, limit.count - (delivered - before)) }
    while left > 0, !isSuspended {
      guard let item = functions.next() else {
        functionsAhead = 0
        return
      }
      left -= 1
      functionsAhead -= 1
      if let handOver {
        // Counted by `async` (P7b).
        handOver.add(item)
      } else if records.areTaken, !closing.hasBegun {
        records.append(item, at: control.wallTime(control.now))
      } else {
        try run(item)
      }
      delivered += 1
      if isOver(limit) { return }
    }
  }

  /// Runs `body`, a series of callbacks on a thread that the host did not create, between the host's hooks.
  @inline(never)
  func withHooks(_ body: () throws(Forked) -> Void) throws(Forked) {
    @inline(never)
    func betweenHooks() throws(Forked) {
      guard let hooks else { return try body() }
      try closing.counting { () throws(Forked) in try hooks.enter?(hooks.context) }
      try body()
      try closing.counting { () throws(Forked) in try hooks.leave?(hooks.context) }
    }
    try onHostsTerms(betweenHooks)
  }

  /// Runs callbacks. The thread can be cancelled if the host's can.
  func onHostsTerms(_ body: () throws(Forked) -> Void) throws(Forked) {
    if let host = driver.hostCancellation { return try host.allow(body) }
    driver.borrowsThread ? try OwnThread.borrow(body) : try body()
  }

  /// Takes the room that was made for more slots. Of two who make some at once the one with less may be the later (P14i).
  @inline(never)
  func takeScratch(_ pass: borrowing Pass) {
    guard let scratch = control.takeScratch() else { return }
    if scratch.slots <= batch.room { return scratch.unmap() }
    if let handOver { handOver.move(to: scratch.deliveries) } else { records.outstanding.move(to: scratch.outstanding) }
    batch.move(to: scratch)
  }
}

extension QueueCore {
  /// Moves the timers that follow the wall clock, if it was stepped since the last pass. Those that another thread is writing,
  /// which may stand still, are looked at again later.
  fileprivate func followWallClock(_ pass: borrowing Pass) {
    // On any clock: the step may have been meant for an earlier queue of the control block.
    let hasStepped = control.takeStep()
    guard control.isWall else { return }
    let areMoved = control.followWallOffset(hasStepped || wallLookTime != .max)
    wallLookTime = areMoved ? .max : control.now.saturatingAdd(Tunables.writer)
  }
}

/// Cancelling and releasing.
extension TimerRef {
  /// Stops the timer; ignored unless running or suspended. One compare-and-swap for a timer without a side record.
  @inline(__always)
  package func cancel() -> Status {
    var backoff = Backoff()
    while true {
      guard let word, let state = word.state else { return .invalidHandle }
      if word.hasWriter {
        backoff.pause()
        continue
      }
      guard Transition(from: state, on: .cancel).next != nil else { return .ignored }
      if slot.hasSideRecord || word.generation == TimerWord.generationMask { return cancelSlowly() }
      if slot.swap(word, for: word.with(.cancelled).withNextGeneration.withoutPostponement) {
        if state == .running { control.noteEnd(of: slot) }
        Trace.note(.cancelled, self)
        return word.isBusy ? .running : .ok
      }
    }
  }

  @inline(never)
  private func cancelSlowly() -> Status {
    guard var word = beginWriting() else { return .invalidHandle }
    let before = word
    guard let state = word.state, Transition(from: state, on: .cancel).next != nil else {
      abandonWriting(before)
      return .ignored
    }
    guard advanceGeneration(&word) else {
      abandonWriting(before)
      return .noMemory
    }
    if let sideRecord = slot.sideRecord {
      sideRecord.update { sideRecord in sideRecord.firePending = false }
      if sideRecord.value.cancelHandler != nil { sideRecord.addCallback(.cancelled) }
    }
    let isBusy = endWriting(word.with(.cancelled).withoutPostponement.withPendingCallback(of: slot))
    Trace.note(.cancelled, self)
    return isBusy ? .running : .ok
  }

  /// Cancels, then waits until no callback of the timer runs. Waits for a handler.
  /// - Parameter timeout: 0 or more; `Int64.max` without end.
  package func cancelAndWait(timeout: Int64) -> Status {
    let status = cancel()
    if status.isFailure || !isBusy { return status == .running ? .ok : status }
    if control.givesRecords, control.core?.hasOutstandingRecordsHere == true { return .wouldDeadlock }
    let waited = WaitRegistry.wait(for: .timer(self), timeout: timeout)
    return waited == .ok && status == .ignored ? .ignored : waited
  }

  /// Whether a callback of the timer runs.
  var isBusy: Bool {
    let word = slot.wordInOrder
    return word.isBusy && slot.version == version
  }

  /// Has whoever ends the callback of the timer that runs wake those who wait; false when none runs
  /// (P6, Sources/README.md).
  func requestWakeUp() -> Bool {
    while true {
      let word = slot.word
      guard word.isBusy, slot.version == version else { return false }
      if word.isWaited || slot.swap(word, for: word.setting(TimerWord.waitedBit)) { return true }
    }
  }

  /// Ends the timer: the id is stale at once. One compare-and-swap for a timer that has no side record and is not busy;
  /// otherwise whoever is last, this call, the running handler or the pass, frees it.
  @inline(__always)
  package func release() -> Status {
    var backoff = Backoff()
    while true {
      guard let word else { return .invalidHandle }
      if word.hasWriter {
        backoff.pause()
        continue
      }
      if word.isBusy || slot.hasSideRecord { return releaseSlowly() }
      let free = word.with(code: TimerWord.freeCode).withNextGeneration.withoutPostponement
      guard slot.swap(word, for: free.clearing(TimerWord.callbackPendingBit)) else { continue }
      let control = control
      if word.isRunning { control.noteEnd(of: slot) }
      // A side record can have come between the look and the swap; it holds named handlers at most, which end with it.
      slot.endSideRecord()
      control.giveBack(slot, ThreadState.obtain())
      Trace.note(.released, self)
      return .ok
    }
  }

  @inline(never)
  private func releaseSlowly() -> Status {
    guard let word = beginWriting() else { return .invalidHandle }
    if let sideRecord = slot.sideRecord, sideRecord.value.cancelHandler != nil,
      word.state == .running || word.state == .suspended
    {
      sideRecord.addCallback(.cancelled)
    }
    let released = word.with(code: TimerWord.releasedCode).withNextGeneration.withoutPostponement
      .clearing(TimerWord.callbackPendingBit)
    // While it is busy the slot is left to the handler's end; otherwise it stays this thread's, as its writer.
    while true {
      let current = slot.word
      let next = released.over(current)
      guard slot.swap(current, for: current.isBusy ? next.clearing(TimerWord.writerBit) : next.setting(TimerWord.writerBit))
      else { continue }
      WriterImages.finish(current.image)
      let control = control
      // Of a timer that did not run, too: who watches it may have seen that it is being written, and no more.
      control.noteEnd(of: slot)
      Trace.note(.released, self)
      if current.isBusy { return .running }
      slot.dispose(control)
      return .ok
    }
  }
}

extension TimerSlot {
  /// Frees a released slot that the caller owns (it is writer), or sends it to the queue if callbacks or a finalizer
  /// have to run there first.
  func dispose(_ control: QueueControlBlock) {
    if let sideRecord, sideRecord.hasLastWork {
      while true {
        let current = word
        var next = current.clearing(TimerWord.writerBit)
        if !current.isInInbox { next = next.setting(TimerWord.inboxBit) }
        guard swap(current, for: next) else { continue }
        if !current.isInInbox { control.push(self) }
        // Here and now, on queues whose passes run inside calls: and then the thread may end here.
        ThreadEnd.passOn { control.wakeToDispose() }
        return
      }
    }
    free(control)
    if control.id == 0 { control.wakeToDispose() }
  }

  /// Makes a released slot that the caller owns free, and wakes who waited for its last callback.
  func free(_ control: QueueControlBlock) {
    endSideRecord()
    var current = word
    while !swap(
      current, for: current.with(code: TimerWord.freeCode).clearing(TimerWord.writerBit | TimerWord.waitedBit))
    { current = word }
    let index = index
    control.giveBack(self, ThreadState.obtain())
    if current.isWaited { WaitRegistry.timerEnded(index) }
  }
}

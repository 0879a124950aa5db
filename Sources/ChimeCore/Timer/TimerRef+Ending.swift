import Synchronization

/// Cancelling and releasing.
extension TimerRef {
  /// Stops the timer; unless running or suspended, drops an extra tick at most.
  @inline(never)
  package func cancel() -> Status {
    guard let writing = beginWriting() else { return stale }
    guard let next = writing.next(on: .cancel) else { return dropExtraTick(writing, .cancelled) }
    var word = writing.before.with(next).withoutPostponement
    writing.advanceGeneration(&word)
    writing.sideRecord?.noteStop()
    word = writing.withPendingCallback(word)
    let isBusy = writing.finish(word)
    return Trace.noteLast(.cancelled, self, isBusy ? .running : .ok)
  }

  /// Ends the writing of a cancel or suspend that means nothing in the timer's state: what there may be to stop is an extra
  /// tick that has not started.
  @inline(never)
  func dropExtraTick(_ writing: consuming Writing, _ event: Trace.Event) -> Status {
    guard let sideRecord = writing.sideRecord, sideRecord.writerFields.firePending else {
      return writing.ignore()
    }
    var word = writing.before
    writing.advanceGeneration(&word)
    sideRecord.writerFields.firePending = false
    word = writing.withPendingCallback(word)
    let isBusy = writing.finish(word)
    return Trace.noteLast(event, self, isBusy ? .running : .ok)
  }

  /// Cancels, then waits until no callback of the timer runs. Waits for a handler.
  ///
  /// What the callback has started again is cancelled by its end (`QueueCore.end`), or here, if it ended before that could
  /// know of the waiting thread. The last cancel finds no callback running, as in Linux's `del_timer_sync`.
  /// - Parameter timeout: 0 or more; `Int64.max` without limit.
  package func cancelAndWait(timeout: Int64) -> Status {
    var status = cancel()
    var hasCancelled = status == .running
    guard status.isRunning else { return status }
    let end = Clock.monotonic.now.saturatingAdd(timeout)
    var left = timeout
    repeat {
      let waited = waitForCallback(timeout: left, cancels: true)
      if waited != .ok { return waited }
      if timeout != .max { left = max(0, end.saturatingSubtract(Clock.monotonic.now)) }
      if word == nil { continue }  // Released meanwhile, so it starts no more.
      status = cancel()
      if status == .ok || status == .running { hasCancelled = true }
    } while word == nil ? isBusy : status.isRunning
    return hasCancelled ? .ok : .ignored
  }

  /// Releases, then waits until no callback of the timer runs. Waits for a handler.
  /// - Parameter timeout: 0 or more; `Int64.max` without limit.
  package func releaseAndWait(timeout: Int64) -> Status {
    let status = release()
    guard status.isRunning else { return status }
    let waited = waitForCallback(timeout: timeout)
    return waited == .ok && status == .ignoredRunning ? .ignored : waited
  }

  /// Waits until no callback of the timer runs.
  private func waitForCallback(timeout: Int64, cancels: Bool = false) -> Status {
    if !isBusy { return .ok }
    if control.givesRecords, control.core?.hasOutstandingRecordsHere == true { return refuseAsRecordOfCaller() }
    return WaitRegistry.wait(for: .timer(self, cancels: cancels), timeout: timeout)
  }

  /// Whether a callback of the timer runs.
  var isBusy: Bool {
    let word = slot.wordInOrder
    return word.isBusy && slot.version == version
  }

  /// What follows the swap that has freed the slot.
  @inline(never)
  func finishRelease(_ writing: consuming Writing) -> Status {
    let control = control
    if writing.before.isRunning { control.wakeRunIfWatched(slot) }
    // A side record can have been added between the look and the swap. It holds named handlers at most, which end with
    // it.
    writing.endSideRecord()
    let owned = slot.ownedContext
    control.free(writing, ThreadState.obtain())
    return .of { () throws(Forked) in
      try Trace.note(.released, self)
      owned?.releaseObject()
      return .ok
    }
  }

  /// Ends the timer: the id is stale at once. The last of this call, the running handler and the pass frees it. Ignored
  /// if it ended with its queue, as long as that can be seen, and no callback of it runs.
  /// - Parameter withQueue: its queue ends, which is the caller.
  @inline(never)
  package func release(withQueue: Bool = false) -> Status {
    guard let writing = beginWriting() else {
      let word = slot.word
      return slot.hasEndedWithQueue(word, version) ? word.isBusy ? .ignoredRunning : .ignored : stale
    }
    let word = writing.before
    if word.state == .running || word.state == .suspended { writing.sideRecord?.noteStop() }
    let released = word.released.clearing(TimerWord.callbackPendingBit)
    let control = control
    if control.isLimited { control.noteReleased(writing) }
    let kept = writing.commit(released: withQueue ? released.endedWithQueue(version) : released)
    // Even if the timer was not running: its watcher may have seen only that it was being written.
    control.wakeRunIfWatched(slot)
    guard let kept else { return Trace.noteLast(.released, self, .running) }
    do { try freeOrRetire(kept, withQueue) } catch { return .inChild }
    return .ok
  }

  /// Frees a released slot, or sends it to the queue if callbacks or a finalizer
  /// have to run there first; and reports the release, when nobody waits for the caller any more. A queue that ends calls
  /// nothing back until the ids of all its timers are stale.
  private func freeOrRetire(_ writing: consuming Writing, _ withQueue: Bool) throws(Forked) {
    let control = control
    if writing.sideRecord?.hasLastWork == true || control.id == 0 && slot.ownedContext != nil {
      writing.retire(control)
      try Trace.note(.released, self)
      // On queues whose passes run inside calls this happens here and now, and the thread may end here.
      if !withQueue { try ThreadEnd.passOn { () throws(Forked) in try control.wakeToDispose() } }
      return
    }
    let owned = writing.freeKeepingContext(control)
    try Trace.note(.released, self)
    try Fork.guarded { owned?.releaseObject() }
    if control.id == 0, !withQueue { try control.wakeToDispose() }
  }
}

extension Writing {
  /// Makes a released slot free, wakes who waited for its last callback, and releases the context if the timer owns it.
  consuming func free(_ control: QueueControlBlock) throws(Forked) {
    if let owned = freeKeepingContext(control) { try Fork.guarded { owned.releaseObject() } }
  }

  /// `free`, which leaves the context to the caller.
  fileprivate consuming func freeKeepingContext(_ control: QueueControlBlock) -> Context? {
    let index = slot.index
    endSideRecord()
    let owned = slot.ownedContext
    let isWaited = markFree()
    control.free(self, ThreadState.obtain(), released: control.isLimited)
    if isWaited { WaitRegistry.timerEnded(index) }
    return owned
  }
}

/// The end of a target, and with it of its timers.
extension TimerTarget {
  /// Drops a user's reference. With the last one the id is stale, the timers end, and the destructor is called, here or
  /// by the callback that still has the object: running.
  package static func releaseReference(_ id: UInt64) -> Status {
    let last: TimerTarget?
    do { last = try dropReference(id) } catch { return error }
    guard let last else { return .ok }
    return .of { () throws(Forked) in
      try last.endTimers()
      return try last.release() ? .ok : .running
    }
  }

  private func endTimers() throws(Forked) {
    // The words of the timers are read below, by loads that acquire: none of them before the references have ended
    // (P8b).
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    // A timer that is attached later is ended by its creator.
    while let (slot, version) = takeTimer() { try end(TimerRef(slot: slot, version: version)) }
  }

  /// Ends one timer of this target, which has gone.
  func end(_ timer: TimerRef) throws(Forked) {
    // Nobody holds a timer that releases itself, and no further handler will run after which it could do so.
    _ = try Fork.guarded {
      releasesTimers || timer.slot.flags.contains(.selfRelease) ? timer.release() : timer.cancel()
    }
  }
}

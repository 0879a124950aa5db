import Synchronization

/// All that is ever done to a slot's word: each change of it is one of these operations, a swap, a swap that is tried
/// again, or an atomic OR or AND of flags. Those that can fail take the word that the caller has read and decided on,
/// and say whether it was still the same. The rest keep what others may change meanwhile (see `TimerWord.merging`).
extension TimerSlot {
  @inline(__always)
  var word: TimerWord { unsafe TimerWord(cell.pointee.word.load(ordering: .acquiring)) }

  /// The word, read in the one order of all sequentially consistent operations: after this thread's push, or the
  /// position it has stored (see `QueueControlBlock.nextWakeUp`, `WheelPosition`; P2, P5, P6, P8).
  @inline(__always)
  var wordInOrder: TimerWord { unsafe TimerWord(cell.pointee.word.load(ordering: .sequentiallyConsistent)) }

  /// Swaps the word if it is still `expected`. Sequentially consistent, because the swapping thread reads its queue's
  /// `nextWakeUp`, the position, `watched` or the id afterwards (P1, P2, P5, P8). Called from here
  /// only, and by tests.
  @inline(__always)
  func swap(_ expected: TimerWord, for new: TimerWord) -> Bool {
    let isSwapped = unsafe cell.pointee.word.compareExchange(
      expected: expected.bits, desired: new.bits, ordering: .sequentiallyConsistent
    ).exchanged
    if isSwapped { checkLife(expected, new) }
    return isSwapped
  }

  /// Swaps the word for what `next` makes of it, again if it has changed meanwhile. Gives the word that the new one took
  /// the place of.
  @inline(__always)
  @discardableResult
  private func change(_ next: (TimerWord) -> TimerWord) -> TimerWord {
    while true {
      let current = word
      if swap(current, for: next(current)) { return current }
    }
  }

  // MARK: In one swap

  /// Makes a free slot, which is the caller's alone and has its cell filled in, a timer of the queue with that id;
  /// false if that queue was released before.
  ///
  /// The word is read before the id. A release takes the id away, then changes the word of every free slot: so either
  /// this sees that the id has gone, or the swap fails, or the release finds the timer (P8). A timer
  /// that a pass has to look at is linked in the inbox already when the word is swapped, which asks for the flag (P1).
  @inline(__always)
  func publish(
    _ state: TimerState, hasCallback: Bool = false, inInbox: Bool = true,
    on control: QueueControlBlock, of queue: UInt64
  ) -> Bool {
    while true {
      let free = word
      if inInbox, !free.isInInbox {
        // The end of a callback of the slot's last timer may be about to set it, too.
        if set(TimerWord.inboxBit) { control.push(self) }
        continue
      }
      guard control.id == queue else { return false }
      let timer = free.made(state)
      if swap(free, for: hasCallback ? timer.setting(TimerWord.callbackPendingBit) : timer) { return true }
    }
  }

  /// Tries `publish` once, for a slot that is already in the inbox, as a reused one usually is. Also false if it is not
  /// there.
  @inline(__always)
  func publishFast(_ state: TimerState, on control: QueueControlBlock, of queue: UInt64) -> Bool {
    let free = word
    return free.isInInbox && control.id == queue && swap(free, for: free.made(state))
  }

  /// Makes sure that a `publish` which has looked at the queue's id before this fails.
  func invalidate(_ free: TimerWord) -> Bool { swap(free, for: free.withNextGeneration) }

  /// Cancels a timer that runs or is suspended and has no side record.
  @inline(__always)
  func cancel(_ word: TimerWord) -> Bool { swap(word, for: word.cancelled) }

  /// Moves the deadline of a running timer: `moved` is the word with another postponement. Succeeds only if the
  /// deadline read beside `word` belonged to it.
  @inline(__always)
  func postpone(_ word: TimerWord, _ moved: TimerWord) -> Bool { swap(word, for: moved) }

  /// Frees the slot of a timer that is not busy and had no side record.
  @inline(__always)
  func release(_ word: TimerWord) -> Bool { swap(word, for: word.freed) }

  // MARK: Writing

  /// Becomes the timer's writer, and sets flags in the word.
  @inline(__always)
  func beginWriting(_ word: TimerWord, setting flags: UInt64 = 0) -> Bool {
    swap(word, for: word.setting(flags | TimerWord.writerBit))
  }

  /// Ends the writing with what the writer decided. Gives the word that this one took the place of.
  @inline(__always)
  @discardableResult
  func endWriting(_ new: TimerWord) -> TimerWord {
    change { current in new.merging(foreignFlagsOf: current).clearing(TimerWord.writerBit) }
  }

  /// Ends the writing with the slot in the inbox at that moment. It is linked there before the word can be seen without a
  /// writer: so whoever meets the flag of a timer that nobody writes knows that a pass will find it. (Only a callback's
  /// end, and `retire`, link after they have set the flag, and look or wake afterwards: see `QueueCore.sendOn`;
  /// P1, P1d.)
  @discardableResult
  func endWriting(_ new: TimerWord, inInboxOf control: QueueControlBlock) -> TimerWord {
    while true {
      let current = word
      if !current.isInInbox {
        link(into: control)
      } else if swap(current, for: new.merging(foreignFlagsOf: current).clearing(TimerWord.writerBit)) {
        return current
      }
    }
  }

  /// Ends the writing of a timer at rest that releases itself: the end of its callback does that, or, where none runs, of
  /// one that a pass makes for this and that calls nothing.
  func endWriting(atRest new: TimerWord, inInboxOf control: QueueControlBlock) -> TimerWord {
    while true {
      let current = word
      if !current.isBusy, !current.isInInbox {
        link(into: control)
        continue
      }
      let next = new.merging(foreignFlagsOf: current).clearing(TimerWord.writerBit)
      if swap(current, for: current.isBusy ? next : next.setting(TimerWord.callbackPendingBit)) { return current }
    }
  }

  /// Ends the writing with a released timer. While it is busy the slot is left to the handler's end; otherwise it stays
  /// this thread's, as its writer. Gives the word that this one took the place of.
  func endWriting(released new: TimerWord) -> TimerWord {
    change { current in
      let next = new.merging(foreignFlagsOf: current)
      return current.isBusy ? next.clearing(TimerWord.writerBit) : next.setting(TimerWord.writerBit)
    }
  }

  // MARK: A callback

  /// Claims the timer for a callback (P4).
  @inline(__always)
  func claim(_ word: TimerWord, _ busy: TimerWord) -> Bool { swap(word, for: busy) }

  /// Ends a callback: the timer is no longer busy. Gives the word, and the one that it took the place of. A timer that has
  /// been released is then this thread's, as its writer. One that releases itself with this end, having nothing left to do, is
  /// so, too; or its slot is free already, and this thread's, if nothing of it is left. Waits for a writer only where the
  /// timer might release itself.
  /// - Parameter word: perhaps the timer's.
  @inline(__always)
  func endCallback(_ word: TimerWord) -> (old: TimerWord, new: TimerWord) {
    var spinWait = SpinWait()
    var current = word
    while true {
      var next = current.clearing(TimerWord.busyBit | TimerWord.waitedBit)
      if current.isReleased {
        next = next.beingWritten
      } else if current.isOver, flags.contains(.selfRelease), !current.hasPendingCallback {
        if current.hasWriter {
          spinWait.pause()
          current = self.word
          continue
        }
        next = !hasSideRecord && ownedContext == nil ? next.freed : next.released.beingWritten
      }
      if swap(current, for: next) { return (current, next) }
      current = self.word
    }
  }

  /// Has whoever ends the callback of the timer that runs wake those who wait; false if none runs (P6).
  func requestWakeUp(of version: UInt32) -> Bool {
    while true {
      let word = word
      guard word.isBusy, self.version == version else { return false }
      if word.isWaited || swap(word, for: word.setting(TimerWord.waitedBit)) { return true }
    }
  }

  // MARK: A released slot

  /// Becomes the owner of a released slot that nobody owns (P4c).
  func tryAcquireReleased() -> Bool {
    while true {
      let word = word
      guard word.isReleased, !word.isBusy, !word.hasWriter else { return false }
      if swap(word, for: word.setting(TimerWord.writerBit)) { return true }
    }
  }

  /// Gives a released slot up, which a pass will find in the inbox. The caller owned it.
  func retire(_ control: QueueControlBlock) {
    let replaced = change { current in current.clearing(TimerWord.writerBit).setting(TimerWord.inboxBit) }
    if !replaced.isInInbox { control.push(self) }
  }

  /// Makes a released slot free that the caller owns. True if somebody waits for the end of its last callback.
  func markFree() -> Bool {
    change { current in
      current.with(code: TimerWord.freeCode).clearing(TimerWord.writerBit | TimerWord.waitedBit)
    }.isWaited
  }

  // MARK: Flags

  /// Links the slot in the inbox unless it is there.
  func link(into control: QueueControlBlock) {
    if !word.isInInbox, set(TimerWord.inboxBit) { control.push(self) }
  }

  /// Sets one flag; false if it was set.
  func set(_ flag: UInt64) -> Bool {
    let old = unsafe TimerWord(cell.pointee.word.bitwiseOr(flag, ordering: .sequentiallyConsistent).oldValue)
    checkLife(old, old.setting(flag))
    return old.bits & flag == 0
  }

  /// Clears flags; the word as it was before.
  @inline(__always)
  func clear(_ flags: UInt64) -> TimerWord {
    let old = unsafe TimerWord(cell.pointee.word.bitwiseAnd(~flags, ordering: .sequentiallyConsistent).oldValue)
    checkLife(old, old.clearing(flags))
    return old
  }
}

/// The check of a slot's life: which words may follow one another.
extension TimerSlot {
  /// After a change of the word.
  @inline(__always)
  func checkLife(_ old: TimerWord, _ new: TimerWord) {
    guard invariantsAreChecked, !new.mayFollow(old) else { return }
    invariantFailure("a slot's word that must not follow", Int64(bitPattern: old.bits), Int64(bitPattern: new.bits))
  }
}

extension TimerWord {
  fileprivate func mayFollow(_ old: TimerWord) -> Bool {
    // Nothing but flags changes beside a writer; it keeps what it releases.
    if old.hasWriter, hasWriter, !isReleased, writersOwn != old.writersOwn { return false }
    // A callback starts by its claim, for a released timer by the slot's owner, or with the swap that ends a one-shot (P4).
    if isBusy, !old.isBusy, !hasWriter { return old.isRunning && state == .finished }
    if isFree { return !isBusy && !hasWriter && !hasPendingCallback }
    if code == old.code { return true }
    if isReleased { return old.isLive }
    guard let state else { return false }
    guard let before = old.state else { return old.isFree && (state == .idle || state == .running) }
    // As the table of `Transition` says.
    switch state {
    case .idle: return false
    case .running: return true
    case .suspended, .finished: return before == .running
    case .cancelled: return !before.isAtRest
    }
  }
}

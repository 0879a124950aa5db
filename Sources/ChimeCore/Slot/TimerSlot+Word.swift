import Synchronization

/// All that is ever done to the word of a slot that others may know, here and by a `Writing`: a swap, a swap that is tried
/// again, or an atomic OR or AND of flags. Those that can fail take the word that the caller has read and decided on, and
/// say whether it was still the same. The rest keep what others may change meanwhile (see `TimerWord.merging`).
extension TimerSlot {
  var word: TimerWord { TimerWord(cell.word.load(ordering: .acquiring)) }

  /// The word, read in the one order of all sequentially consistent operations: after this thread's push, or the
  /// position it has stored (see `QueueControlBlock.nextWakeUp`, `WheelPosition`; P2, P5, P6, P8).
  var wordInOrder: TimerWord { TimerWord(cell.word.load(ordering: .sequentiallyConsistent)) }

  /// Swaps the word if it is still `expected`. Sequentially consistent, because the swapping thread reads its queue's
  /// `nextWakeUp`, the position, `watched` or the id afterwards (P1, P2, P5, P8). Called from here,
  /// from `Writing.swift` and by tests.
  func swap(_ expected: TimerWord, for new: TimerWord) -> Bool {
    let isSwapped = cell.word.compareExchange(
      expected: expected.bits, desired: new.bits, ordering: .sequentiallyConsistent
    ).exchanged
    if isSwapped { checkLife(expected, new) }
    return isSwapped
  }

  /// Swaps the word for what `next` makes of it, again if it has changed meanwhile. Gives the word that the new one took
  /// the place of.
  @discardableResult
  func changeWord(_ next: (TimerWord) -> TimerWord) -> TimerWord {
    while true {
      let current = word
      if swap(current, for: next(current)) { return current }
    }
  }

  // MARK: In one swap

  /// Makes sure that a `publish` which has looked at the queue's id before this fails.
  func invalidate(_ free: TimerWord) -> Bool { swap(free, for: free.withNextGeneration) }

  /// Cancels a timer that runs or is suspended and has no side record.
  func cancel(_ word: TimerWord) -> Bool { swap(word, for: word.cancelled) }

  /// Moves the deadline of a running timer: `moved` is the word with another postponement. Succeeds only if the
  /// deadline read beside `word` belonged to it.
  func postpone(_ word: TimerWord, _ moved: TimerWord) -> Bool { swap(word, for: moved) }

  // MARK: A callback

  /// Claims the timer for a callback (P4).
  func claim(_ word: TimerWord, _ busy: TimerWord) -> Bool { swap(word, for: busy) }

  /// Ends a callback: the timer is no longer busy. Gives the word, and the one that it took the place of. A timer that has
  /// been released is then this thread's, as its writer. One that releases itself with this end, having nothing left to do, is
  /// so, too; or its slot is free already, and this thread's, if nothing of it is left. Where there is a writer, that is left
  /// to it (P4e).
  /// - Parameter word: perhaps the timer's.
  @inline(__always)
  func endCallback(_ word: TimerWord) -> (old: TimerWord, new: TimerWord) {
    var current = word
    while true {
      if let next = tryEndCallback(current) { return (current, next) }
      current = self.word
    }
  }

  /// `endCallback` of the timer with that word; `nil` if it has changed.
  func tryEndCallback(_ word: TimerWord) -> TimerWord? {
    var next = word.clearing(TimerWord.busyBit | TimerWord.waitedBit)
    if word.isReleased {
      next = next.beingWritten
    } else if word.isOver, flags.contains(.selfRelease), !word.hasPendingCallback, !word.hasWriter {
      next = !hasSideRecord && ownedContext == nil ? next.freed : next.released.beingWritten
    }
    return swap(word, for: next) ? next : nil
  }

  /// Asks the end of the callback that runs to wake those who wait; false if none runs (P6).
  func requestWakeUp(of version: UInt32) -> Bool {
    while true {
      let word = word
      guard word.isBusy, self.version == version else { return false }
      if word.isWaited || swap(word, for: word.setting(TimerWord.waitedBit)) { return true }
    }
  }

  // MARK: Flags

  /// Links the slot in the inbox unless it is there.
  func link(into control: QueueControlBlock) {
    if !word.isInInbox, set(TimerWord.inboxBit) { control.push(self) }
  }

  /// Sets one flag; false if it was set.
  func set(_ flag: UInt64) -> Bool {
    let old = TimerWord(cell.word.bitwiseOr(flag, ordering: .sequentiallyConsistent).oldValue)
    checkLife(old, old.setting(flag))
    return old.bits & flag == 0
  }

  /// Clears flags; the word as it was before.
  func clear(_ flags: UInt64) -> TimerWord {
    let old = TimerWord(cell.word.bitwiseAnd(~flags, ordering: .sequentiallyConsistent).oldValue)
    checkLife(old, old.clearing(flags))
    return old
  }
}

/// The check of a slot's life: which words may follow one another.
extension TimerSlot {
  /// After a change of the word.
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

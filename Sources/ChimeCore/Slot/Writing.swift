/// The right to store a slot's cell, which one thread at a time has: as its timer's writer, or with a slot that is
/// free or released and in no list. Others may read meanwhile (P3, P3b).
///
/// It is given up by a method that consumes it: `commit`, `finish`, `undo`, `publish`, `retire` or `free`. A timer whose
/// writer forgets that could never be changed again, and all who try would wait. So the checked build fails there.
struct Writing: ~Copyable {
  let slot: TimerSlot
  /// The word that the writer found; of a slot that was free, none.
  let before: TimerWord

  fileprivate init(_ slot: TimerSlot, _ before: TimerWord) {
    self.slot = slot
    self.before = before
    #if DEBUG || CHIME_CHECKS
      deadlineBefore = slot.deadline
    #endif
  }

  /// With a free slot that was taken out of a list.
  init(free slot: TimerSlot) {
    self.init(slot, TimerWord(0))
    if invariantsAreChecked, !slot.word.isFree {
      invariantFailure("a slot in use among free ones", Int64(slot.index.number), Int64(bitPattern: slot.word.bits))
    }
  }

  /// With the slot of a released timer, whose word says that it is being written: by whoever swapped that, or has kept
  /// the slot since.
  init(released slot: TimerSlot) {
    self.init(slot, slot.word)
    if invariantsAreChecked, !before.isReleased || !before.hasWriter {
      invariantFailure("a slot that was not released", Int64(slot.index.number), Int64(bitPattern: before.bits))
    }
  }

  #if DEBUG || CHIME_CHECKS
    private var isOver = false
    private let forkMark = Fork.mark
    private let deadlineBefore: Int64

    deinit {
      // In a forked child nothing of the parent's goes on.
      if !isOver, forkMark == Fork.mark {
        invariantFailure(
          "a timer's writer that has not ended", Int64(slot.index.number), Int64(bitPattern: before.bits))
      }
    }
  #endif

  /// The right has gone with what was just done, or goes with what is about to be done.
  @discardableResult
  consuming func forget() -> TimerSlot {
    #if DEBUG || CHIME_CHECKS
      isOver = true
    #endif
    return slot
  }
}

// MARK: Becoming the writer

extension TimerSlot {
  /// Becomes the timer's writer, and sets flags in the word; `nil` if the word has changed.
  func beginWriting(_ word: TimerWord, setting flags: UInt64 = 0) -> Writing? {
    swap(word, for: word.setting(flags | TimerWord.writerBit)) ? Writing(self, word) : nil
  }

  /// Makes the slot of a timer that is not busy, and had no side record, a free one, which stays this thread's; `nil` if the
  /// word has changed.
  func tryFree(_ word: TimerWord) -> Writing? { swap(word, for: word.freed) ? Writing(self, word) : nil }

  /// Becomes the owner of a released slot; `nil` if another thread owns it (P4c).
  func tryAcquireReleased() -> Writing? {
    while true {
      let word = word
      guard word.isReleased, !word.isBusy, !word.hasWriter else { return nil }
      if let writing = beginWriting(word) { return writing }
    }
  }
}

// MARK: Giving it up, by a swap of the word

extension Writing {
  /// Makes a free slot, which has its cell filled in, a timer of the queue with that id, and gives `nil`; the slot is still
  /// the caller's if that queue was released before.
  ///
  /// The word is read before the id. A release takes the id away, then changes the word of every free slot: so either
  /// this sees that the id has gone, or the swap fails, or the release finds the timer (P8). A timer
  /// that a pass has to look at is linked in the inbox already when the word is swapped, which asks for the flag (P1).
  consuming func publish(
    _ state: TimerState, hasCallback: Bool = false, inInbox: Bool = true,
    on control: QueueControlBlock, of queue: UInt64
  ) -> Writing? {
    while true {
      let free = slot.word
      if inInbox, !free.isInInbox {
        // The end of a callback of the slot's last timer may be about to set it, too.
        if slot.set(TimerWord.inboxBit) { control.push(slot) }
        continue
      }
      guard control.id == queue else { return self }
      let timer = free.made(state)
      if slot.swap(free, for: hasCallback ? timer.setting(TimerWord.callbackPendingBit) : timer) {
        forget()
        return nil
      }
    }
  }

  /// Tries `publish` once, for a slot that is already in the inbox, as a reused one usually is. The slot is also still the
  /// caller's if it is not there.
  @inline(__always)
  consuming func publishFast(_ state: TimerState, on control: QueueControlBlock, of queue: UInt64) -> Writing? {
    let free = slot.word
    guard free.isInInbox && control.id == queue && slot.swap(free, for: free.made(state)) else { return self }
    forget()
    return nil
  }

  /// Ends the writing with what the writer decided. Gives the word that this one took the place of.
  @discardableResult
  consuming func commit(_ new: TimerWord) -> TimerWord {
    checkMove(new)
    return commit(new, maybeInInboxOf: nil)
  }

  /// Ends the writing with the slot in the inbox at that moment. It is linked there before the word can be seen without a
  /// writer: so whoever meets the flag of a timer that nobody writes knows that a pass will find it. (Only a callback's
  /// end, and `retire`, link after they have set the flag, and look or wake afterwards: see `QueueCore.sendOn`;
  /// P1, P1d.)
  @discardableResult
  consuming func commit(_ new: TimerWord, inInboxOf control: QueueControlBlock) -> TimerWord {
    checkMove(new)
    return commit(new, maybeInInboxOf: control)
  }

  @inline(__always)
  private consuming func commit(
    _ new: TimerWord, maybeInInboxOf control: QueueControlBlock?, restIsDone: Bool = false
  ) -> TimerWord {
    while true {
      let current = slot.word
      if !restIsDone, leavesRest(current) { return commitWithRest(new, control) }
      if let control, !current.isInInbox {
        slot.link(into: control)
      } else if slot.swap(current, for: new.merging(foreignFlagsOf: current).clearing(TimerWord.writerBit)) {
        forget()
        return current
      }
    }
  }

  /// Whether a callback of the timer has ended beside this writer, and may have left the rest of its end to it (P4e).
  private func leavesRest(_ current: TimerWord) -> Bool {
    before.isBusy && !current.isBusy && !slot.flags.isDisjoint(with: [.selfRelease, .delayPolicy])
  }

  /// `commit` with the rest of that end: the timer that is over releases itself, or its interval counts from then.
  @inline(never)
  private consuming func commitWithRest(_ new: TimerWord, _ control: QueueControlBlock?) -> TimerWord {
    let owner = Slab.owner(of: slot)
    if slot.flags.contains(.selfRelease), new.isOver, !new.hasPendingCallback {
      let replaced = commit(atRest: new, inInboxOf: owner)
      owner.wakeIfEarlier(QueueControlBlock.atOnce)
      return replaced
    }
    let end = sideRecord?.takeCallbackEnd()
    let queue = owner.queue
    let counted = end.flatMap { queue?.counted(self, fromEnd: $0, new) }
    return commit(counted ?? new, maybeInInboxOf: control, restIsDone: true)
  }

  /// Ends the writing of a timer at rest that releases itself: the end of its callback does that, or, where none runs, of
  /// one that a pass makes for this and that calls nothing.
  consuming func commit(atRest new: TimerWord, inInboxOf control: QueueControlBlock) -> TimerWord {
    let slot = forget()
    while true {
      let current = slot.word
      if !current.isBusy, !current.isInInbox {
        slot.link(into: control)
        continue
      }
      let next = new.merging(foreignFlagsOf: current).clearing(TimerWord.writerBit)
      if slot.swap(current, for: current.isBusy ? next : next.setting(TimerWord.callbackPendingBit)) { return current }
    }
  }

  /// Ends the writing with a released timer. While it is busy the slot is left to the handler's end; otherwise it stays
  /// this thread's.
  consuming func commit(released new: TimerWord) -> Writing? {
    let replaced = slot.changeWord { current in
      let next = new.merging(foreignFlagsOf: current)
      return current.isBusy ? next.clearing(TimerWord.writerBit) : next.setting(TimerWord.writerBit)
    }
    if !replaced.isBusy { return self }
    forget()
    return nil
  }

  /// A one-shot whose deadline has moved has another word (`TimerWord`).
  private func checkMove(_ new: TimerWord) {
    #if DEBUG || CHIME_CHECKS
      guard before.isRunning, new.isRunning, slot.deadline != deadlineBefore, before.writersOwn == new.writersOwn,
        !slot.flags.contains(.repeating), !control.isWall
      else { return }
      invariantFailure("a deadline that has moved beside the same word", slot.deadline, deadlineBefore)
    #endif
  }

  /// Gives a released slot up, which a pass will find in the inbox.
  consuming func retire(_ control: QueueControlBlock) {
    let slot = forget()
    let replaced = slot.changeWord { current in current.clearing(TimerWord.writerBit).setting(TimerWord.inboxBit) }
    if !replaced.isInInbox { control.push(slot) }
  }

  /// Makes a released slot free, which stays this thread's. True if somebody waits for the end of its last callback.
  func markFree() -> Bool {
    slot.changeWord { current in
      current.with(code: TimerWord.freeCode).clearing(TimerWord.writerBit | TimerWord.waitedBit)
    }.isWaited
  }
}

/// A timer's writing, from its beginning to its end: what others have to do next is in the inbox then, and who has to do it
/// is woken.
extension TimerRef {
  /// Becomes the timer's writer; `nil` when the id is stale.
  /// - Parameter sending: the pass will have to look. The timer is sent to the inbox at once, which saves
  ///   `finish` a step.
  @inline(__always)
  func beginWriting(sending: Bool = false) -> Writing? {
    // The end of the writing reads the position. The locked operations until then would have that cache miss wait for
    // the cell's.
    Slab.prefetchPosition(of: slot)
    while let word = wordToChange {
      let sends = sending && !word.isInInbox
      if let writing = slot.beginWriting(word, setting: sends ? TimerWord.inboxBit : 0) {
        if sends { control.push(slot) }
        return writing
      }
    }
    return nil
  }
}

extension Writing {
  /// The control block of the timer's queue.
  var control: QueueControlBlock { Slab.owner(of: slot) }

  /// Ends the writing of a writer that has changed nothing. It wakes only who may have met the writer, or its flag. True if
  /// a callback of the timer was running at that moment.
  @discardableResult
  consuming func undo() -> Bool {
    let (slot, before) = (slot, before)
    let replaced = commit(before)
    let control = Slab.owner(of: slot)
    if !before.isRunning { control.wakeRunIfWatched(slot) }
    // Between flag and link a handler's end may have met the flag, and woken a pass that found nothing (P1d).
    if replaced.isInInbox, before.hasPendingCallback || before.isRunning {
      control.wakeIfEarlier(before.hasPendingCallback ? QueueControlBlock.atOnce : slot.wakeTime(before, control))
    }
    return replaced.isBusy
  }

  /// `undo` of a call that means nothing in the timer's state.
  consuming func ignore() -> Status { undo() ? .ignoredRunning : .ignored }

  /// `undo`, because of this.
  consuming func undo(_ status: Status) -> Status {
    undo()
    return status
  }

  /// Lets others see what the writer decided, puts the timer in the inbox if the pass has to look, and wakes the queue if
  /// it has to look earlier than planned. True if a callback of the timer was running at that moment.
  @discardableResult
  consuming func finish(_ new: TimerWord) -> Bool {
    let control = control
    let time = new.hasPendingCallback ? QueueControlBlock.atOnce : new.isRunning ? slot.wakeTime(new, control) : .max
    return finish(new, lookedAtBy: time, on: control)
  }

  /// Ends the writing of a running timer without a callback under way, of which the caller knows when it is due.
  @inline(__always)
  consuming func finish(_ new: TimerWord, due: Int64, on control: QueueControlBlock) {
    let time = TimerSlot.wakeTime(deadline: due, slot.leeway, control)
    _ = finish(new, lookedAtBy: time, on: control)
  }

  /// - Parameter time: the pass has to look at the timer by then; `Int64.max` if it does not have to.
  @inline(__always)
  private consuming func finish(_ new: TimerWord, lookedAtBy time: Int64, on control: QueueControlBlock) -> Bool {
    let slot = slot
    if time == .max {
      if new.isOver, slot.flags.contains(.selfRelease) { return finishForGood(new, on: control) }
      let replaced = commit(new)
      control.wakeRunIfWatched(slot)
      return replaced.isBusy
    }
    // The writer bit was set before this look: whatever the pass takes away from now on, it knows of the writer
    // (P2).
    let isPlaced = !new.hasPendingCallback && slot.isPlaced(by: time, control)
    let replaced = isPlaced ? commit(new) : commit(new, inInboxOf: control)
    // Even for one that is placed: whoever looked for the next deadline may have placed it there, and armed nothing.
    control.wakeIfEarlier(time)
    return replaced.isBusy
  }

  /// `finish` of a timer that is over, and may release itself now.
  @inline(never)
  private consuming func finishForGood(_ new: TimerWord, on control: QueueControlBlock) -> Bool {
    let slot = slot
    let isBusy = commit(atRest: new, inInboxOf: control).isBusy
    control.wakeRunIfWatched(slot)
    if !isBusy { control.wakeIfEarlier(QueueControlBlock.atOnce) }
    return isBusy
  }

  /// `finish`, with the word that `change` gives after it has stored a deadline that the former word's postponement does not
  /// fit: queries beside it find `due`, when the timer was due before.
  @discardableResult
  consuming func finish(former due: Int64, _ change: (borrowing Writing) -> TimerWord) -> Bool {
    let slot = slot
    var kept: Writing? = self
    return DueTimeSpill.keep(due, of: slot) {
      guard let writing = kept.take() else { return false }
      let new = change(writing)
      return writing.finish(new)
    }
  }
}

extension TimerSlot {
  /// Whether the wheel has an entry for the timer in time, which brings the pass: a timer that moves later leaves it
  /// there.
  fileprivate func isPlaced(by time: Int64, _ control: QueueControlBlock) -> Bool {
    let placed = Slab.position(of: self).tick ?? .max
    return placed <= WheelTicks.tick(notBefore: time, shift: control.shift)
  }

  /// The time at which the pass has to look at a running timer.
  @inline(__always)
  func wakeTime(_ word: TimerWord, _ control: QueueControlBlock) -> Int64 {
    TimerSlot.wakeTime(deadline: dueTime(word), leeway, control)
  }

  @inline(__always)
  static func wakeTime(deadline: Int64, _ leeway: CompactDuration, _ control: QueueControlBlock) -> Int64 {
    guard leeway.bits != 0, control.honoursLeeway else { return deadline }
    return Placement.time(deadline: deadline, leeway: leeway.nanoseconds)
  }
}

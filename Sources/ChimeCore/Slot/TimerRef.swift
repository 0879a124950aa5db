internal import CPlatform

/// A timer, as an id names it: a slot, and the version of the slot that the id means. Every operation of the C and
/// Swift interfaces is a method of this type; its files are by subject. Any thread, no waiting except where stated.
///
/// A timer changes in two ways. An operation reads the word, checks that the slot still has the id's version, and swaps
/// the word once; or, if it changes the cell, it takes the writer bit first, and the swap gives the bit back. A query
/// takes a snapshot. While the bit is held nothing is called back, and nothing but a timer's side record is allocated.
package struct TimerRef: Sendable {
  let slot: TimerSlot
  let version: UInt32
}

extension TimerRef {
  /// `nil` if no timer can ever have had this id. Each operation finds out itself whether the timer still lives.
  @inline(__always)
  package init?(_ id: UInt64) {
    guard let handle = Handle(id, kind: .timer), let (slot, _) = Slab.findWithOwner(of: id) else { return nil }
    self.init(slot: slot, version: handle.version)
  }

  /// The control block of the timer's queue.
  @inline(__always)
  var control: QueueControlBlock { Slab.owner(of: slot) }

  package var id: UInt64 { Handle.id(.timer, index: slot.index, version: version) }

  /// The word, if the timer lives. The version is read after the word: a later version is stored before its word is
  /// (P4b).
  @inline(__always)
  var word: TimerWord? {
    let word = slot.word
    return word.isLive && slot.version == version ? word : nil
  }

  /// The word for a change of the timer. Waits until nobody writes the timer.
  @inline(__always)
  var wordToChange: TimerWord? {
    guard let word else { return nil }
    return word.hasWriter ? waitToChange() : word
  }

  @inline(never)
  private func waitToChange() -> TimerWord? {
    var spinWait = SpinWait()
    while let word {
      if !word.hasWriter { return word }
      spinWait.pause()
    }
    return nil
  }

  // MARK: Writing

  /// Becomes the timer's writer and gives the word as it was; `nil` when the id is stale.
  /// - Parameter sending: the pass will have to look. The timer is sent to the inbox at once, which saves
  ///   `endWriting` a step.
  @inline(__always)
  func beginWriting(sending: Bool = false) -> TimerWord? {
    // The end of the writing reads the position. The locked operations until then would have that cache miss wait for
    // the cell's.
    Slab.prefetchPosition(of: slot)
    while let word = wordToChange {
      let sends = sending && !word.isInInbox
      if slot.beginWriting(word, setting: sends ? TimerWord.inboxBit : 0) {
        if sends { control.push(slot) }
        return word
      }
    }
    return nil
  }

  /// Carries an event out as the timer's writer; ignored where the table says so.
  /// - Parameter body: gets the word and the state that follows, and ends the writing, or throws the answer, having
  ///   changed nothing.
  @inline(__always)
  func carryOut(_ event: TimerEvent, _ body: (TimerWord, TimerState) throws(Status) -> Status) -> Status {
    guard let word = beginWriting(sending: event == .activate) else { return stale }
    do throws(Status) {
      guard let state = word.state, let next = Transition(from: state, on: event).next else { throw .ignored }
      return try body(word, next)
    } catch {
      abandonWriting(word)
      return error
    }
  }

  /// Ends the writing of a writer that has changed nothing, so that nobody has to be woken. True if a callback of the
  /// timer was running at that moment.
  @discardableResult
  func abandonWriting(_ before: TimerWord) -> Bool {
    let replaced = slot.endWriting(before)
    let control = control
    if !before.isRunning { control.noteEnd(of: slot) }
    // Between flag and link a handler's end may have met the flag, and woken a pass that found nothing (P1d).
    if replaced.isInInbox, before.hasPendingCallback || before.isRunning {
      control.wakeIfEarlier(before.hasPendingCallback ? QueueControlBlock.atOnce : wakeTime(before, control))
    }
    return replaced.isBusy
  }

  /// Lets others see what the writer decided, puts the timer in the inbox if the pass has to look, and wakes the queue if
  /// it has to look earlier than planned. True if a callback of the timer was running at that moment.
  @discardableResult
  func endWriting(_ new: TimerWord) -> Bool {
    let control = control
    let time = new.hasPendingCallback ? QueueControlBlock.atOnce : new.isRunning ? wakeTime(new, control) : .max
    return endWriting(new, lookedAtBy: time, on: control)
  }

  /// Ends the writing of a timer that is at rest, and may release itself now.
  func endWriting(atRest new: TimerWord) -> Bool {
    guard slot.flags.contains(.selfRelease), new.isOver, !new.hasPendingCallback else { return endWriting(new) }
    let control = control
    let isBusy = slot.endWriting(atRest: new, inInboxOf: control).isBusy
    control.noteEnd(of: slot)
    if !isBusy { control.wakeIfEarlier(QueueControlBlock.atOnce) }
    return isBusy
  }

  /// Ends the writing of a running timer without a callback under way, of which the caller knows when it is due.
  @inline(__always)
  func endWriting(_ new: TimerWord, due: Int64, on control: QueueControlBlock) {
    _ = endWriting(new, lookedAtBy: wakeTime(deadline: due, slot.leeway, control), on: control)
  }

  /// - Parameter time: the pass has to look at the timer by then; `Int64.max` if it does not have to.
  @inline(__always)
  private func endWriting(_ new: TimerWord, lookedAtBy time: Int64, on control: QueueControlBlock) -> Bool {
    if time == .max {
      let replaced = slot.endWriting(new)
      control.noteEnd(of: slot)
      return replaced.isBusy
    }
    // The writer bit was set before this look: whatever the pass takes away from now on, it knows of the writer
    // (P2).
    let isPlaced = !new.hasPendingCallback && isPlaced(by: time, control)
    let replaced = isPlaced ? slot.endWriting(new) : slot.endWriting(new, inInboxOf: control)
    // Even for one that is placed: whoever looked for the next deadline may have placed it there, and armed nothing.
    control.wakeIfEarlier(time)
    return replaced.isBusy
  }

  /// Whether the wheel has an entry for the timer in time, which brings the pass: a timer that moves later leaves it
  /// there.
  @inline(__always)
  private func isPlaced(by time: Int64, _ control: QueueControlBlock) -> Bool {
    let placed = Slab.position(of: slot).tick ?? .max
    return placed <= WheelTicks.tick(notBefore: time, shift: control.shift)
  }

  /// The time at which the pass has to look at a running timer.
  @inline(__always)
  func wakeTime(_ word: TimerWord, _ control: QueueControlBlock) -> Int64 {
    wakeTime(deadline: slot.dueTime(word), slot.leeway, control)
  }

  @inline(__always)
  func wakeTime(deadline: Int64, _ leeway: CompactDuration, _ control: QueueControlBlock) -> Int64 {
    guard leeway.bits != 0, control.honoursLeeway else { return deadline }
    return Placement.time(deadline: deadline, leeway: leeway.nanoseconds)
  }

  /// The word with the next generation. The word's bits run over into the side record; false if there is no memory
  /// for one.
  ///
  /// Where that must not fail, the side record may come out of the reserve. Without one the number that callers read
  /// begins again; the word alone still proves what has started.
  @inline(__always)
  @discardableResult
  func advanceGeneration(_ word: inout TimerWord, mayFail: Bool = false) -> Bool {
    let ends = word.endsHalf
    word = word.withNextGeneration
    guard ends else { return true }
    guard let sideRecord = slot.makeSideRecord(fromReserve: !mayFail) else { return !mayFail }
    sideRecord.generationHigh &+= 1
    return true
  }
}

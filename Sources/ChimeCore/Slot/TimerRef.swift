internal import CPlatform

/// A timer, as an id names it: a slot, and the version of the slot that the id means. Every operation of the C and
/// Swift interfaces is a method of this type; its files are by subject. Any thread, no waiting except where stated.
///
/// A timer changes in two ways. An operation reads the word, checks that the slot still has the id's version, and swaps
/// the word once; or, if it changes the cell, it takes the writer bit first (`Writing`), and the swap gives the bit
/// back. A query takes a snapshot. While the bit is held nothing is called back, and nothing but a timer's side record
/// is allocated.
package struct TimerRef: Sendable {
  let slot: TimerSlot
  let version: UInt32
}

extension TimerRef {
  /// `nil` if no timer can ever have had this id. Each operation finds out itself whether the timer still lives.
  package init?(_ id: UInt64) {
    guard let handle = Handle(id, kind: .timer), let (slot, _) = Slab.findWithOwner(of: id) else { return nil }
    self.init(slot: slot, version: handle.version)
  }

  /// The control block of the timer's queue.
  var control: QueueControlBlock { Slab.owner(of: slot) }

  package var id: UInt64 { Handle.id(.timer, index: slot.index.number, version: version) }

  /// The word, if the timer lives. The version is read after the word: a later version is stored before its word is
  /// (P4b).
  var word: TimerWord? {
    let word = slot.word
    return word.isLive && slot.version == version ? word : nil
  }

  /// The word for a change of the timer. Waits until nobody writes the timer.
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
}

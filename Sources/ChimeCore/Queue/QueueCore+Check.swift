import Synchronization

/// The check that a pass forgets nothing: it ends with every running timer in the wheel, where its deadline asks for or
/// before that, in the inbox, in the batch, being written, or with a callback under way.
extension QueueCore {
  /// The caller holds the pass lock, at the end of a pass. On a concurrent queue the end of a callback holds its timer
  /// for a moment, too, so this check does not apply.
  @inline(__always)
  func checkThatNothingIsForgotten() {
    if invariantsAreChecked, handOver == nil, !closing.hasBegun { lookForForgottenTimers() }
  }

  @inline(never)
  private func lookForForgottenTimers() {
    if !batch.isOpen { batch.checkThatItIsEmpty() }
    // After the first passes not in all of them, and in one chunk of 256 slots each time: a test with a hundred thousand
    // timers would spend minutes here, above all under a sanitizer.
    let passes = counters.passes.load(ordering: .relaxed)
    if passes > 256 && passes % 16 != 0 { return }
    control.forEachSlot(inOneOfItsChunks: Int(truncatingIfNeeded: passes > 256 ? passes / 16 : passes)) { slot in
      // Read in this order: whatever takes a timer out of its position, except the pass itself, writes the timer first.
      let position = Slab.position(of: slot.index).tick
      let word = slot.wordInOrder
      if word.isOver, slot.flags.contains(.selfRelease), !word.isBusy, !word.hasWriter,
        !word.hasPendingCallback, slot.wordInOrder == word
      {
        invariantFailure(
          "a timer that releases itself was not released", Int64(slot.index), Int64(bitPattern: word.bits))
      }
      guard word.isRunning, !word.hasWriter, !word.isInInbox, !word.isBusy else { return }
      let due = slot.dueTime(word)
      // One that was held back for its writer comes a little later.
      let latest = wheel.latestTick(
        due: control.isVirtual ? due : max(due, control.now.saturatingAdd(Tunables.writer)), slot)
      if due == .max || position ?? .max <= latest || slot.wordInOrder != word || batch.contains(slot) { return }
      invariantFailure(
        position == nil ? "a running timer that no pass will find" : "a running timer that its pass will find too late",
        Int64(slot.index), Int64(bitPattern: word.bits))
    }
  }
}

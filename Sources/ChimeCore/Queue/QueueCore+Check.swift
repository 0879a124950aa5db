import Synchronization

#if DEBUG || CHIME_CHECKS

  /// The check that a pass forgets nothing, compiled into debug builds, which the tests of this package are, and with the
  /// flag CHIME_CHECKS into others: a pass ends with every running timer in the wheel, in the inbox, in the batch, being
  /// written, or with a callback under way.
  extension QueueCore {
    /// The caller holds the pass lock, at the end of a pass. On a concurrent queue the end of a callback holds its timer
    /// for a moment, too, so this check does not apply.
    func checkThatNothingIsForgotten() {
      if handOver != nil || closing.hasBegun { return }
      // Not on queues with many slots, since the check takes time in proportion to their number; nor, after the first
      // passes, in all of them: a test with a hundred thousand would spend minutes here, above all under a sanitizer.
      let passes = counters.passes.load(ordering: .relaxed)
      if control.chunkCount > 1 || passes > 256 && passes % 16 != 0 { return }
      control.forEachSlot { slot in
        // Read in this order: whatever takes a timer out of its position, except the pass itself, writes the timer first.
        let isPlaced = Slab.position(of: slot.index).tick != nil
        let word = slot.wordInOrder
        if let state = word.state, state.isAtRest, state != .idle, slot.flags.contains(.selfRelease), !word.isBusy,
          !word.hasWriter, !word.hasPendingCallback, slot.wordInOrder == word
        {
          invariantFailure(
            "a timer that releases itself was not released", Int64(slot.index), Int64(bitPattern: word.bits))
        }
        guard word.isRunning, !isPlaced, !word.hasWriter, !word.isInInbox, !word.isBusy else { return }
        if slot.dueTime(word) == .max || slot.wordInOrder != word { return }
        if batch.contains(slot) { return }
        invariantFailure("a running timer that no pass will find", Int64(slot.index), Int64(bitPattern: word.bits))
      }
    }
  }

#else

  extension QueueCore {
    @inline(__always)
    func checkThatNothingIsForgotten() {}
  }

#endif

/// What a pass asks of a timer that has a turn: whether it still wants the turn, and when.
extension TimerSlot {
  /// Whether the timer is due as it was when it got its turn, and no callback of it runs.
  func isStillDue(_ due: Int64, _ activationSequence: UInt32, at now: Int64) -> Bool {
    let word = wordInOrder
    return word.isRunning && !word.isBusy && !word.hasWriter && self.activationSequence == activationSequence
      && due <= now
      && dueTime(word) == due
  }

  /// The key by which a pending callback is ordered: registration and cancel callbacks first, an extra tick by the time
  /// at which it was requested.
  func pendingCallbackTime() -> Int64 {
    let timer = TimerRef(slot: self, version: version)
    // The side record belongs to the writer. One who is there is not waited for: the timer is changing.
    guard let word = timer.word, !word.hasWriter, let writing = beginWriting(word) else { return .min }
    var time = Int64.min
    if let sideRecord = writing.sideRecord, !sideRecord.hasPendingCallback, sideRecord.writerFields.firePending {
      time = sideRecord.writerFields.fireTime
    }
    writing.abandon()
    return time
  }
}

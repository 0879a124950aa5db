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

/// Timers that were released outside a pass: their last callbacks, and their finalizers.
extension QueueCore {
  /// Whether a pass now would do something.
  var hasWorkNow: Bool {
    batch.wantsSlice || records.endIsWanted || !functions.isEmpty
  }

  /// What a pass does that is made for their sake.
  func disposeNow(_ frame: CurrentFrame) {
    takeInbox()
    disposeOfRetired(frame)
    if isAbandoned { return }
    if !batch.retired.isEmpty { driver.wake(self) }
    if closing.hasBegun { closeIfPossible(frame) }
  }
}

extension QueueControlBlock {
  /// Has the callbacks and finalizer of a released timer called: by a pass, or here when passes run inside calls and
  /// none does.
  func wakeToDispose() {
    guard runsInCalls, let core else { return wake() }
    // On a bound queue only the bound thread may. If a pass runs, it does so at its end.
    let mayDisposeHere = (core.driver as? HostDriver)?.mayDrive ?? true
    mayDisposeHere ? core.asPass(core.disposeNow) : wake()
  }
}

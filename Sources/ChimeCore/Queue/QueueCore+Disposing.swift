/// Timers that were released outside a pass: their last callbacks, and their finalizers.
extension QueueCore {
  /// Whether a pass now would do something.
  var hasWorkNow: Bool {
    batch.wantsSlice || records.endIsWanted || !functions.isEmpty
  }

  /// Calls the finalizers of timers that were released outside a pass, on the caller's thread; if a pass runs, it does
  /// so at its end.
  func disposeOutsidePass() { asPass(disposeNow) }

  /// Whether the calling thread may call what a released timer calls last: on a bound queue, the bound one.
  var mayDisposeHere: Bool { (driver as? HostDriver)?.mayDrive ?? true }

  /// What such a pass does.
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
    if runsInCalls, core?.mayDisposeHere != false {
      core?.disposeOutsidePass()
    } else {
      wake()
    }
  }
}

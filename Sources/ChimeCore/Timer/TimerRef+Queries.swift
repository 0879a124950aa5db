import Synchronization

/// Queries, which change nothing and wait for nobody (promise 18).
extension TimerRef {
  package var state: TimerState? { word?.state }

  /// When the next tick is due, `Int64.max` when the timer does not run; `nil` when the id is stale.
  package var nextDeadline: Int64? {
    guard var word else { return nil }
    let control = control
    if control.isWall { return snapshot?.nextDeadline }
    if !word.hasWriter {
      let deadline = slot.deadline
      atomicMemoryFence(ordering: .acquiring)
      if slot.word == word { return word.isRunning ? word.dueTime(deadline) : .max }
    }
    let due = slot.exactDueTime(&word)
    guard word.isLive, slot.version == version else { return nil }
    return word.isRunning ? due : .max
  }

  /// `nextDeadline` by id, for a timer that nobody is changing and that is not on the wall clock; `nil` for any other.
  @inline(__always)
  package static func nextDeadlineFast(_ id: UInt64) -> Int64? {
    guard let timer = TimerRef(id), let word = timer.word, !word.hasWriter, !timer.control.isWall else { return nil }
    let deadline = timer.slot.deadline
    atomicMemoryFence(ordering: .acquiring)
    guard timer.slot.word == word else { return nil }
    return word.isRunning ? word.dueTime(deadline) : .max
  }

  /// See `Snapshot`.
  package var remaining: Int64? { snapshot?.remaining }

  /// The generation; `nil` when the id is stale.
  package var generation: UInt64? { snapshot?.generation }

  /// Runs `body` with the timer's label, which is not freed meanwhile, if it has one and the id is not stale.
  package func withLabel(_ body: (UnsafePointer<CChar>) -> Void) {
    guard slot.hasSideRecord else { return }
    // While a timer lives, its label is not freed before `read` has ended.
    Labels.read {
      // The timer was alive after the label was found: the label is this timer's, and not freed yet.
      if let label = unsafe slot.sideRecord?.label, word != nil { unsafe body(label) }
    }
  }
}

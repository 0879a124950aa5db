import Synchronization

/// What a timer is doing. `chime_timer_info` in Swift.
package struct TimerInfo: Sendable {
  package var state: TimerState
  package var queue: UInt64
  package var generation: UInt64
  package var sequence: UInt64
  package var nextDeadline: Int64
  package var remaining: Int64
  package var interval: Int64
  package var leeway: Int64
  package var tickLimit: UInt64
  package var dueCount: UInt64
  package var isBusy: Bool
  package var hasSchedule: Bool
  package var missed: UInt64
}

/// Queries, which change nothing (promise 18): all of them read the timer's image.
extension TimerRef {
  package var state: TimerState? { word?.state }

  /// When the next tick is due, `Int64.max` when the timer does not run; `nil` when the id is stale.
  package var nextDeadline: Int64? {
    guard let word else { return nil }
    guard word.isRunning else { return .max }
    let deadline = slot.deadline
    atomicMemoryFence(ordering: .acquiring)
    // The same word, without a writer: the deadline belongs to it.
    let control = control
    if !control.isWall, !word.hasWriter, slot.word == word { return word.dueTime(deadline) }
    return image.map { $0.wallDueTime(control) }
  }

  /// The generation; `nil` when the id is stale.
  package var generation: UInt64? { image?.generation }

  package var info: TimerInfo? {
    guard let image else { return nil }
    let state = image.word.state ?? .idle
    let keeps = state == .suspended && image.flags.contains(.keepsRemaining)
    let hasSchedule = image.flags.contains(.hasSchedule)
    return TimerInfo(
      state: state, queue: control.id, generation: image.generation, sequence: image.sequence,
      nextDeadline: image.wallDueTime(control),
      remaining: keeps ? image.deadline : -1,
      interval: image.flags.contains(.repeating) ? image.period : 0,
      leeway: hasSchedule ? image.leeway.nanoseconds : 0,
      tickLimit: image.tickLimit, dueCount: image.dueCount, isBusy: image.word.isBusy, hasSchedule: hasSchedule,
      missed: image.missed)
  }

  /// Runs `body` with the timer's label, which is not freed meanwhile; `nil` if it has none, or the id is stale.
  func withLabel(_ body: (UnsafePointer<CChar>?) -> Void) {
    guard slot.hasSideRecord else { return body(nil) }
    // While a timer lives, its label is not freed before `read` has ended.
    Labels.read {
      // The timer was alive after the label was found: the label is this timer's, and not freed yet.
      guard let sideRecord = slot.sideRecord, let label = unsafe sideRecord.label, word != nil else {
        return body(nil)
      }
      unsafe body(UnsafePointer(label))
    }
  }
}

extension TimerSlot {
  /// The whole generation. The caller is writer.
  @inline(__always)
  func generation(_ word: TimerWord) -> UInt64 {
    guard let sideRecord else { return word.generation }
    return UInt64(sideRecord.generationHigh) << TimerWord.generationBits | word.generation
  }

  /// Ticks delivered in this activation. The caller is writer.
  @inline(__always)
  var fullSequence: UInt64 {
    guard let sideRecord else { return UInt64(sequence) }
    return UInt64(sideRecord.sequenceHigh) << 32 | UInt64(sequence)
  }

  /// Counts one more delivered tick and gives its number. The caller is writer.
  @inline(__always)
  func nextSequence() -> UInt64 {
    sequence &+= 1
    if sequence == 0, let sideRecord = makeSideRecord() { sideRecord.sequenceHigh &+= 1 }
    return fullSequence
  }
}

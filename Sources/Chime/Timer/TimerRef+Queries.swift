import Glibc
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

/// Looking without changing anything.
extension TimerRef {
  package var state: TimerState? { word?.state }

  /// When the next tick is due, `Int64.max` when the timer does not run; `nil` when the id is stale.
  package var nextDeadline: Int64? {
    while let word {
      guard word.isRunning else { return .max }
      let deadline = slot.deadline
      atomicMemoryFence(ordering: .acquiring)
      // The same word with no writer: the deadline belongs to it.
      if !word.hasWriter, slot.word == word { return cell.outer(deadline.saturatingAdd(word.postponement)) }
      sched_yield()
    }
    return nil
  }

  /// The generation; `nil` when the id is stale.
  package var generation: UInt64? {
    while let word {
      if slot.hasExtras { return read { word, slot in slot.generation(word) } }
      atomicMemoryFence(ordering: .acquiring)
      if slot.word == word { return word.generation }
    }
    return nil
  }

  package var info: TimerInfo? {
    read { word, slot in
      let extras = slot.extras?.value
      let flags = slot.flags
      let state = word.state ?? .idle
      let keeps = state == .suspended && flags.contains(.keepsRemaining)
      return TimerInfo(
        state: state, queue: cell.id, generation: slot.generation(word), sequence: slot.fullSequence,
        nextDeadline: state == .running ? cell.outer(slot.deadline.saturatingAdd(word.postponement)) : .max,
        remaining: keeps ? slot.deadline : -1,
        interval: flags.contains(.repeating) ? slot.period : 0,
        leeway: flags.contains(.hasSchedule) ? slot.leeway.nanoseconds : 0,
        tickLimit: extras?.tickLimit ?? 0, dueCount: extras?.dueCount ?? 0,
        isBusy: word.isBusy, hasSchedule: flags.contains(.hasSchedule),
        missed: extras?.missed ?? 0)
    }
  }

  /// The timer's label, copied; `nil` when it has none.
  var label: String? {
    read { _, slot in
      guard let extras = slot.extras, let label = unsafe extras.value.label else { return nil }
      return unsafe String(cString: label)
    } ?? nil
  }

  /// Reads the record as its writer; `nil` when the id is stale.
  private func read<Result>(_ body: (TimerWord, TimerSlot) -> Result) -> Result? {
    guard let word = beginWriting() else { return nil }
    let result = body(word, slot)
    endWriting(word)
    return result
  }
}

extension TimerSlot {
  /// The whole generation. The caller is writer.
  @inline(__always)
  func generation(_ word: TimerWord) -> UInt64 {
    guard let extras else { return word.generation }
    return UInt64(extras.value.generationHigh) << 24 | word.generation
  }

  /// Ticks delivered in this activation. The caller is writer.
  @inline(__always)
  var fullSequence: UInt64 {
    guard let extras else { return UInt64(sequence) }
    return UInt64(extras.value.sequenceHigh) << 32 | UInt64(sequence)
  }

  /// Counts one more delivered tick and gives its number. The caller is writer.
  @inline(__always)
  func nextSequence() -> UInt64 {
    sequence &+= 1
    if sequence == 0 { makeExtras()?.update { extras in extras.sequenceHigh &+= 1 } }
    return fullSequence
  }
}

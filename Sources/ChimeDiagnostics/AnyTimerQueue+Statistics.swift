public import Chime
import ChimeCore
@_exported public import struct ChimeCore.QueueStatistics

extension AnyTimerQueue {
  /// What the queue has done so far; `nil` if it has ended.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var statistics: QueueStatistics? { QueueCore.statistics(id) }
}

// What people look at.
extension AnyTimerQueue {
  /// A line for the queue and one for each timer: id, label, state, next deadline, interval, ticks, missed. For people:
  /// the wording may change. Empty if the queue has ended.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var dump: String { TextWriter.string { QueueCore.dump(id, into: &$0) } ?? "" }

  /// The queue's timers, in no particular order: those that nobody holds, too, of `perform(after:)` and of tasks that sleep.
  /// Empty if the queue has ended. What another thread makes or releases at the same time may be in it or not.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var timers: [ChimeTimer.Reference] {
    var found: [ChimeTimer.Reference] = []
    _ = QueueCore.forEachTimer(of: id, withOwned: true) { handle in
      found.append(ChimeTimer.Reference(handle, timeline, watched: ChimeTimer.Watched.of(handle)))
    }
    return found
  }
}

extension ChimeTimer {
  /// Names a timer in events and logs: no other has the same, not even after it has ended.
  public struct ID: Hashable, Sendable, CustomStringConvertible {
    let handle: UInt64

    /// As dumps and traces write it.
    public var description: String { Reference.name(of: handle) }
  }
}

extension TimerProtocol {
  /// The timer's name in events, dumps and traces.
  public var id: ChimeTimer.ID { ChimeTimer.ID(handle: handle) }

  /// Why the timer does not fire, in one sentence: it was never activated, it was suspended some time ago, it is due
  /// later, another handler holds it up, nobody drives its queue. For people: the wording may change.
  ///
  /// - Complexity: O(*n*), where *n* is the number of the queue's timers.
  public var explanation: String {
    if _reference.hasLostTarget { return "its target has gone, which has cancelled it." }
    return TextWriter.string { TimerRef(handle)?.explain(into: &$0) ?? false } ?? "its queue has ended."
  }
}

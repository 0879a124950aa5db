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
}

extension TimerReference {
  /// Why the timer does not fire, in one sentence: it was never activated, it was suspended some time ago, it is due
  /// later, another handler holds it up, nobody drives its queue. For people: the wording may change.
  ///
  /// - Complexity: O(*n*), where *n* is the number of the queue's timers.
  public var explanation: String {
    if hasLostTarget { return "its target has gone, which has cancelled it." }
    return TextWriter.string { TimerRef(handle)?.explain(into: &$0) ?? false } ?? "its queue has ended."
  }
}

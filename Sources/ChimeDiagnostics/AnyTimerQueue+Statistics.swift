public import Chime
import ChimeCore
@_exported public import struct ChimeCore.QueueStatistics

extension AnyTimerQueue {
  /// What the queue has done so far; `nil` if it has ended.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var statistics: QueueStatistics? { QueueCore.statistics(id) }
}

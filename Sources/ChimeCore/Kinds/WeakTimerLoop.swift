/// A loop that weak timers tick on: Chime's own, or Foundation's.
package protocol WeakTimerLoop: AnyObject, Sendable {
  /// Whether the loop's thread has ended.
  var hasEnded: Bool { get }
  /// The answer where it has.
  var hasEndedStatus: Status { get }
  /// The id of the queue of the weak timers in these modes, and whether this call has made it.
  func weakTimerQueue(in modes: LoopModes) -> Result<(id: UInt64, isNew: Bool), Status>
  /// Releases such a queue, for which there was no timer after all.
  func dropWeakTimerQueue(_ id: UInt64)
}

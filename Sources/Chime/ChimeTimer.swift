import ChimeCore

/// A timer on a `TimerQueue`. Calls may be made in any order and from any thread, inside the handler too. A call that
/// means nothing in the timer's state, or to a timer that has ended, is ignored and says so.
///
/// The timer stops when its last reference goes, when its queue is shut down, or when its target goes; it keeps its
/// queue alive. It owns its handler and releases it after the call that is running. A handler reaches its own timer as
/// `tick.timer`, which does not keep the timer.
public final class ChimeTimer: Sendable {
  /// What the core knows the timer by.
  package let handle: UInt64
  /// The clock of its queue.
  package let timeline: TimerInstant.Timeline
  /// Whether the last reference to this object ends the timer.
  private let ownsTimer: Bool
  /// Whether the target is gone; `nil` for a timer without one.
  package let targetHasGone: (@Sendable () -> Bool)?
  /// The queue, kept alive; `nil` for what does not own the timer.
  private let queue: (any AnyObject & Sendable)?

  /// Takes over a timer.
  package init(
    _ handle: UInt64, on queue: any AnyObject & Sendable, _ timeline: TimerInstant.Timeline,
    targetHasGone: (@Sendable () -> Bool)? = nil
  ) {
    self.handle = handle
    self.timeline = timeline
    self.targetHasGone = targetHasGone
    self.queue = queue
    ownsTimer = true
  }

  /// Names a timer that somebody else owns, or nobody.
  package init(naming handle: UInt64, _ timeline: TimerInstant.Timeline) {
    self.handle = handle
    self.timeline = timeline
    targetHasGone = nil
    queue = nil
    ownsTimer = false
  }

  deinit { if ownsTimer { _ = TimerRef.release(handle) } }
}

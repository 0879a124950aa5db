import ChimeCore

/// A timer on a `TimerQueue`. Calls may be made in any order and from any thread, inside the handler too. A call that
/// means nothing in the timer's state, or to a timer that has ended, is ignored and says so.
///
/// The timer stops when its last reference goes, when its queue is shut down, or when its target goes; it keeps its
/// queue alive. It owns its handler and releases it after the call that is running. A handler reaches its own timer as
/// `tick.timer`, a `TimerReference`, which does not keep the timer.
public final class ChimeTimer: TimerReference, @unchecked Sendable {
  // Unchecked as its class is; this is constant.
  /// The queue, kept alive.
  private let queue: any AnyObject & Sendable

  /// Takes over a timer.
  ///
  /// - Parameter onEnd: called when the timer is cancelled or invalidated through this object.
  package init(
    _ handle: UInt64, on queue: any AnyObject & Sendable, _ timeline: TimerInstant.Timeline,
    targetHasGone: (@Sendable () -> Bool)? = nil, onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.queue = queue
    super.init(handle, timeline, targetHasGone: targetHasGone, onEnd: onEnd)
  }

  deinit { _ = TimerRef.release(handle) }
}

/// A timer that somebody else holds: all of its calls, and no hold on it. It equals the `ChimeTimer` that was made, and
/// once that has gone its calls are ignored.
public class TimerReference: @unchecked Sendable {
  // Unchecked because a class with subclasses cannot be checked: all of it is constant.
  /// What the core knows the timer by.
  package let handle: UInt64
  /// The clock of its queue.
  package let timeline: TimerInstant.Timeline
  /// Whether the target is gone; `nil` for a timer without one.
  package let targetHasGone: (@Sendable () -> Bool)?
  /// Called when the timer is cancelled or invalidated through this object.
  package let onEnd: (@Sendable () -> Void)?

  package init(
    _ handle: UInt64, _ timeline: TimerInstant.Timeline, targetHasGone: (@Sendable () -> Bool)? = nil,
    onEnd: (@Sendable () -> Void)? = nil
  ) {
    self.handle = handle
    self.timeline = timeline
    self.targetHasGone = targetHasGone
    self.onEnd = onEnd
  }
}

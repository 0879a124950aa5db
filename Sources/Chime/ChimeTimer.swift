import ChimeCore

/// A timer on a `TimerQueue`. Calls may be made in any order and from any thread, inside the handler too. A call that
/// means nothing in the timer's state, or to a timer that has ended, is ignored and says so.
///
/// The timer stops when its last reference goes, when its queue is shut down, or when its target goes; it keeps its
/// queue alive. It owns its handler and releases it after the call that is running. No way of stopping a timer cancels a
/// call that has begun, an asynchronous one either. A handler reaches its own timer as
/// `tick.timer`, a `TimerReference`, which does not keep the timer.
public final class ChimeTimer: TimerReference, @unchecked Sendable {
  // Unchecked as its class is; this is constant.
  /// The queue, kept alive.
  private let queue: any AnyObject & Sendable

  /// Takes over a timer.
  package init(
    _ handle: UInt64, on queue: any AnyObject & Sendable, _ timeline: TimerInstant.Timeline, watched: Watched? = nil
  ) {
    self.queue = queue
    super.init(handle, timeline, watched: watched)
  }

  deinit { _ = TimerRef.releaseWithContext(handle) }
}

/// A timer that somebody else holds: all of its calls, and no hold on it. It equals the `ChimeTimer` that was made, and
/// once that has gone its calls are ignored.
public class TimerReference: @unchecked Sendable {
  // Unchecked because a class with subclasses cannot be checked: all of it is constant.
  /// What the core knows the timer by.
  package let handle: UInt64
  /// The clock of its queue.
  package let timeline: TimerInstant.Timeline
  /// What few timers need; `nil` for the others, which are as small as they can be.
  package let watched: Watched?

  package final class Watched: Sendable {
    /// Whether the target is gone; `nil` for a timer without one.
    let targetHasGone: (@Sendable () -> Bool)?
    /// Called when the timer is cancelled or invalidated through its `ChimeTimer`.
    let onEnd: (@Sendable () -> Void)?

    /// The calls of an asynchronous handler.
    let calls: TaskCalls?
    /// Where ticks wait for readers.
    let buffer: TickBuffer?

    init(
      targetHasGone: (@Sendable () -> Bool)? = nil, onEnd: (@Sendable () -> Void)? = nil, calls: TaskCalls? = nil,
      buffer: TickBuffer? = nil
    ) {
      self.targetHasGone = targetHasGone
      self.onEnd = onEnd
      self.calls = calls
      self.buffer = buffer
    }
  }

  package init(_ handle: UInt64, _ timeline: TimerInstant.Timeline, watched: Watched? = nil) {
    self.handle = handle
    self.timeline = timeline
    self.watched = watched
  }
}

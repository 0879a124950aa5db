import ChimeCore

#if DEBUG
  internal import Foundation
#endif

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
    #if DEBUG
      DroppedTimers.made(handle)
    #endif
  }

  deinit {
    #if DEBUG
      DroppedTimers.dropped(handle)
    #endif
    _ = TimerRef.releaseWithContext(handle)
  }
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

#if DEBUG
  /// Says once that a timer never ticks which nobody has stored: `_ = try queue.schedule(…)`. What replaces a timer, or drops it
  /// later, is no mistake.
  private enum DroppedTimers {
    private struct Last {
      var handle: UInt64 = 0
      var made: Int64 = 0
      var isTold = false
    }

    private static let last = Locked(Last())

    static func made(_ handle: UInt64) {
      let now = Clock.monotonic.now
      last.withLock { ($0.handle, $0.made) = (handle, now) }
    }

    static func dropped(_ handle: UInt64) {
      let isLast = last.withLock { !$0.isTold && $0.handle == handle && Clock.monotonic.now - $0.made < 1_000_000 }
      guard isLast, let timer = TimerRef(handle)?.snapshot, timer.state == .running, timer.sequence == 0 else { return }
      last.withLock { $0.isTold = true }
      FileHandle.standardError.write(
        Data(
          "Chime: a timer was dropped before its first tick, and never ticks: store it, or use perform(after:)\n".utf8))
    }
  }
#endif

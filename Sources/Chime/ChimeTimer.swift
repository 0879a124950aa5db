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
/// `tick.timer`, a `ChimeTimer.Reference`, which does not keep the timer.
public final class ChimeTimer: TimerProtocol, Sendable {
  /// The queue, kept alive.
  private let queue: any AnyObject & Sendable

  /// Names the timer, and does not keep it: for a set or a dictionary, or for whoever may change a timer that another owns.
  public let reference: Reference

  /// Takes over a timer.
  package init(
    _ handle: UInt64, on queue: any AnyObject & Sendable, _ timeline: TimerInstant.Timeline, watched: Watched? = nil
  ) {
    self.queue = queue
    reference = Reference(handle, timeline, watched: watched)
    watched?.calls?.register(handle)
    watched?.buffer?.register(handle)
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

  /// For the compiler.
  public var _reference: Reference { @inlinable get { reference } }
}

extension ChimeTimer {
  /// A timer that somebody else holds: all of its calls, and no hold on it. Once that has gone, the calls are ignored.
  ///
  /// References to one timer are equal, and no other timer's ever is, not even later.
  public struct Reference: TimerProtocol {
    /// What the core knows the timer by.
    package let handle: UInt64
    /// The clock of its queue.
    package let timeline: TimerInstant.Timeline
    /// What few timers need; `nil` for the others, which are as small as they can be.
    package let watched: Watched?

    package init(_ handle: UInt64, _ timeline: TimerInstant.Timeline, watched: Watched? = nil) {
      self.handle = handle
      self.timeline = timeline
      self.watched = watched
    }

    /// For the compiler.
    public var _reference: Reference { @inlinable get { self } }
  }

  /// What is behind a timer that has a target, or whose ticks are taken by tasks. Does not hold the timer.
  package final class Watched: Sendable {
    /// Whether the target is gone; `nil` for a timer without one.
    let targetHasGone: (@Sendable () -> Bool)?
    /// The calls of an asynchronous handler.
    let calls: TaskCalls?
    /// Where ticks wait for readers.
    let buffer: TickBuffer?

    init(
      targetHasGone: (@Sendable () -> Bool)? = nil, calls: TaskCalls? = nil, buffer: TickBuffer? = nil
    ) {
      self.targetHasGone = targetHasGone
      self.calls = calls
      self.buffer = buffer
    }

    // MARK: By handle

    private struct Entry {
      weak var calls: TaskCalls?
      weak var buffer: TickBuffer?
    }

    /// Of all timers whose ticks tasks take.
    private static let all = Locked<[UInt64: Entry]>([:])

    /// Before the first tick is taken.
    static func note(_ handle: UInt64, calls: TaskCalls? = nil, buffer: TickBuffer? = nil) {
      all.withLock { $0[handle] = Entry(calls: calls, buffer: buffer) }
    }

    static func forget(_ handle: UInt64) { all.withLock { $0[handle] = nil } }

    /// What the timer with that handle has; `nil` once it has ended.
    package static func of(_ handle: UInt64) -> Watched? {
      let (calls, buffer) = all.withLock { ($0[handle]?.calls, $0[handle]?.buffer) }
      if let calls { return Watched(targetHasGone: calls.targetHasGone, calls: calls) }
      return buffer.map { Watched(buffer: $0) }
    }
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

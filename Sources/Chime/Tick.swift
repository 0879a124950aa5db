import ChimeCore

extension ChimeTimer {
  /// One delivery, as the handler gets it.
  public struct Tick: Sendable, Hashable {
    /// Whether `ChimeTimer.fire` requested it, not the schedule.
    public let isExtra: Bool
    /// Whether it is a task that takes the tick: for an asynchronous handler, or out of a sequence.
    var isOfTask = false
    /// Counts the ticks of an activation from 1.
    public let sequence: UInt64
    /// How many due times since the previous tick got no tick of their own; `UInt64.max` for that many or more.
    public package(set) var missed: UInt64
    /// Changes with every accepted activate, restart, reschedule, suspend and cancel of the timer.
    package internal(set) var generation: UInt64
    /// `scheduled`, in nanoseconds.
    package let due: Int64
    /// `actual`, in nanoseconds.
    package let start: Int64
    /// The timer's id.
    package let handle: UInt64
    /// The clock of the timer's queue.
    package let timeline: TimerInstant.Timeline

    /// When it was due.
    public var scheduled: TimerInstant { TimerInstant(timeline, nanoseconds: due) }

    /// When it started; never before `scheduled`.
    public var actual: TimerInstant { TimerInstant(timeline, nanoseconds: start) }

    /// The timer, for its own handler: `tick.timer.cancel()`.
    ///
    /// It equals `reference` of the `ChimeTimer` that was made, and does not keep the timer: that stops when the last reference
    /// to the one that was made goes.
    public var timer: ChimeTimer.Reference {
      ChimeTimer.Reference(handle, timeline, watched: isOfTask ? ChimeTimer.Watched.of(handle) : nil)
    }

    /// Whether the timer has not been rescheduled, restarted, suspended, cancelled or released since this tick started.
    ///
    /// Chime starts no tick that is not current, but such a call may come while the handler is running. If the handler
    /// asks under a mutex of yours that is also held around those calls, it never acts on a tick that was called off.
    /// Any thread.
    public var isCurrent: Bool { TimerRef(handle)?.generation == generation }

    init(_ record: CoreTick, _ timeline: TimerInstant.Timeline) {
      isExtra = record.kind == TickKind.fired.rawValue
      sequence = record.sequence
      missed = record.missed
      due = record.scheduled
      start = record.actual
      generation = record.generation
      handle = record.timer
      self.timeline = timeline
    }
  }
}

/// What the rest of the package calls it.
package typealias Tick = ChimeTimer.Tick

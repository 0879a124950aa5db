/// One delivery of a timer, as its handler gets it. Times are nanoseconds on the queue's clock.
public struct Tick: Sendable, Equatable {
  /// True when `ChimeTimer.fire` asked for it, false when the schedule did.
  public let isExtra: Bool
  /// Counts the ticks of an activation from 1.
  public let sequence: UInt64
  /// Due times since the previous tick that got no tick of their own, this one excluded.
  public package(set) var missed: UInt64
  /// When it was due.
  public let scheduled: Int64
  /// When it started; never before `scheduled`.
  public let actual: Int64
  /// Changes with every accepted activate, restart, reschedule, suspend and cancel of the timer.
  public let generation: UInt64
  /// The timer's id.
  package let timer: UInt64

  /// Whether the timer is still as it was when this tick started: nobody has rescheduled, suspended, cancelled or
  /// released it since, nor started it anew.
  ///
  /// Chime lets no tick start that is not current, but a handler that has started may be overtaken. One that asks under
  /// a mutex of its own, which is held over those calls too, acts on nothing that was called off. Any thread.
  public var isCurrent: Bool { TimerRef(timer)?.generation == generation }

  init(_ record: TickRecord) {
    isExtra = record.kind == TickKind.fired.rawValue
    sequence = record.sequence
    missed = record.missed
    scheduled = record.scheduled
    actual = record.actual
    generation = record.generation
    timer = record.timer
  }
}

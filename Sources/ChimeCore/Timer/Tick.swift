/// One delivery, as the handler gets it. Times are nanoseconds on the queue's clock.
public struct Tick: Sendable, Equatable {
  /// Whether `ChimeTimer.fire` requested it, not the schedule.
  public let isExtra: Bool
  /// Counts the ticks of an activation from 1.
  public let sequence: UInt64
  /// How many due times since the previous tick got no tick of their own.
  public package(set) var missed: UInt64
  /// When it was due.
  public let scheduled: Int64
  /// When it started; never before `scheduled`.
  public let actual: Int64
  /// Changes with every accepted activate, restart, reschedule, suspend and cancel of the timer.
  public let generation: UInt64
  /// The timer's id.
  package let timer: UInt64

  /// Whether the timer has not been rescheduled, restarted, suspended, cancelled or released since this tick started.
  ///
  /// Chime starts no tick that is not current, but such a call may come while the handler is running. If the handler
  /// asks under a mutex of yours that is also held around those calls, it never acts on a tick that was called off. Any
  /// thread.
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

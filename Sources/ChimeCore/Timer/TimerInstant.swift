/// A point on a queue's clock.
///
/// An instant knows its clock: one of the monotonic clock, of the wall clock and of virtual time are never equal, and a
/// queue refuses a deadline that is on another clock than its own. Add and subtract durations; the difference of two
/// instants of one clock is a duration.
public struct TimerInstant: Hashable, Sendable {
  /// What an instant is a point on.
  public enum Timeline: Sendable, CaseIterable {
    /// Steady; stops while the system sleeps. The zero is that of `DispatchTime`.
    case monotonic
    /// Steady; goes on while the system sleeps.
    case boottime
    /// Time of day: the zero is 1970-01-01 00:00 UTC.
    case wall
    /// The time of a virtual queue, which stands still until somebody moves it.
    case virtual
  }

  /// The clock that this is a point on.
  public let timeline: Timeline

  /// The time since the clock's zero; `Int64.max` is never.
  public let nanoseconds: Int64

  /// A point on a clock, by the number of nanoseconds since its zero.
  ///
  /// - Parameters:
  ///   - timeline: the clock.
  ///   - nanoseconds: `Int64.max` for never.
  @inlinable
  public init(_ timeline: Timeline, nanoseconds: Int64) {
    self.timeline = timeline
    self.nanoseconds = nanoseconds
  }
}

extension TimerInstant.Timeline {
  /// For people.
  package var name: String {
    switch self {
    case .monotonic: "the monotonic clock"
    case .boottime: "the boottime clock"
    case .wall: "the wall clock"
    case .virtual: "virtual time"
    }
  }
}

extension Schedule {
  /// The clock that the first deadline is on; `nil` for a delay, and for a deadline on whatever clock the queue has.
  package var timeline: TimerInstant.Timeline? {
    get {
      switch size >> 16 {
      case 1: .monotonic
      case 2: .boottime
      case 3: .wall
      case 4: .virtual
      default: nil
      }
    }
    set {
      let number: UInt32 =
        switch newValue {
        case nil: 0
        case .monotonic: 1
        case .boottime: 2
        case .wall: 3
        case .virtual: 4
        }
      size = size & 0xFFFF | number << 16
    }
  }
}

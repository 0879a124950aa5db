/// A point on a queue's clock.
///
/// An instant knows its clock: one of the monotonic clock, of the wall clock and of virtual time are never equal, and a
/// queue refuses a deadline that is on another clock than its own. Add and subtract durations; the difference of two
/// instants of one clock is a duration.
/// Encoded, an instant is its clock's name and its nanoseconds. One of the monotonic clock, or of boottime, means something
/// until the system is started again; one of the wall clock always does.
public struct TimerInstant: Hashable, Codable, Sendable {
  /// What an instant is a point on.
  public enum Timeline: String, Codable, Sendable, CaseIterable {
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

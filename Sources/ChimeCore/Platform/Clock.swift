internal import CPlatform

/// The system's clocks, each with the zero of `clock_gettime`, so that the host's own times can be used as deadlines.
package enum Clock: Sendable {
  case monotonic
  case boottime
  case wall

  /// The clock's number in `clock_gettime`.
  package var id: Int32 {
    switch self {
    case .monotonic: chime_monotonic_clock()
    case .boottime: chime_boottime_clock()
    case .wall: chime_wall_clock()
    }
  }

  /// Nanoseconds since the clock's zero.
  package var now: Int64 { Clock.time(of: id) }

  static func time(of id: Int32) -> Int64 { chime_clock_now(id) }

  /// Sleeps until a point on the clock, even if it is stepped in the meantime. Waits for time.
  package func sleep(until deadline: Int64) {
    while now < deadline { chime_clock_sleep(id, deadline) }
  }
}

import Glibc

/// The system's clocks, each with the zero of `clock_gettime`, so that deadlines mix with the host's own.
package enum Clock: Sendable {
  case monotonic
  case boottime
  case wall

  /// Nanoseconds since the clock's zero.
  package var now: Int64 {
    let id =
      switch self {
      case .monotonic: CLOCK_MONOTONIC
      case .boottime: CLOCK_BOOTTIME
      case .wall: CLOCK_REALTIME
      }
    var time = timespec()
    unsafe clock_gettime(id, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }
}

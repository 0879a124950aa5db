internal import CPlatform

/// The system's clocks, each with the zero of `clock_gettime`, so that the host's own times can be used as deadlines.
package enum Clock: Sendable {
  case monotonic
  case boottime
  case wall

  /// The clock's number in `clock_gettime`.
  package var id: Int32 {
    switch self {
    case .monotonic: CLOCK_MONOTONIC
    case .boottime: CLOCK_BOOTTIME
    case .wall: CLOCK_REALTIME
    }
  }

  /// Nanoseconds since the clock's zero.
  package var now: Int64 { Clock.time(of: id) }

  @inline(__always)
  static func time(of id: clockid_t) -> Int64 {
    var time = timespec()
    unsafe clock_gettime(id, &time)
    return Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
  }

  /// Sleeps until a point on the clock, even if it is stepped in the meantime. Waits for time.
  package func sleep(until deadline: Int64) {
    let (seconds, nanoseconds) = max(deadline, 0).quotientAndRemainder(dividingBy: 1_000_000_000)
    var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    while unsafe clock_nanosleep(id, CInt(TIMER_ABSTIME), &time, nil) == EINTR {}
  }
}

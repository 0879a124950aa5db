/// The instant within its leeway at which a timer is placed.
enum Placement {
  /// The first multiple of g at or after the deadline, where g is the largest power of two with a multiple within the
  /// leeway. Windows that contain the same multiple share a wake-up.
  ///
  /// That multiple is the latest permitted time with every bit cleared below the highest one in which it differs from
  /// the instant before the deadline.
  @inline(__always)
  static func time(deadline: Int64, leeway: Int64) -> Int64 {
    guard leeway > 0, deadline > 0, deadline < .max else { return deadline }
    // The last instant is never; a window ends before it.
    let latest = min(deadline.saturatingAdd(leeway), .max - 1)
    let differing = UInt64((deadline &- 1) ^ latest)
    let bit = 63 - differing.leadingZeroBitCount
    return (latest >> Int64(bit)) << Int64(bit)
  }
}

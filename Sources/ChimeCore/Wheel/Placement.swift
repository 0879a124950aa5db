/// The instant within its leeway at which a timer is placed.
enum Placement {
  /// The first multiple of g at or after the deadline, where g is the largest of 1, 2, 5, 10, 20, 50, … ns that is not
  /// above the leeway. Windows of equal leeways, which programs give in such numbers, share every wake-up they can.
  @inline(__always)
  static func time(deadline: Int64, leeway: Int64) -> Int64 {
    guard leeway > 0, deadline > 0, deadline < .max else { return deadline }
    let unit = unit(upTo: leeway)
    // The end of time has no later multiple.
    let (time, isOver) = deadline.addingReportingOverflow(unit &- 1 &- (deadline &- 1) % unit)
    return isOver ? deadline : time
  }

  @inline(__always)
  private static func unit(upTo leeway: Int64) -> Int64 {
    var power: Int64 = leeway < 1_000_000 ? 1 : 1_000_000
    while power <= leeway / 10 { power &*= 10 }
    return leeway >= 5 &* power ? 5 &* power : leeway >= 2 &* power ? 2 &* power : power
  }
}

/// How the wheel counts time, and how large it is. Whoever moves a timer asks which tick its time belongs to.
enum WheelTicks {
  /// A tick is 2^tickShift nanoseconds: 1,024 (in virtual time 1).
  static var tickShift: UInt64 { 10 }
  static var levels: Int { 11 }
  static var buckets: Int { levels * 64 }
  static var tolerance: Int { 1024 }
  /// The last bucket of level 5: up to there bucket and entry hold the whole tick.
  static var lastExact: Int { 6 * 64 - 1 }

  /// What an entry of a bucket up to that one adds to the bucket's first tick.
  static func mask(of bucket: Int) -> UInt32 { 1 &<< UInt32(6 &* (bucket &>> 6)) &- 1 }

  /// How much of a tick may be left when a time in it has come.
  static func rest(shift: UInt64) -> Int64 { 1 &<< Int64(bitPattern: shift) &- 1 }

  /// The first tick that is not before `time`.
  static func tick(notBefore time: Int64, shift: UInt64) -> UInt64 {
    guard time > 0 else { return 0 }
    return (UInt64(bitPattern: time) &+ (1 &<< shift) &- 1) &>> shift
  }

  /// The time at which a tick is reached, at the end of time the last one: a timer that is placed there is far, and not
  /// never.
  static func time(of tick: UInt64, shift: UInt64) -> Int64 {
    tick > UInt64(Int64.max) &>> shift ? .max - 1 : Int64(bitPattern: tick &<< shift)
  }
}

/// The instant within its leeway at which a timer is placed.
enum Placement {
  /// The first multiple of g at or after the deadline, where g is the largest of 1, 2, 5, 10, 20, 50, … ns that is not
  /// above the leeway. Windows of equal leeways, which programs give in such numbers, share every wake-up they can.
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

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
  @inline(__always)
  static func tick(notBefore time: Int64, shift: UInt64) -> UInt64 {
    guard time > 0 else { return 0 }
    return (UInt64(bitPattern: time) &+ (1 &<< shift) &- 1) &>> shift
  }

  /// The time at which a tick is reached; `Int64.max` at the end of time.
  static func time(of tick: UInt64, shift: UInt64) -> Int64 {
    tick > UInt64(Int64.max) &>> shift ? .max : Int64(bitPattern: tick &<< shift)
  }
}

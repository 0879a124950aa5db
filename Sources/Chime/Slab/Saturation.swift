/// Time arithmetic that ends at the ends of time instead of trapping (promise 17).
extension Int64 {
  @inline(__always)
  func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  @inline(__always)
  func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min : .max) : difference
  }

  /// `self + count * interval`, with `interval` above 0.
  func saturatingAdd(_ count: UInt64, times interval: Int64) -> Int64 {
    let (product, overflow) = UInt64(interval).multipliedReportingOverflow(by: count)
    guard !overflow, product <= UInt64(Int64.max) else {
      // Only reachable with a sum beyond the end of time unless self is far below zero.
      return self < 0 && !overflow ? Int64(clamping: Int128(self) + Int128(product)) : .max
    }
    return saturatingAdd(Int64(product))
  }
}

/// A duration in 32 bits: 26 bits of a number and 6 bits of its unit, a power of two of nanoseconds or one that people
/// use. Exact below 67 ms, for whole microseconds up to a minute, milliseconds up to 18 hours and seconds up to two
/// years; rounded down otherwise, by less than 1 part in 33 million.
struct CompactDuration {
  var bits: UInt32

  /// Units 0 to 37 are 2^unit ns; these follow.
  private static let decimalUnits: [(code: UInt32, length: Int64)] = [(38, 1_000), (39, 1_000_000), (40, 1_000_000_000)]

  @inline(__always)
  init(bits: UInt32) { self.bits = bits }

  /// - Parameter nanoseconds: 0 or more.
  @inline(__always)
  init(_ nanoseconds: Int64) {
    bits = nanoseconds < 1 << 26 ? UInt32(truncatingIfNeeded: nanoseconds) : CompactDuration.bits(of: nanoseconds)
  }

  private static func bits(of nanoseconds: Int64) -> UInt32 {
    for unit in decimalUnits where nanoseconds % unit.length == 0 && nanoseconds / unit.length < 1 << 26 {
      return unit.code << 26 | UInt32(nanoseconds / unit.length)
    }
    let shift = 38 - nanoseconds.leadingZeroBitCount
    return UInt32(shift) << 26 | UInt32(truncatingIfNeeded: nanoseconds >> shift)
  }

  var nanoseconds: Int64 {
    let number = Int64(bits & 0x3FF_FFFF)
    let unit = bits >> 26
    return unit < 38 ? number << Int64(unit) : number * CompactDuration.decimalUnits[Int(unit - 38)].length
  }
}

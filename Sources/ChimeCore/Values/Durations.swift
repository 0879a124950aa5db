/// A duration in 32 bits: 26 bits of a number and 6 bits of its unit, a power of two of nanoseconds or a customary one.
/// Exact below 67 ms, for whole microseconds up to a minute, milliseconds up to 18 hours and seconds up to two years;
/// rounded down otherwise, by less than 1 part in 33 million.
@frozen package struct CompactDuration {
  @usableFromInline package var bits: UInt32

  /// Units 0 to 37 are 2^unit ns; these follow.
  private static let decimalUnits: [(code: UInt32, scale: Int64)] = [
    (38, 1_000), (39, 1_000_000), (40, 1_000_000_000),
  ]

  init(bits: UInt32) { self.bits = bits }

  package static var none: CompactDuration { CompactDuration(bits: 0) }

  /// - Parameter nanoseconds: 0 or more.
  init(_ nanoseconds: Int64) {
    bits = nanoseconds < 1 << 26 ? UInt32(truncatingIfNeeded: nanoseconds) : CompactDuration.bits(of: nanoseconds)
  }

  /// `nil` if it is negative, or needs a unit other than nanoseconds: from 67 ms on.
  @inlinable
  package init?(short nanoseconds: Int64) {
    guard UInt64(bitPattern: nanoseconds) < 1 << 26 else { return nil }
    bits = UInt32(truncatingIfNeeded: nanoseconds)
  }

  private static func bits(of nanoseconds: Int64) -> UInt32 {
    for unit in decimalUnits where nanoseconds % unit.scale == 0 && nanoseconds / unit.scale < 1 << 26 {
      return unit.code << 26 | UInt32(nanoseconds / unit.scale)
    }
    let shift = 38 - nanoseconds.leadingZeroBitCount
    return UInt32(shift) << 26 | UInt32(truncatingIfNeeded: nanoseconds >> shift)
  }

  var nanoseconds: Int64 {
    let number = Int64(bits & 0x3FF_FFFF)
    let unit = bits >> 26
    return unit < 38 ? number << Int64(unit) : number * CompactDuration.decimalUnits[Int(unit - 38)].scale
  }
}

/// Time arithmetic that saturates instead of trapping (promise 17).
extension Int64 {
  package func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  package func saturatingSubtract(_ other: Int64) -> Int64 {
    let (difference, overflow) = subtractingReportingOverflow(other)
    return overflow ? (other > 0 ? .min : .max) : difference
  }

  /// `self + count * interval`, with `interval` above 0.
  package func saturatingAdd(_ count: UInt64, times interval: Int64) -> Int64 {
    let (product, overflow) = UInt64(interval).multipliedReportingOverflow(by: count)
    guard !overflow, product <= UInt64(Int64.max) else {
      // Only reachable with a sum beyond the end of time unless self is far below zero.
      return self < 0 && !overflow ? Int64(clamping: Int128(self) + Int128(product)) : .max
    }
    return saturatingAdd(Int64(product))
  }
}

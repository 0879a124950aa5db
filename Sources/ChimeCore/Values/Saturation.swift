/// Time arithmetic that saturates instead of trapping (promise 17).
extension Int64 {
  @inline(__always)
  package func saturatingAdd(_ other: Int64) -> Int64 {
    let (sum, overflow) = addingReportingOverflow(other)
    return overflow ? (other < 0 ? .min : .max) : sum
  }

  @inline(__always)
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

extension Duration {
  /// Whole nanoseconds, rounded up, and clamped to `Int64`.
  package var nanoseconds: Int64 {
    let attoseconds = attoseconds
    // The frequent case, up to two hours and a half, is a multiplication: 10^9 is 512 * 1,953,125, and a division of 64
    // bits by a constant is one.
    guard let frequent = UInt64(exactly: (attoseconds &+ 999_999_999) >> 9) else {
      return clampedNanoseconds(attoseconds)
    }
    return Int64(frequent / 1_953_125)
  }

  @inline(never)
  private func clampedNanoseconds(_ attoseconds: Int128) -> Int64 {
    let (quotient, remainder) = attoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    return Int64(clamping: quotient + (remainder > 0 ? 1 : 0))
  }
}

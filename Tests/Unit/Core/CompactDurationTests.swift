import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Leeways in 32 bits.
@Suite struct CompactDurationTests {
  static func kept(_ nanoseconds: Int64) -> Int64 { CompactDuration(nanoseconds).nanoseconds }

  /// Milliseconds, seconds, minutes and hours that people write down, up to a day; and the last that 26 bits count.
  @Test(arguments: [1000, 1_000_000, 1_000_000_000] as [Int64])
  func wholeUnitsAreExact(unit: Int64) {
    for count in 1...86_400 as ClosedRange<Int64> where Self.kept(count * unit) != count * unit {
      Issue.record("\(count)")
    }
    #expect(Self.kept((1 << 26 - 1) * unit) == (1 << 26 - 1) * unit)
  }

  @Test func anyDurationFromTwoToThe26IsRoundedDownByLessThanOnePartIn33Million() {
    var random = SplitMix64(seed: 26)
    let edges = (0..<63).flatMap { bit in [-1, 0, 1].map { Int64(1) << bit + $0 } }
    for duration in edges + (0..<5000).map({ _ in random.distance(bits: 63) }) {
      let lost = duration - Self.kept(duration)
      #expect(lost == 0 || duration > 1 << 26 && lost > 0 && lost <= duration / 33_000_000, "\(duration)")
    }
    #expect(Self.kept(.max) == Int64.max - (1 << 37 - 1))
    #expect(Self.kept(1 << 62) == 1 << 62)
    #expect(CompactDuration(0).bits == 0)
  }
}

/// Swift's durations count attoseconds.
@Suite struct NanosecondsTests {
  @Test func durationsAreRoundedUpToNanoseconds() {
    let edges: [Int128] = [0, 1, 1_000_000_000, 1 << 64, 1 << 72, 1 << 73, 9_223_372_036_854_775_807 * 1_000_000_000]
    for attoseconds in edges.flatMap({ edge in [-1_000_000_000, -999_999_999, -1, 0].map { edge + $0 } }) {
      let nanoseconds = Duration(attoseconds: attoseconds).nanoseconds
      #expect(Int128(nanoseconds) * 1_000_000_000 >= attoseconds, "\(attoseconds)")
      #expect(Int128(nanoseconds - 1) * 1_000_000_000 < attoseconds, "\(attoseconds)")
    }
  }

  @Test func durationsBeyondAreClamped() {
    #expect(Duration(attoseconds: .max).nanoseconds == .max)
    #expect(Duration.seconds(Int64.max).nanoseconds == .max)
    #expect(Duration(attoseconds: .min).nanoseconds == .min)
  }
}

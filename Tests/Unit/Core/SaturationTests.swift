import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// [17]: sums that do not fit end at the ends of time. 128-bit arithmetic says what the sum is.
@Suite struct SaturationTests {
  static let times: [Int64] = [
    .min, .min + 1, -1 << 62, -1_000_000_000, -1, 0, 1, 2, 1_000_000_000, 1 << 62, .max - 1, .max,
  ]
  static let counts: [UInt64] = [0, 1, 2, 3, 1_000_000_000, 1 << 32, 1 << 63 - 1, 1 << 63, .max - 1, .max]

  @Test func sumAndDifferenceAreExactOrAtAnEnd() {
    for a in Self.times {
      for b in Self.times {
        #expect(a.saturatingAdd(b) == Int64(clamping: Int128(a) + Int128(b)), "\(a) + \(b)")
        #expect(a.saturatingSubtract(b) == Int64(clamping: Int128(a) - Int128(b)), "\(a) - \(b)")
      }
    }
  }

  private func expectExact(_ start: Int64, _ count: UInt64, _ interval: Int64) {
    let exact = Int128(start) + Int128(count) * Int128(interval)
    #expect(start.saturatingAdd(count, times: interval) == Int64(clamping: exact), "\(start) + \(count) * \(interval)")
  }

  @Test func aNumberOfIntervalsIsExactOrAtTheEnd() {
    for start in Self.times {
      for count in Self.counts {
        for interval in Self.times where interval > 0 { expectExact(start, count, interval) }
      }
    }
    var random = SplitMix64(seed: 17)
    for _ in 0..<5000 {
      let start = Int64(bitPattern: random.next()) >> Int64.random(in: 0...63, using: &random)
      let count = random.next() >> UInt64.random(in: 0...63, using: &random)
      expectExact(start, count, max(1, random.distance(bits: 63)))
    }
  }
}

import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Leeways in 32 bits.
@Suite struct CompactDurationTests {
  static let millisecond: Int64 = 1_000_000
  static let second = 1000 * millisecond

  static func kept(_ nanoseconds: Int64) -> Int64 { CompactDuration(nanoseconds).nanoseconds }

  @Test func belowTwoToThe26EveryDurationIsExact() {
    for bit in 0..<26 {
      for duration in [1 << bit - 1, 1 << bit, 1 << bit + 1] as [Int64] { #expect(Self.kept(duration) == duration) }
    }
    #expect(Self.kept(1 << 26 - 1) == 1 << 26 - 1)
    #expect(CompactDuration(0).bits == 0)
  }

  /// Whole units are exact as far as 26 bits count them; a last one does not fit.
  @Test(arguments: [1000, 1_000_000, 1_000_000_000] as [Int64])
  func wholeUnitsAreExact(unit: Int64) {
    var random = SplitMix64(seed: UInt64(unit))
    for _ in 0..<2000 {
      let duration = max(1, random.distance(bits: 26)) * unit
      #expect(Self.kept(duration) == duration)
    }
    #expect(Self.kept((1 << 26 - 1) * unit) == (1 << 26 - 1) * unit)
    #expect(Self.kept((1 << 26 + 1) * unit) < (1 << 26 + 1) * unit || unit < 1_000_000_000)
  }

  /// Milliseconds, seconds, minutes and hours that people write down, up to a day.
  @Test func decimalLengthsAreExact() {
    let milliseconds = (1...10_000).map { $0 * Self.millisecond }
    let seconds = (1...86_400).map { $0 * Self.second }
    #expect((milliseconds + seconds).filter { Self.kept($0) != $0 } == [])
  }

  @Test func anyDurationIsRoundedDownByLessThanOnePartIn33Million() {
    var random = SplitMix64(seed: 26)
    for _ in 0..<5000 {
      let duration = random.distance(bits: 63)
      let lost = duration - Self.kept(duration)
      #expect(lost == 0 || lost > 0 && lost <= duration / 33_000_000, "\(duration)")
    }
  }

  @Test func theMaximumIsKeptNearly() {
    #expect(Self.kept(.max) == Int64.max - (1 << 37 - 1))
    #expect(Self.kept(1 << 62) == 1 << 62)
  }
}

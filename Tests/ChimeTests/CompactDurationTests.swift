import Testing

@testable import Chime

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

  @Test func wholeMillisecondsUpToFourSecondsAreExact() {
    let lengths = stride(from: Self.millisecond, through: 4 * Self.second, by: Int(Self.millisecond))
    #expect(lengths.allSatisfy { Self.kept($0) == $0 })
  }

  @Test(arguments: [1, 2, 5, 10, 15, 30, 35, 45, 59, 90, 150, 180, 300, 600, 900, 1000, 1800, 2700, 3600, 7200, 36_000, 43_200, 86_400])
  func wholeSecondsThatPeopleUseAreExact(seconds: Int64) {
    #expect(Self.kept(seconds * Self.second) == seconds * Self.second)
  }

  @Test func anyDurationIsRoundedDownByLessThanOnePartIn33Million() {
    var random = SplitMix64(seed: 26)
    for _ in 0..<5000 {
      let duration = random.distance(bits: 63)
      let lost = duration - Self.kept(duration)
      #expect(lost == 0 || lost > 0 && lost <= duration / 33_000_000, "\(duration)")
    }
  }

  @Test func wholeMillisecondsUpToEighteenHoursAreExact() {
    var random = SplitMix64(seed: 27)
    for _ in 0..<5000 {
      let length = random.distance(bits: 26) * Self.millisecond
      #expect(Self.kept(length) == length)
    }
  }

  @Test func theMaximumIsKeptNearly() {
    #expect(Self.kept(.max) == Int64.max - (1 << 37 - 1))
    #expect(Self.kept(1 << 62) == 1 << 62)
  }
}

import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// The timer's word, where it counts, rounds, or says what others own. (What lies in its other bits: whatever runs a timer.)
@Suite struct TimerWordTests {
  static let words: [UInt64] = {
    var random = SplitMix64(seed: 8)
    return [0, .max, 0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA] + (0..<100).map { _ in random.next() }
  }()
  static let generation: UInt64 = 0xFFFF_FE00
  static let postponement: UInt64 = 0xFFFF_FFFF_0000_0000

  /// Applies a change to every word and expects that it leaves what lies outside the mask; `expect` says the rest.
  private func change(
    _ mask: UInt64, by body: (TimerWord) -> TimerWord?, _ expect: (TimerWord) -> Bool,
    _ location: SourceLocation = #_sourceLocation
  ) {
    for bits in Self.words {
      let word = body(TimerWord(bits))
      #expect(word.map { $0.bits & ~mask } == bits & ~mask, sourceLocation: location)
      #expect(word.map(expect) == true, sourceLocation: location)
    }
  }

  @Test func theGenerationCountsAndWraps() {
    var before: UInt64 = 0
    let count: (TimerWord) -> TimerWord = { word in
      before = UInt64(word.generation)
      return word.withNextGeneration
    }
    change(Self.generation, by: count, { UInt64($0.generation) == (before + 1) % (1 << TimerWord.generationBits) })
    #expect(TimerWord(.max).withNextGeneration.generation == 0)
  }

  /// In nanoseconds below 2^31 of them; otherwise rounded up to 1,024 of them.
  @Test(
    arguments: [
      .min, -1, 0, 1, 1_000_000_000, 1 << 31 - 1, 1 << 31, 1 << 31 + 1, 30_000_000_000, 1 << 40, 0x7FFF_FFFF << 10 - 1,
      0x7FFF_FFFF << 10, .max,
    ] as [Int64])
  func aPostponementIsWrittenAndReadBackWhereItFits(distance: Int64) {
    if 0..<1 << 31 ~= distance {
      change(Self.postponement, by: { $0.with(postponement: distance) }, { $0.postponement == distance })
    } else {
      #expect(TimerWord(0).with(postponement: distance) == nil)
    }
    if 0..<0x7FFF_FFFF << 10 ~= distance {
      let units = distance..<distance + 1024
      change(Self.postponement, by: { $0.with(longPostponement: distance) }, { units ~= $0.postponement })
    } else {
      #expect(TimerWord(0).with(longPostponement: distance) == nil)
    }
    change(Self.postponement, by: { $0.withoutPostponement }, { $0.postponement == 0 })
  }

  @Test(
    arguments: [(0, 1), (1, 2), (0x1_0000, 0x1_0001), (0x7FFF_FFFE, 0x7FFF_FFFF), (0x7FFF_FFFF, 1)] as [(Int64, Int64)])
  func theNextPostponementIsAnotherInTheSameUnits(before: Int64, after: Int64) {
    for unit in [0, 1 << 63] as [UInt64] {
      let word = TimerWord(unit | UInt64(before) << 32 | 0x1_2345)
      let next = word.withNextPostponement
      let isLargest = before == 0x7FFF_FFFF
      #expect(next.bits == (isLargest ? 0 : unit) | UInt64(after) << 32 | 0x1_2345)
    }
  }

  @Test func mergingTakesWhatOthersOwnFromTheCurrentWordAndTheRestFromItself() {
    let theirs = TimerWord.busyBit | TimerWord.inboxBit | TimerWord.enqueuedBit | TimerWord.waitedBit
    for current in Self.words {
      change(theirs, by: { $0.merging(foreignFlagsOf: TimerWord(current)) }, { $0.bits & theirs == current & theirs })
    }
  }
}

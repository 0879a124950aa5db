import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// The timer's word: each setter changes its own bits and leaves all others.
@Suite struct TimerWordTests {
  static let words: [UInt64] = {
    var random = SplitMix64(seed: 8)
    return [0, .max, 0x5555_5555_5555_5555, 0xAAAA_AAAA_AAAA_AAAA] + (0..<100).map { _ in random.next() }
  }()
  static let flags = [
    TimerWord.busyBit, TimerWord.writerBit, TimerWord.inboxBit, TimerWord.callbackPendingBit, TimerWord.enqueuedBit,
    TimerWord.waitedBit,
  ]
  static let code: UInt64 = 0x7
  static let generation: UInt64 = 0xFFFF_FE00
  static let postponement: UInt64 = 0xFFFF_FFFF_0000_0000

  /// Whether the words agree outside the mask.
  static func agree(_ a: TimerWord?, _ b: UInt64, outside mask: UInt64) -> Bool {
    guard let a else { return false }
    return a.bits & ~mask == b & ~mask
  }

  @Test func theFieldsFillTheWordAndDoNotOverlap() {
    let fields = Self.flags + [Self.code, Self.generation, Self.postponement]
    #expect(fields.reduce(0, |) == .max)
    #expect(fields.reduce(0) { $0 + $1.nonzeroBitCount } == 64)
  }

  @Test func aStateIsWrittenAndReadBack() {
    for bits in Self.words {
      for state in TimerState.allCases {
        let word = TimerWord(bits).with(state)
        #expect(word.state == state)
        #expect(word.isLive && !word.isFree && !word.isReleased)
        #expect(word.isRunning == (state == .running))
        #expect(word.isAtRest == (state != .running && state != .suspended))
        #expect(Self.agree(word, bits, outside: Self.code))
      }
    }
  }

  @Test func freeAndReleasedSlotsHaveNoState() {
    for bits in Self.words {
      let free = TimerWord(bits).with(code: TimerWord.freeCode)
      #expect(free.isFree && !free.isReleased && !free.isLive && free.state == nil && !free.isAtRest)
      let released = TimerWord(bits).with(code: TimerWord.releasedCode)
      #expect(released.isReleased && !released.isFree && !released.isLive)
      #expect(released.state == nil && !released.isAtRest)
    }
    #expect(TimerWord(7).state == nil && !TimerWord(7).isLive)
  }

  @Test func aFlagIsSetAndClearedAlone() {
    for bits in Self.words {
      for flag in Self.flags {
        let set = TimerWord(bits).setting(flag)
        let cleared = TimerWord(bits).clearing(flag)
        #expect(set.bits & flag == flag && cleared.bits & flag == 0)
        #expect(Self.agree(set, bits, outside: flag) && Self.agree(cleared, bits, outside: flag))
      }
    }
  }

  @Test func eachFlagHasItsOwnQuery() {
    for flag in Self.flags {
      let word = TimerWord(flag)
      let answers = [
        word.isBusy, word.hasWriter, word.isInInbox, word.hasPendingCallback, word.isEnqueued, word.isWaited,
      ]
      #expect(answers == Self.flags.map { $0 == flag })
    }
  }

  @Test func theGenerationCountsAndWraps() {
    for bits in Self.words {
      let word = TimerWord(bits)
      #expect(word.withNextGeneration.generation == (word.generation + 1) % (1 << 23))
      #expect(Self.agree(word.withNextGeneration, bits, outside: Self.generation))
    }
    let last = TimerWord(.max)
    #expect(last.generation == TimerWord.generationMask)
    #expect(last.withNextGeneration.generation == 0)
  }

  @Test func aPostponementThatFitsIsWrittenAndReadBack() {
    for bits in Self.words {
      for distance in [0, 1, 1_000_000_000, 1 << 31 - 1] as [Int64] {
        let word = TimerWord(bits).with(postponement: distance)
        #expect(word?.postponement == distance)
        #expect(Self.agree(word, bits, outside: Self.postponement))
      }
      #expect(TimerWord(bits).withoutPostponement == TimerWord(bits).with(postponement: 0))
    }
  }

  @Test(arguments: [1 << 31, 1 << 40, .max, -1, .min] as [Int64])
  func aPostponementThatDoesNotFitIsRefused(distance: Int64) {
    #expect(TimerWord(0).with(postponement: distance) == nil)
  }

  @Test(arguments: [1 << 31, 1 << 31 + 1, 30_000_000_000, 0x7FFF_FFFF << 10 - 1] as [Int64])
  func aLongPostponementIsRoundedUpByLessThanAMicrosecondOrSo(distance: Int64) throws {
    for bits in Self.words {
      let word = try #require(TimerWord(bits).with(longPostponement: distance))
      #expect(distance..<distance + 1024 ~= word.postponement)
      #expect(Self.agree(word, bits, outside: Self.postponement))
      #expect(word.withoutPostponement.postponement == 0)
    }
  }

  @Test(arguments: [0x7FFF_FFFF << 10, .max, -1, .min] as [Int64])
  func aPostponementOfMoreThanHalfAnHourIsRefused(distance: Int64) {
    #expect(TimerWord(0).with(longPostponement: distance) == nil)
  }

  @Test func overTakesWhatOthersOwnFromTheCurrentWordAndTheRestFromItself() {
    let theirs = TimerWord.busyBit | TimerWord.inboxBit | TimerWord.enqueuedBit | TimerWord.waitedBit
    for (mine, current) in zip(Self.words, Self.words.reversed()) {
      let word = TimerWord(mine).over(TimerWord(current))
      #expect(word.bits & theirs == current & theirs)
      #expect(Self.agree(word, mine, outside: theirs))
    }
    #expect(TimerWord(0).over(TimerWord(.max)).bits == theirs)
    #expect(TimerWord(.max).over(TimerWord(0)).bits == ~theirs)
  }
}

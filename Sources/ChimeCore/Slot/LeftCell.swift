/// What ids need of a cell whose page was given back: version and generation, and whether the last timer there ended with
/// its queue. It stands in the slot's wheel position, with the bit that no tick has set there.
struct LeftCell {
  /// No tick is so late that it has this bit.
  private static var mark: UInt64 { 1 << 63 }

  let bits: UInt64

  init(bits: UInt64) { self.bits = bits }

  init(_ word: TimerWord, version: UInt32) {
    bits =
      LeftCell.mark | UInt64(version) << 32 | word.generation << 1
      | (word.hasEndedWithQueue(version &- 1) ? 1 : 0)
  }

  var isThere: Bool { bits & LeftCell.mark != 0 }
  var version: UInt32 { UInt32(truncatingIfNeeded: bits >> 32) & Handle.versionMask }
  /// The free slot's.
  var word: TimerWord {
    let free = TimerWord((bits >> 1 & TimerWord.generationMask) << TimerWord.generationShift)
    return bits & 1 != 0 ? free.endedWithQueue(version &- 1) : free
  }
}

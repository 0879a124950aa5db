import Synchronization

/// A timer at one moment: its word, and what queries report of its record. A plain value.
struct TimerImage {
  var word: TimerWord
  var deadline: Int64
  var period: Int64
  var versionAndFlags: UInt32
  var leeway: CompactDuration
  var sequenceLow: UInt32
  var tickLimit: UInt64 = 0
  var dueCount: UInt64 = 0
  var missed: UInt64 = 0
  var sequenceHigh: UInt32 = 0
  var generationHigh: UInt32 = 0
  var targetID: UInt64 = 0
  var wallOffset = SideRecordRef.followsNoWall

  var version: UInt32 { versionAndFlags & Handle.versionMask }
  var flags: RecordFlags { RecordFlags(rawValue: versionAndFlags & ~Handle.versionMask) }
  var generation: UInt64 { UInt64(generationHigh) << TimerWord.generationBits | word.generation }
  var sequence: UInt64 { UInt64(sequenceHigh) << 32 | UInt64(sequenceLow) }
  /// When a running timer is due.
  var dueTime: Int64 { word.dueTime(deadline) }

  /// The same on the queue's clock; `Int64.max` for a timer that is not running.
  func wallDueTime(_ control: QueueControlBlock) -> Int64 {
    guard word.isRunning else { return .max }
    return flags.contains(.onWallClock) ? control.wallTime(dueTime, own: wallOffset) : dueTime
  }
}

extension TimerSlot {
  /// The timer as the last completed operation left it. Beside a writer that does not come to an end, which can only be
  /// one that the system has taken off its processor, what the record says at this moment: a query waits for nobody.
  var image: TimerImage {
    var tries = 0
    while true {
      let word = word
      let image = copy(word)
      if word.hasWriter, word.isLive {
        tries += 1
        if tries == 64 { return image }
        continue
      }
      // Each change of the record leaves another sequence, deadline, leeway or wall offset behind, or another word. The
      // word is looked at between the two readings, so that no change is half done at both; and last, since under
      // another generation the rest can be as it was.
      atomicMemoryFence(ordering: .acquiring)
      guard self.word == word, sequence == image.sequenceLow, deadline == image.deadline,
        leeway.bits == image.leeway.bits,
        !image.flags.contains(.onWallClock) || sideRecord?.wallOffset ?? SideRecordRef.followsNoWall == image.wallOffset
      else { continue }
      atomicMemoryFence(ordering: .acquiring)
      if self.word == word { return image }
    }
  }

  /// What the record says at this moment, with a word. The caller finds out whether they belong together.
  fileprivate func copy(_ word: TimerWord) -> TimerImage {
    var image = TimerImage(
      word: word, deadline: deadline, period: period, versionAndFlags: versionAndFlags, leeway: leeway,
      sequenceLow: sequence)
    guard let sideRecord else { return image }
    image.tickLimit = sideRecord.tickLimit
    image.dueCount = sideRecord.dueCount
    image.missed = sideRecord.missed
    image.sequenceHigh = sideRecord.sequenceHigh
    image.generationHigh = sideRecord.generationHigh
    image.targetID = sideRecord.targetID
    image.wallOffset = sideRecord.wallOffset
    return image
  }
}

/// The one 64-bit word that decides a timer's fate. A value type, read and swapped as a whole.
///
/// - 0–2: what the slot holds: nothing, a timer in one of five states, or a released timer that is still needed
/// - 3, busy: a callback has started and has not returned
/// - 4, writer: one thread owns the cell; everybody else waits or comes back
/// - 5, inbox: the slot is linked in its queue's inbox
/// - 6, callback pending: an extra tick, registration or cancel callback is to be delivered; details in the side record. Or
///   nothing is to be called, and the timer releases itself at that turn (`Writing.commit(atRest:)`)
/// - 7, enqueued: a delivery of this slot's pending callback is in the batch, or any delivery on its way on a concurrent
///   queue, and has not begun
/// - 8, waited: a thread waits until the timer is no longer busy; whoever clears busy clears this and wakes it
/// - 9–31: generation, low bits; they run on when the slot is reused
/// - 32–63: running: the postponement, added to the cell's deadline, in ns, or in units of the wheel's resolution if
///   bit 63 is set. Suspended: since when, as a `CompactDuration`. Released or free: which timer ended with its queue; see
///   `endedWithQueue`
///
/// The cell changes only while there is a writer. Each accepted activate, restart, reschedule, suspend, cancel and release
/// changes the generation. (23 bits repeat after 8 million of them in one slot, and slots are reused first in, first out: a
/// thread would have to sleep through exactly so many rounds of all of them to be deceived.) Within a generation, a
/// compare-and-swap on the word proves that a deadline read beside it belongs to it:
///
/// - A one-shot's postponement is in the word. One by more than the word holds moves the cell's deadline, and leaves a
///   larger postponement in the word each time (P3c).
/// - A repeating timer's tick moves the deadline, and so do postponements and steps on the wall clock, and the word may stay
///   the same. These timers are claimed and postponed through the writer bit, under which the deadline is read again (P4).
struct TimerWord: Equatable {
  var bits: UInt64

  init(_ bits: UInt64) { self.bits = bits }

  static var busyBit: UInt64 { 1 << 3 }
  static var writerBit: UInt64 { 1 << 4 }
  static var inboxBit: UInt64 { 1 << 5 }
  static var callbackPendingBit: UInt64 { 1 << 6 }
  static var enqueuedBit: UInt64 { 1 << 7 }
  static var waitedBit: UInt64 { 1 << 8 }
  static var generationShift: UInt64 { 9 }
  static var generationBits: UInt64 { 23 }
  #if !CHIME_INTERLEAVINGS
    static var generationMask: UInt64 { (1 << generationBits) - 1 }
  #endif

  /// Content codes: 0: free, 1 + state, 6: released.
  static var freeCode: UInt64 { 0 }
  static var releasedCode: UInt64 { 6 }

  var code: UInt64 { bits & 7 }
  var isFree: Bool { code == TimerWord.freeCode }
  var isReleased: Bool { code == TimerWord.releasedCode }
  var isRunning: Bool { code == TimerWord.code(of: .running) }
  var isFinished: Bool { code == TimerWord.code(of: .finished) }
  /// A running timer without a writer and without a running callback.
  var isRunningAlone: Bool {
    bits & (7 | TimerWord.busyBit | TimerWord.writerBit) == TimerWord.code(of: .running)
  }
  /// A running timer of which nothing else is wanted, and nobody waits for the end of its callback.
  var isPlainlyRunning: Bool {
    bits & (7 | TimerWord.callbackPendingBit | TimerWord.waitedBit) == TimerWord.code(of: .running)
  }
  /// A live timer without a writer and without a running callback.
  var isLiveAlone: Bool { bits & (7 | TimerWord.busyBit | TimerWord.writerBit) &- 1 < 5 }
  /// A live timer: its id still names it.
  var isLive: Bool { code &- 1 < 5 }

  /// The state of a live timer; `nil` for a free or released slot.
  var state: TimerState? { TimerState(rawValue: UInt8(truncatingIfNeeded: code &- 1)) }

  /// Idle, finished or cancelled.
  var isAtRest: Bool { state?.isAtRest ?? false }
  /// Finished or cancelled: at rest, and activated before. A timer that releases itself does so now.
  var isOver: Bool { code &- TimerWord.code(of: .finished) < 2 }

  var isBusy: Bool { bits & TimerWord.busyBit != 0 }
  var hasWriter: Bool { bits & TimerWord.writerBit != 0 }
  var isInInbox: Bool { bits & TimerWord.inboxBit != 0 }
  var hasPendingCallback: Bool { bits & TimerWord.callbackPendingBit != 0 }
  var isEnqueued: Bool { bits & TimerWord.enqueuedBit != 0 }
  var isWaited: Bool { bits & TimerWord.waitedBit != 0 }
  var generation: UInt64 { (bits >> TimerWord.generationShift) & TimerWord.generationMask }
  /// 0 in the lower half of the generation's range, 1 in the upper one.
  var generationHalf: UInt64 { generation > TimerWord.generationMask >> 1 ? 1 : 0 }
  /// Whether the next generation is in the other half: a side record has to count it.
  var endsHalf: Bool { generation & TimerWord.generationMask >> 1 == TimerWord.generationMask >> 1 }
  /// Of a running timer.
  var postponement: Int64 {
    Int64((bits >> 32) & 0x7FFF_FFFF) << Int64((bits >> 63) &* WheelTicks.tickShift)
  }

  /// When a running timer is due, given its cell's deadline, read together with this word.
  func dueTime(_ deadline: Int64) -> Int64 { deadline.saturatingAdd(postponement) }

  static func code(of state: TimerState) -> UInt64 { UInt64(state.rawValue) &+ 1 }

  func with(code: UInt64) -> TimerWord { TimerWord(bits & ~7 | code) }

  func with(_ state: TimerState) -> TimerWord { with(code: TimerWord.code(of: state)) }

  /// This word, a free one, for a timer in that state.
  func made(_ state: TimerState) -> TimerWord {
    setting(TimerWord.code(of: state)).withNextGeneration.withoutPostponement
  }

  /// This word, a running or suspended timer's, for one that is cancelled.
  var cancelled: TimerWord { with(.cancelled).withNextGeneration.withoutPostponement }

  /// This word, a live timer's, for a slot that is free.
  var freed: TimerWord {
    with(code: TimerWord.freeCode).withNextGeneration.withoutPostponement.clearing(TimerWord.callbackPendingBit)
  }

  /// This word, a live timer's, for one that is released.
  var released: TimerWord { with(code: TimerWord.releasedCode).withNextGeneration.withoutPostponement }

  /// This word, a running timer's, for one whose last tick starts.
  var withLastTick: TimerWord {
    Transition(from: .running, on: .lastTick).next.map { with($0).withoutPostponement } ?? self
  }

  var beingWritten: TimerWord { setting(TimerWord.writerBit) }

  /// This word, a released timer's, for one that its queue's end has released. Which one that was can be read until the
  /// slot is used again, so that a second release of the timer is no mistake of the caller's.
  func endedWithQueue(_ version: UInt32) -> TimerWord {
    TimerWord(withoutPostponement.bits | 1 << 63 | UInt64(version) << 32)
  }

  /// Whether the timer that was in the slot with that version ended with its queue, and the slot was not used since.
  func hasEndedWithQueue(_ version: UInt32) -> Bool { !isLive && bits >> 32 == 1 << 31 | UInt64(version) }

  func setting(_ flags: UInt64) -> TimerWord { TimerWord(bits | flags) }

  func clearing(_ flags: UInt64) -> TimerWord { TimerWord(bits & ~flags) }

  /// The generation lies in the lower half, at its top: so the sum is right but for a generation that is kept to fewer
  /// bits, as the interleavings have it.
  var withNextGeneration: TimerWord {
    let low = UInt32(truncatingIfNeeded: bits)
    let sum = low &+ (1 << TimerWord.generationShift)
    let others = ~UInt32(truncatingIfNeeded: TimerWord.generationMask << TimerWord.generationShift | 0x1FF)
    return TimerWord((bits & 0xFFFF_FFFF_0000_0000) | UInt64(sum ^ ((sum ^ low) & others)))
  }

  /// The word with that postponement; `nil` if it does not fit: from 2.1 s on.
  func with(postponement: Int64) -> TimerWord? {
    guard UInt64(bitPattern: postponement) >> 31 == 0 else { return nil }
    return TimerWord((bits & 0xFFFF_FFFF) | (UInt64(postponement) << 32))
  }

  /// This word, a running timer's, with the next larger postponement; after the largest, with the least.
  var withNextPostponement: TimerWord {
    let isLargest = (bits >> 32) & 0x7FFF_FFFF == 0x7FFF_FFFF
    return TimerWord((isLargest ? withoutPostponement.bits : bits) &+ (1 << 32))
  }

  /// Whether another postponement of the same word is larger. One in larger units is: it is used only where nanoseconds
  /// do not fit.
  func isPostponed(less other: TimerWord) -> Bool { bits < other.bits }

  /// The word with a postponement that is rounded up to units of the wheel's resolution; `nil` from 36 minutes on.
  func with(longPostponement distance: Int64) -> TimerWord? {
    guard UInt64(bitPattern: distance) < 0x7FFF_FFFF << WheelTicks.tickShift else { return nil }
    let units = (UInt64(distance) &+ (1 << WheelTicks.tickShift - 1)) >> WheelTicks.tickShift
    return TimerWord((bits & 0xFFFF_FFFF) | (1 << 63) | (units << 32))
  }

  /// This word, for a timer that is now suspended; its cell's deadline includes the postponement.
  func suspended(at now: Int64) -> TimerWord {
    TimerWord((with(.suspended).bits & 0xFFFF_FFFF) | (UInt64(CompactDuration(max(now, 0)).bits) << 32))
  }

  /// When a suspended timer was suspended, or a little earlier.
  var suspendedAt: Int64 { CompactDuration(bits: UInt32(truncatingIfNeeded: bits >> 32)).nanoseconds }

  var withoutPostponement: TimerWord { TimerWord(bits & 0xFFFF_FFFF) }

  /// What nobody but a writer, or who swaps the word without one, changes: state, generation and postponement.
  var writersOwn: UInt64 { bits & ~(0x1FF & ~7) }

  /// This word's state, generation, callback-pending flag and postponement, with the flags of `current` that others
  /// own: busy, inbox, enqueued and waited can change while there is a writer.
  func merging(foreignFlagsOf current: TimerWord) -> TimerWord {
    let theirs = TimerWord.busyBit | TimerWord.inboxBit | TimerWord.enqueuedBit | TimerWord.waitedBit
    return TimerWord(bits & ~theirs | current.bits & theirs)
  }
}

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

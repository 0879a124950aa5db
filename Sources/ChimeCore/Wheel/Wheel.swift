import Synchronization

/// A hierarchical timing wheel (Varghese and Lauck, 1987): levels of 64 buckets, each level 64 times as coarse as the
/// one below, with a bitmap of the buckets in use. Used only with the queue's pass lock, by a pass or a query of its
/// next deadline; other threads read the positions it stores (P2).
///
/// It is lazy. A timer that is cancelled or postponed leaves its entry where it is; that is noticed when the entry's
/// time comes, or when it is at the front. A timer's valid entry is the one at its `Slab.position`; all others are
/// stale. A sweep runs when stale entries outnumber valid ones, so entries never exceed twice the slots by more than
/// `tolerance`, and the pages that came with the slots suffice.
///
/// Time is counted in ticks of 2^shift nanoseconds. A tick is an unsigned 64-bit number; level and bucket of an entry
/// are the place and value of the highest 6-bit digit in which it differs from `base`, so every entry of a level comes
/// before every entry of the level above.
struct Wheel: ~Copyable {
  /// Of its largest table.
  static var bytes: Int { WheelTicks.buckets * MemoryLayout<WheelPage?>.stride }

  private struct Front: BitwiseCopyable {
    /// -1: not known.
    let bucket: Int
    let tick: UInt64
    let slot: SlotIndex
    static var unknown: Front { Front(bucket: -1, tick: 0, slot: .unused) }
  }

  let shift: UInt64
  private let honoursLeeway: Bool
  private let control: QueueControlBlock

  /// No entry is earlier; entries that are due at it are in its level 0 bucket.
  private(set) var base: UInt64
  /// Entries in all buckets.
  private(set) var entryCount = 0
  /// Slots that have a valid entry.
  private(set) var placedCount = 0

  private let heads: WheelTable<WheelPage?>
  private let occupied: WheelTable<UInt64>
  /// The levels that have buckets in use, a bit each.
  private var levelsInUse: UInt64 = 0

  private var freePages: WheelPage?
  private var freshPages: (region: WheelPageRegion, used: Int)?
  /// The chunks whose pages the wheel has taken; those that the control block has without chunks came before.
  private var chunks: ChunkCursor?
  /// The earliest entry of each level, if known: a level that has not changed is not searched again.
  private let fronts: WheelTable<Front>

  init(control: QueueControlBlock, shift: UInt64, now: Int64) {
    self.control = control
    self.shift = shift
    honoursLeeway = control.honoursLeeway
    base = Wheel.base(at: now, shift: shift)
    heads = WheelTable(repeating: nil, count: WheelTicks.buckets)
    occupied = WheelTable(repeating: 0, count: WheelTicks.levels)
    fronts = WheelTable(repeating: .unknown, count: WheelTicks.levels)
  }

  deinit {
    heads.deallocate()
    occupied.deallocate()
    fronts.deallocate()
  }

  /// Gives the pages back to the control block and forgets every position.
  mutating func close() {
    for bucket in 0..<WheelTicks.buckets {
      drain(bucket) { wheel, entry in wheel.forget(entry.slot) }
    }
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    chunks = nil
    freePages = nil
    freshPages = nil
  }

  // MARK: Ticks

  /// The tick reached by `now`; never the last one, which stands for never.
  private static func base(at now: Int64, shift: UInt64) -> UInt64 {
    UInt64(bitPattern: min(max(now, 0), .max - 1)) &>> shift
  }

  // MARK: Placing

  /// Places a running timer where it belongs; a timer that is being written, where its cell says at this moment. If it
  /// belongs elsewhere afterwards, its writer sends it, because the writer reads the position after this, or finds it
  /// changed (P2).
  @inline(__always)
  mutating func place(_ slot: TimerSlot, _ word: TimerWord) {
    if word.isRunning { place(slot, running: word) }
  }

  @inline(never)
  private mutating func place(_ slot: TimerSlot, running word: TimerWord) {
    let (deadline, leeway) = (slot.deadline, slot.leeway)
    place(slot, deadline: word.dueTime(deadline), leeway: leeway) { current in
      // Nobody has written it meanwhile, or what was written is the same.
      current == word && !word.hasWriter && slot.deadline == deadline && slot.leeway.bits == leeway.bits
    }
  }

  /// Places a running timer where its cell says, unless it is already there. A timer at the end of time never comes
  /// and is not placed.
  /// - Parameter isSettled: whether with that word, read afterwards, it is where it belongs; false: look.
  @inline(__always)
  mutating func place(
    _ slot: TimerSlot, deadline: Int64, leeway: CompactDuration, isSettled: (TimerWord) -> Bool = { _ in false }
  ) {
    move(slot, to: deadline == .max ? nil : tick(deadline: deadline, leeway: leeway), isSettled)
    if entryCount > 2 &* placedCount &+ WheelTicks.tolerance { sweep() }
    checkPlacement(of: slot)
  }

  /// Gives a slot a new position, or none; and another one if the timer has moved in the meantime, or is being written:
  /// its writer may have seen the old position and rely on it (see `WheelPosition`; P2).
  @inline(__always)
  private mutating func move(_ slot: TimerSlot, to tick: UInt64?, _ isSettled: (TimerWord) -> Bool) {
    let position = Slab.position(of: slot)
    var next = tick
    while true {
      let old = position.tick
      if next != old {
        if let next {
          if old == nil { placedCount &+= 1 }
          position.set(next)
          insert(slot.index, next)
        } else {
          position.clear()
          placedCount -= 1
        }
      }
      let word = slot.wordInOrder
      if isSettled(word) { return }
      if word.hasWriter, word.isLive {
        guard let old, old < next ?? .max else { return }
        next = old
      } else {
        guard let now = self.tick(of: slot, word), now < next ?? .max else { return }
        next = now
      }
    }
  }

  @inline(never)
  private mutating func move(_ slot: TimerSlot, to tick: UInt64?) { move(slot, to: tick) { _ in false } }

  /// Places a slot whose turn has come, but whose timer is being written, at `time`, where it is given out once more;
  /// or where it belongs, if nobody writes it any more. A writer that reads the position from here on sends the timer
  /// if that is too late for it; one that has read the earlier one finds its tick late (P2c).
  mutating func holdBack(_ slot: TimerSlot, until time: Int64) {
    let tick = max(WheelTicks.tick(notBefore: time, shift: shift), base)
    if let placed = Slab.position(of: slot).tick, placed <= tick { return }
    move(slot, to: tick) { $0.hasWriter && $0.isLive }
  }

  /// Takes a slot's position away. A fence must follow before its timer is looked at (P2).
  private mutating func forget(_ slot: SlotIndex) {
    let position = Slab.position(of: slot)
    if position.tick != nil {
      position.clearBeforeFence()
      placedCount -= 1
    }
  }

  /// When a pass looks at a slot with that deadline and leeway.
  func placement(of slot: TimerSlot) -> Int64 {
    slot.deadline == .max ? .max : WheelTicks.time(of: tick(deadline: slot.deadline, leeway: slot.leeway), shift: shift)
  }

  @inline(__always)
  private func tick(deadline: Int64, leeway: CompactDuration) -> UInt64 {
    let time =
      honoursLeeway && leeway.bits != 0 ? Placement.time(deadline: deadline, leeway: leeway.nanoseconds) : deadline
    return max(WheelTicks.tick(notBefore: time, shift: shift), base)
  }

  /// The tick of an entry of a bucket that is the one at its slot's position; `nil` for a stale one. Up to level 5 bucket
  /// and entry hold the whole tick; above, several entries of one slot can pass, and `tidy` keeps one.
  private func tick(ofValid entry: WheelEntry, in bucket: Int, _ start: UInt64) -> UInt64? {
    guard let placed = Slab.position(of: entry.slot).tick else { return nil }
    let isValid =
      bucket <= WheelTicks.lastExact
      ? placed == tick(of: entry, in: bucket, start)
      : UInt32(truncatingIfNeeded: placed) == entry.low && (placed ^ start) >> UInt64(6 * (bucket / 64)) == 0
    return isValid ? placed : nil
  }

  /// The tick of an entry of level 5 or below.
  private func tick(of entry: WheelEntry, in bucket: Int, _ start: UInt64) -> UInt64 {
    start | UInt64(entry.low & WheelTicks.mask(of: bucket))
  }

  private func bucket(of tick: UInt64) -> Int {
    let level = UInt32(truncatingIfNeeded: 63 &- ((tick ^ base) | 1).leadingZeroBitCount) / 6
    return Int(level &<< 6 | UInt32(truncatingIfNeeded: tick &>> UInt64(6 &* level)) & 63)
  }

  private mutating func insert(_ slot: SlotIndex, _ tick: UInt64) {
    let bucket = bucket(of: tick)
    let level = bucket &>> 6
    let known = fronts[level]
    if known.bucket >= bucket, known.tick > tick || known.bucket > bucket {
      fronts[level] = Front(bucket: bucket, tick: tick, slot: slot)
    }
    let page =
      if let head = heads[bucket], head.count < WheelPage.capacity { head } else { addPage(to: bucket, slot, tick) }
    let count = page.count
    let entry = WheelEntry(slot: slot, low: UInt32(truncatingIfNeeded: tick))
    page[count] = entry
    page.count = count &+ 1
    entryCount &+= 1
    checkEntry(entry, tick, in: bucket)
  }

  /// A page for the entries of a bucket that come next, the first of which is this.
  @inline(never)
  private mutating func addPage(to bucket: Int, _ slot: SlotIndex, _ tick: UInt64) -> WheelPage {
    let level = bucket &>> 6
    let page = takePage()
    page.next = heads[bucket]
    page.count = 0
    heads[bucket] = page
    if occupied[level] == 0 { fronts[level] = Front(bucket: bucket, tick: tick, slot: slot) }
    occupied[level] = occupied[level] | 1 &<< UInt64(bucket & 63)
    levelsInUse |= 1 &<< UInt64(level)
    return page
  }

  // MARK: Finding

  /// The bucket whose entries come first; `nil` when the wheel is empty.
  private func firstBucket() -> Int? {
    if levelsInUse == 0 { return nil }
    let level = levelsInUse.trailingZeroBitCount
    return level &<< 6 | occupied[level].trailingZeroBitCount
  }

  /// The first tick of a bucket.
  private func start(of bucket: Int) -> UInt64 {
    let width = 6 &* UInt64(bucket &>> 6)
    let above = width >= 58 ? 0 : (base &>> (width &+ 6)) &<< (width &+ 6)
    return above | UInt64(bucket & 63) &<< width
  }

  /// Moves to `now` and takes out every slot that was placed at or before it, in no order. When it returns, their
  /// timers may be looked at.
  @inline(always)
  mutating func advance(to now: Int64, into due: inout PassList<SlotIndex>) {
    let target = max(Wheel.base(at: now, shift: shift), base)
    while let bucket = firstBucket() {
      let start = start(of: bucket)
      guard start <= target else { break }
      base = max(base, start)
      fronts[bucket &>> 6] = .unknown
      if bucket > WheelTicks.lastExact {
        drain(bucket) { wheel, entry in
          guard let tick = wheel.tick(ofValid: entry, in: bucket, start) else { return }
          if tick > target { return wheel.insert(entry.slot, tick) }
          wheel.forget(entry.slot)
          due.append(entry.slot)
        }
        continue
      }
      let mask = WheelTicks.mask(of: bucket)
      drain(bucket) { wheel, entry in
        let tick = start | UInt64(entry.low & mask)
        // Not due yet: whether it is stale is checked when its time comes, not at each level that it passes.
        if tick > target { return wheel.insert(entry.slot, tick) }
        let position = Slab.position(of: entry.slot)
        if position.tick != tick { return }
        position.clearBeforeFence()
        wheel.placedCount &-= 1
        due.append(entry.slot)
      }
    }
    base = target
    checkAdvance(due)
    // One fence for all of them (P2); a fence each would keep their cache misses from overlapping.
    if !due.isEmpty { atomicMemoryFence(ordering: .sequentiallyConsistent) }
  }

  /// The slot whose entry `earliest` has found, if it has found one just now.
  var earliestSlot: TimerSlot? {
    guard let bucket = firstBucket(), case let known = fronts[bucket &>> 6], known.bucket == bucket else { return nil }
    return Slab.slot(known.slot)
  }

  /// The time of the earliest entry of a timer that runs, if that is no later than `limit`; stale and outdated entries
  /// before it are removed.
  @inline(__always)
  mutating func earliest(until limit: Int64 = .max) -> Int64? {
    guard let bucket = firstBucket() else { return nil }
    let known = fronts[bucket &>> 6]
    if known.bucket == bucket {
      if limit < .max, known.tick &<< shift > limit { return nil }
      // By fields of the wheel: a function of its own would get a copy of the whole wheel.
      let slot = Slab.slot(known.slot)
      let word = slot.wordInOrder
      if Slab.position(of: slot).tick == known.tick, word.isRunning, !word.hasWriter,
        tick(deadline: slot.dueTime(word), leeway: slot.leeway) == known.tick
      {
        return WheelTicks.time(of: known.tick, shift: shift)
      }
    }
    return findEarliest().flatMap { $0 <= limit ? $0 : nil }
  }

  private func isCurrent(_ front: Front) -> Bool {
    let slot = Slab.slot(front.slot)
    return Slab.position(of: slot).tick == front.tick && tick(of: slot, placed: front.tick) == front.tick
  }

  @inline(never)
  private mutating func findEarliest() -> Int64? {
    while let bucket = firstBucket() {
      let known = fronts[bucket &>> 6]
      if known.bucket == bucket, isCurrent(known) { return WheelTicks.time(of: known.tick, shift: shift) }
      fronts[bucket &>> 6] = .unknown
      // A timer that moved in the meantime may now be before this bucket.
      if let found = front(of: bucket), firstBucket() == bucket {
        fronts[bucket &>> 6] = Front(bucket: bucket, tick: found.tick, slot: found.slot)
        return WheelTicks.time(of: found.tick, shift: shift)
      }
    }
    return nil
  }

  /// The earliest entry of a bucket that is valid and not outdated. The entries themselves say which is earliest; only
  /// that one's timer is looked at. A few stale entries found on the way are removed or moved; if there are more, the
  /// whole bucket is tidied.
  private mutating func front(of bucket: Int) -> (tick: UInt64, slot: SlotIndex)? {
    // Above, entries do not hold their tick.
    guard bucket <= WheelTicks.lastExact else { return tidy(bucket) }
    let start = start(of: bucket)
    for _ in 0..<4 {
      guard let (entry, page, index) = earliestEntry(of: bucket, start) else { return nil }
      guard let placed = tick(ofValid: entry, in: bucket, start) else {
        remove(page, index, from: bucket)
        continue
      }
      let current = tick(of: Slab.slot(entry.slot), placed: placed)
      // A timer that moved earlier is in the inbox; until it is drained its entry stays.
      if let current, current <= placed { return (placed, entry.slot) }
      remove(page, index, from: bucket)
      move(Slab.slot(entry.slot), to: current)
    }
    return tidy(bucket)
  }

  private func earliestEntry(of bucket: Int, _ start: UInt64) -> (entry: WheelEntry, page: WheelPage, index: Int)? {
    let mask = WheelTicks.mask(of: bucket)
    var found: (entry: WheelEntry, page: WheelPage, index: Int)?
    var least = UInt32.max
    var page = heads[bucket]
    while let current = page {
      for i in 0..<current.count where current[i].low & mask < least {
        found = (current[i], current, i)
        least = current[i].low & mask
      }
      page = current.next
    }
    return found
  }

  /// Takes one entry out of a bucket; the first page's last one fills its place.
  private mutating func remove(_ page: WheelPage, _ index: Int, from bucket: Int) {
    guard let head = heads[bucket] else { return }
    head.count -= 1
    page[index] = head[head.count]
    entryCount -= 1
    guard head.count == 0 else { return }
    heads[bucket] = head.next
    head.next = freePages
    freePages = head
    if heads[bucket] == nil { markEmpty(bucket) }
    checkBitmaps(bucket)
  }

  @inline(__always)
  private mutating func markEmpty(_ bucket: Int) {
    let level = bucket &>> 6
    let left = occupied[level] & ~(1 &<< UInt64(bucket & 63))
    occupied[level] = left
    if left == 0 { levelsInUse &= ~(1 &<< UInt64(level)) }
  }

  /// Removes the stale entries of a bucket, moves those that were postponed, and finds the earliest that stays.
  private mutating func tidy(_ bucket: Int) -> (tick: UInt64, slot: SlotIndex)? {
    let start = start(of: bucket)
    let end = start | (bucket / 64 == 10 ? UInt64.max >> 4 : (UInt64(1) << UInt64(6 * (bucket / 64))) - 1)
    var found: (tick: UInt64, slot: SlotIndex)?
    drain(bucket) { wheel, entry in
      // The first valid entry of a slot is kept; its position carries a mark from then on.
      let position = Slab.position(of: entry.slot)
      guard let placed = wheel.tick(ofValid: entry, in: bucket, start), !position.isMarked else { return }
      let slot = Slab.slot(entry.slot)
      let current = wheel.tick(of: slot, placed: placed)
      if let current, current <= placed {
        // A timer that moved earlier is in the inbox; until it is drained its entry stays.
        wheel.insert(entry.slot, placed)
      } else {
        wheel.move(slot, to: current)
      }
      // One that moved out of the bucket is not met again below.
      guard let tick = position.tick, tick >= start, tick <= end else { return }
      position.isMarked = true
      if tick < found?.tick ?? .max { found = (tick, entry.slot) }
    }
    var page = heads[bucket]
    while let current = page {
      for i in 0..<current.count { Slab.position(of: current[i].slot).isMarked = false }
      page = current.next
    }
    return found
  }

  /// Where a slot belongs now; `nil` when its timer does not run. A slot that is being written stays where it is, and one
  /// with a callback, whose turn may have been held back for its writer (P2c).
  private func tick(of slot: TimerSlot, placed: UInt64) -> UInt64? {
    let word = slot.wordInOrder
    return word.isLive && (word.hasWriter || word.hasPendingCallback) ? placed : tick(of: slot, word)
  }

  /// Where a slot with that word, which has no writer, belongs.
  private func tick(of slot: TimerSlot, _ word: TimerWord) -> UInt64? {
    guard word.isRunning else { return nil }
    let deadline = slot.dueTime(word)
    if deadline == .max { return nil }
    return tick(deadline: deadline, leeway: slot.leeway)
  }

  /// Removes everything that is stale.
  private mutating func sweep() {
    for level in 0..<WheelTicks.levels { fronts[level] = .unknown }
    for bucket in 0..<WheelTicks.buckets where heads[bucket] != nil { _ = tidy(bucket) }
  }

  // MARK: Pages

  /// Empties a bucket and calls `body` for each entry it held, in the reverse of their order; `body` may place entries, in
  /// the same bucket too.
  private mutating func drain(_ bucket: Int, _ body: (inout Wheel, WheelEntry) -> Void) {
    guard var page = heads[bucket] else { return }
    heads[bucket] = nil
    markEmpty(bucket)
    while true {
      var left = page.count
      entryCount &-= left
      // Placing the entries again takes one page more than there were, which the first region has: this one.
      while left > 0 {
        left &-= 1
        body(&self, page[left])
      }
      let next = page.next
      page.next = freePages
      freePages = page
      guard let next else { return }
      page = next
    }
  }

  private mutating func takePage() -> WheelPage {
    guard let page = freePages else { return takeFreshPage() }
    freePages = page.next
    return page
  }

  @inline(never)
  private mutating func takeFreshPage() -> WheelPage {
    while true {
      if let fresh = freshPages, fresh.used < fresh.region.count {
        freshPages = (fresh.region, fresh.used + 1)
        return fresh.region[fresh.used]
      }
      // The control block got enough pages with its slots; see the bound in the type's comment.
      let region = chunks == nil ? control.firstWheelPages : chunks?.next(of: control)?.wheelPages
      guard let region else {
        invariantFailure("wheel pages", Int64(entryCount), Int64(placedCount))
      }
      if chunks == nil { chunks = ChunkCursor() }
      freshPages = (region, 0)
    }
  }
}

// MARK: Checks

extension Wheel {
  /// The tick at which a timer with that deadline is placed at the latest.
  func latestTick(due: Int64, _ slot: TimerSlot) -> UInt64 { tick(deadline: due, leeway: slot.leeway) }

  /// After an insertion: the bucket is that of the tick, and the bitmaps know of it.
  private func checkEntry(_ entry: WheelEntry, _ tick: UInt64, in bucket: Int) {
    guard invariantsAreChecked else { return }
    let start = start(of: bucket)
    if tick < base || (tick ^ start) >> UInt64(6 * (bucket / 64)) != 0
      || bucket / 64 <= 5 && self.tick(of: entry, in: bucket, start) != tick
    {
      invariantFailure("an entry in a bucket that is not its tick's", Int64(tick), Int64(bucket))
    }
    checkBitmaps(bucket)
  }

  /// After an insertion or a removal.
  private func checkBitmaps(_ bucket: Int) {
    guard invariantsAreChecked else { return }
    let level = bucket / 64
    let count = heads[bucket]?.count
    if (count != nil) != (occupied[level] >> UInt64(bucket % 64) & 1 != 0)
      || (occupied[level] != 0) != (levelsInUse >> UInt64(level) & 1 != 0)
      || !(1...WheelPage.capacity).contains(count ?? 1)
    {
      invariantFailure("a bucket beside its bitmaps", Int64(bucket), Int64(count ?? 0))
    }
  }

  /// After a placement: the timer, if no other thread has changed it meanwhile, is where its deadline asks for, or before.
  private func checkPlacement(of slot: TimerSlot) {
    guard invariantsAreChecked else { return }
    if placedCount < 0 || entryCount < placedCount {
      invariantFailure("fewer entries than positions", Int64(entryCount), Int64(placedCount))
    }
    let word = slot.wordInOrder
    guard word.isRunning, !word.hasWriter, !word.isInInbox, let asked = tick(of: slot, word) else { return }
    let position = Slab.position(of: slot.index).tick
    if slot.wordInOrder == word, position ?? .max > asked {
      invariantFailure("a timer that is not placed in time", Int64(clamping: position ?? .max), Int64(asked))
    }
  }

  /// After an advance: nothing is left that was to come, and what has come has no position. Now and then the whole wheel.
  private func checkAdvance(_ due: PassList<SlotIndex>) {
    guard invariantsAreChecked else { return }
    if let bucket = firstBucket(), start(of: bucket) <= base {
      invariantFailure("an entry that was to come", Int64(bucket), Int64(base))
    }
    for i in due.indices where Slab.position(of: due[i]).tick != nil {
      invariantFailure("a position of a timer that has come", Int64(due[i].number))
    }
    // By the lowest digits of a number that differs from pass to pass.
    if (base &* 0x9E37_79B9_7F4A_7C15) >> 59 == 0, entryCount <= 4096 { checkAll() }
  }

  /// Every entry lies in the bucket of its tick, and every position has one.
  @inline(never)
  private func checkAll() {
    var entries = 0, placed = 0
    func forEachEntry(_ body: (WheelEntry, Int) -> Void) {
      for bucket in 0..<WheelTicks.buckets {
        var page = heads[bucket]
        while let current = page {
          for i in 0..<current.count { body(current[i], bucket) }
          page = current.next
          if let page, page.count != WheelPage.capacity {
            invariantFailure("a page behind the first that is not full", Int64(bucket), Int64(page.count))
          }
        }
        checkBitmaps(bucket)
      }
    }
    forEachEntry { entry, bucket in
      entries += 1
      let position = Slab.position(of: entry.slot)
      guard let tick = tick(ofValid: entry, in: bucket, start(of: bucket)), !position.isMarked else { return }
      if self.bucket(of: tick) != bucket {
        invariantFailure("an entry in a bucket that is not its tick's", Int64(tick), Int64(bucket))
      }
      placed += 1
      position.isMarked = true
    }
    forEachEntry { entry, _ in Slab.position(of: entry.slot).isMarked = false }
    if entries != entryCount || placed != placedCount {
      invariantFailure("miscounted entries or positions", Int64(entries - entryCount), Int64(placed - placedCount))
    }
  }
}

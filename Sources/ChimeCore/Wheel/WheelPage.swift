import Synchronization

/// A hint in the wheel: a slot, and the low bits of the tick it was placed for. Only the timer's word says whether a
/// tick is really due.
struct WheelEntry {
  var slot: SlotIndex
  var low: UInt32
}

/// 128 bytes of a bucket: an array of entries rather than a linked list of timers, so that visiting a bucket does not
/// wait for one cell to find the next.
@safe struct WheelPage {
  static var size: Int { 128 }
  static var capacity: Int { 14 }

  // SAFETY: points to 128 bytes of a WheelPageRegion; used by the pass of one queue only.
  let base: UnsafeMutableRawPointer

  init(_ base: UnsafeMutableRawPointer) { unsafe self.base = base }

  var next: WheelPage? {
    get { unsafe base.load(as: UnsafeMutableRawPointer?.self).map { unsafe WheelPage($0) } }
    nonmutating set { unsafe base.storeBytes(of: newValue?.base, as: UnsafeMutableRawPointer?.self) }
  }

  var count: Int {
    get { unsafe base.load(fromByteOffset: 8, as: Int.self) }
    nonmutating set {
      checkIndex(newValue, below: WheelPage.capacity + 1)
      unsafe base.storeBytes(of: newValue, toByteOffset: 8, as: Int.self)
    }
  }

  subscript(i: Int) -> WheelEntry {
    // SAFETY: the wheel goes by `count` and `capacity`, which the checked build makes sure of.
    get {
      checkIndex(i, below: WheelPage.capacity)
      return unsafe base.load(fromByteOffset: 16 &+ i &* 8, as: WheelEntry.self)
    }
    nonmutating set {
      checkIndex(i, below: WheelPage.capacity)
      unsafe base.storeBytes(of: newValue, toByteOffset: 16 &+ i &* 8, as: WheelEntry.self)
    }
  }
}

/// A table of fixed length. The language's arrays would find out at each change whether somebody shares them.
@safe struct WheelTable<Element: BitwiseCopyable> {
  // SAFETY: so many elements, used by the pass of one queue only until it deallocates them.
  private let base: UnsafeMutablePointer<Element>
  #if DEBUG || CHIME_CHECKS
    private let count: Int
  #endif

  init(repeating element: Element, count: Int) {
    #if DEBUG || CHIME_CHECKS
      self.count = count
    #endif
    unsafe base = .allocate(capacity: count)
    unsafe base.initialize(repeating: element, count: count)
  }

  func deallocate() { unsafe base.deallocate() }

  private func check(_ i: Int) {
    #if DEBUG || CHIME_CHECKS
      checkIndex(i, below: count)
    #endif
  }

  // Not changed in place (`table[i] |= 1`): for the thread sanitizer Swift 6.3 makes of that what LLVM refuses.
  subscript(i: Int) -> Element {
    // SAFETY: indices are buckets and levels, which the checked build makes sure of.
    get {
      check(i)
      return unsafe base[i]
    }
    nonmutating set {
      check(i)
      unsafe base[i] = newValue
    }
  }
}

/// Where the wheel has placed a slot. The pass stores it, then reads the timer's word; a writer sets the writer bit,
/// then reads this, and sends the timer to the inbox if it is not placed in time; all sequentially consistent, or with
/// a sequentially consistent fence between: store buffering: the writer sees that no position is left, or
/// the pass the writer, for which it waits, or whose timer it leaves where that may have seen it (P2).
@safe struct WheelPosition {
  /// Set while a bucket is tidied, once the valid entry was met. Ticks are below 2^63.
  static var mark: UInt64 { 1 << 63 }

  // SAFETY: points into a chunk of the slab, which is never unmapped.
  private let storage: UnsafeMutablePointer<Atomic<UInt64>>

  init(_ storage: UnsafeMutablePointer<Atomic<UInt64>>) { unsafe self.storage = storage }

  /// The tick, `nil` for nowhere.
  var tick: UInt64? {
    let value = unsafe storage.pointee.load(ordering: .sequentiallyConsistent) & ~WheelPosition.mark
    return value == 0 ? nil : value &- 1
  }

  func set(_ tick: UInt64) { unsafe storage.pointee.store(tick &+ 1, ordering: .sequentiallyConsistent) }

  func clear() { unsafe storage.pointee.store(0, ordering: .sequentiallyConsistent) }

  /// Clears one of many positions, which one sequentially consistent fence follows.
  func clearBeforeFence() { unsafe storage.pointee.store(0, ordering: .relaxed) }

  /// While the slot's cell is given back; see `LeftCell`.
  var left: LeftCell { unsafe LeftCell(bits: storage.pointee.load(ordering: .acquiring)) }
  func leave(_ cell: LeftCell) { unsafe storage.pointee.store(cell.bits, ordering: .releasing) }

  var isMarked: Bool {
    get { unsafe storage.pointee.load(ordering: .relaxed) & WheelPosition.mark != 0 }
    nonmutating set {
      let value = unsafe storage.pointee.load(ordering: .relaxed)
      unsafe storage.pointee.store(
        newValue ? value | WheelPosition.mark : value & ~WheelPosition.mark, ordering: .relaxed)
    }
  }
}

/// Memory for pages; lives as long as the process.
@safe struct WheelPageRegion: @unchecked Sendable {
  // SAFETY: mapped memory that is never unmapped, passed from one wheel to the next by its queue control block.
  let base: UnsafeMutableRawPointer
  let count: Int

  subscript(i: Int) -> WheelPage {
    if i < 0 || i >= count { invariantFailure("wheel pages", Int64(i), Int64(count)) }
    return unsafe WheelPage(base + i * WheelPage.size)
  }

  /// Enough for one page in each bucket, one that is being drained, and the entries that a wheel tolerates beyond two a
  /// slot.
  static func first() -> WheelPageRegion? {
    unsafe Memory.map(firstCount * WheelPage.size).map { unsafe WheelPageRegion(first: $0) }
  }

  func discard() { unsafe Memory.discard(base, count * WheelPage.size) }
  var bytesDiscarded: Int { unsafe Memory.discarded(base, count * WheelPage.size) }

  fileprivate static var firstCount: Int { WheelTicks.buckets + WheelTicks.tolerance / WheelPage.capacity + 2 }
}

extension WheelPageRegion {
  /// - Parameter base: of what `first` has given.
  @unsafe init(first base: UnsafeMutableRawPointer) { unsafe self.init(base: base, count: WheelPageRegion.firstCount) }
}

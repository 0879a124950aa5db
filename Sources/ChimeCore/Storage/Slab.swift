internal import CPlatform
import Synchronization

/// All timers of the process, in chunks of 256 slots that are mapped once and never unmapped, so that a stale id can
/// always be looked up and recognised. A chunk belongs to one queue control block for ever.
///
/// A chunk is 24 KiB of zeroed pages, touched as they are used: an inbox link and a wheel position for each slot; its head;
/// 256 cells; and enough wheel pages for the entries of these slots, two each, so that a pass never allocates. So the first
/// page of 4 KiB is all that a few timers touch.
enum Slab: ProcessState {
  static var slotsPerChunk: Int { SlotChunk.slotCount }
  static var chunkStride: Int { 24576 }
  static var maximumChunks: Int { 1 << 18 }
  /// How many chunks fill huge pages without a rest.
  static var chunksInHugePages: Int { 256 }

  static var linksOffset: Int { 0 }
  static var positionsOffset: Int { linksOffset + 256 * 4 }
  static var headOffset: Int { positionsOffset + 256 * 8 }
  /// Where the cells begin, which is the address by which a chunk is known; debuggers find them by it (CPlatform's layout.c).
  static var cellsOffset: Int { headOffset + 128 }
  static var wheelPagesOffset: Int { cellsOffset + 256 * 64 }
  static var wheelPagesPerChunk: Int { (chunkStride - wheelPagesOffset) / WheelPage.size }

  /// A chunk and the queue control block it belongs to. The owner is stored first; both are stored once.
  @unsafe private struct Entry: ~Copyable {
    let chunk: Atomic<UnsafeMutableRawPointer?>
    let owner: Atomic<UnsafeMutableRawPointer?>
  }

  /// Address of the table of entries, which a forked child finds empty; nil until the first queue is made. Stored once,
  /// released; loads acquire, so the table's zeroes are seen (P14).
  // SAFETY: an address of memory that is shared by design, written once.
  private nonisolated(unsafe) static let table = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
  /// How many numbers of chunks are given out.
  private static let used = Atomic<Int>(0)
  /// Zeroes for a chunk that has another number now: 256 free slots that are never given out.
  // SAFETY: mapped memory that is never unmapped, and read only.
  private nonisolated(unsafe) static let nothing = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

  static func makeGlobals() { unsafe _ = (used.load(ordering: .relaxed), nothing.load(ordering: .relaxed)) }

  /// Nothing to do: the table is empty, and numbering continues with the next chunks.
  static func reinitialize() {}

  private static func entry(of index: UInt32) -> UnsafeMutablePointer<Entry>? {
    guard let base = unsafe table.load(ordering: .acquiring) else { return nil }
    // SAFETY: an index has 26 bits, so the entry number is below maximumChunks; zero bytes are an empty entry.
    return unsafe base.assumingMemoryBound(to: Entry.self) + Int(index >> 8)
  }

  /// The entry of an index that came out of the slab, so that the table is known to exist.
  private static func existingEntry(of index: SlotIndex) -> UnsafeMutablePointer<Entry> {
    // SAFETY: the table stays, and whoever has the index was given it by the slab.
    unsafe table.load(ordering: .acquiring).unsafelyUnwrapped.assumingMemoryBound(to: Entry.self)
      + Int(index.number >> 8)
  }

  /// Makes the table; false if there is no memory. Called before the first queue exists, behind a lock.
  static func prepare() -> Bool {
    if unsafe table.load(ordering: .acquiring) != nil { return true }
    guard let memory = unsafe Memory.mapTable(maximumChunks * MemoryLayout<Entry>.size) else { return false }
    unsafe table.store(memory, ordering: .releasing)
    unsafe chime_layout_note_chunks(memory)
    return true
  }

  /// The next numbers for so many chunks; `nil` when they are used up.
  private static func takeNumbers(_ count: Int) -> SlotChunk? {
    let end = used.wrappingAdd(count, ordering: .relaxed).newValue
    if end > maximumChunks {
      used.wrappingAdd(-count, ordering: .relaxed)
      return nil
    }
    return unsafe SlotChunk(existing: end - count)
  }

  /// Maps `count` chunks for a queue control block, a group of their own; `nil` when memory or ids are used up.
  static func addChunks(_ count: Int, owner: UnsafeMutableRawPointer) -> (UnsafeMutablePointer<ChunkHead>, SlotRange)? {
    let bytes = count * chunkStride
    guard let mapped = unsafe count == chunksInHugePages ? Memory.mapHuge(bytes) : Memory.map(bytes) else { return nil }
    guard let first = takeNumbers(count) else {
      unsafe Memory.unmap(mapped, bytes)
      return nil
    }
    let memory = unsafe mapped + cellsOffset
    let head = unsafe head(at: memory)
    unsafe head.pointee.groupNumber = UInt32(first.number)
    unsafe head.pointee.groupCount = UInt32(count)
    for i in 0..<count {
      // SAFETY: the numbers are below maximumChunks.
      let entry = unsafe entry(of: UInt32((first.number + i) * slotsPerChunk)).unsafelyUnwrapped
      unsafe entry.pointee.owner.store(owner, ordering: .relaxed)
      unsafe entry.pointee.chunk.store(memory + i * chunkStride, ordering: .releasing)
    }
    return unsafe (head, usable(SlotRange(first, count: count)))
  }

  /// Slot 0 is never given out: an id that a careless binding has cut to 32 bits must not be 0, which means none.
  static func usable(_ slots: SlotRange) -> SlotRange {
    var slots = slots
    if slots.begins(with: .unused) { _ = slots.next() }
    return slots
  }

  static func slot(_ index: SlotIndex) -> TimerSlot { unsafe slot(index, in: chunk(of: index)) }

  static func slot(_ index: SlotIndex, in chunk: UnsafeMutableRawPointer) -> TimerSlot {
    // SAFETY: a chunk's address is that of its 256 cells; zero bytes are a free cell.
    unsafe TimerSlot(chunk.assumingMemoryBound(to: TimerCell.self) + Int(index.number & 255), index: index)
  }

  /// The slot whose index is in an id, of whatever kind that is, and the queue control block that the slot belongs to;
  /// `nil` when no such slot was ever made.
  static func findWithOwner(of id: UInt64) -> (slot: TimerSlot, control: QueueControlBlock)? {
    let index = UInt32(truncatingIfNeeded: id & Handle.indexMask)
    guard let entry = unsafe entry(of: index), let chunk = unsafe entry.pointee.chunk.load(ordering: .acquiring) else {
      return nil
    }
    // SAFETY: an entry's owner is there before its chunk.
    return unsafe (
      slot(SlotIndex(existing: index), in: chunk),
      QueueControlBlock(entry.pointee.owner.load(ordering: .relaxed).unsafelyUnwrapped)
    )
  }

  /// The queue control block that a slot belongs to.
  static func owner(of slot: TimerSlot) -> QueueControlBlock {
    // SAFETY: the slot exists, so its chunk's entry is filled.
    unsafe QueueControlBlock(existingEntry(of: slot.index).pointee.owner.load(ordering: .relaxed).unsafelyUnwrapped)
  }

  @inline(__always)
  static func chunk(of index: SlotIndex) -> UnsafeMutableRawPointer {
    let chunk = unsafe existingEntry(of: index).pointee.chunk.load(ordering: .acquiring)
    if invariantsAreChecked, unsafe chunk == nil {
      invariantFailure("a slot from before the fork", Int64(index.number), Int64(Fork.mark))
    }
    // SAFETY: the slab has given the index out. A forked child, where the table is empty, has given up all that has any.
    return unsafe chunk.unsafelyUnwrapped
  }

  /// Where the wheel has placed a slot. Written by the pass, read by writers (see `Writing.finish`; P2).
  static func position(of index: SlotIndex) -> WheelPosition { position(of: slot(index)) }

  /// Without looking the chunk up, whose cells begin so many before.
  static func position(of slot: TimerSlot) -> WheelPosition {
    // SAFETY: in the slot's chunk.
    let number = Int(slot.index.number & 255)
    let positions = unsafe UnsafeMutableRawPointer(slot.pointer - number) + (positionsOffset - cellsOffset)
    return unsafe WheelPosition(positions.assumingMemoryBound(to: Atomic<UInt64>.self) + number)
  }

  static func prefetch(_ slot: TimerSlot) { unsafe chime_prefetch(slot.pointer) }

  static func prefetchPosition(of slot: TimerSlot) {
    let number = Int(slot.index.number & 255)
    unsafe chime_prefetch(
      UnsafeMutableRawPointer(slot.pointer - number) + (positionsOffset - cellsOffset) + number
        * MemoryLayout<UInt64>.size
    )
  }

  static func head(at chunk: UnsafeMutableRawPointer) -> UnsafeMutablePointer<ChunkHead> {
    // SAFETY: zero bytes are a new one.
    unsafe (chunk + (headOffset - cellsOffset)).assumingMemoryBound(to: ChunkHead.self)
  }

  // MARK: Chunks whose versions are used up

  /// Whether only ids refer to slots: no inbox, no batch, no wheel.
  @inline(never)
  static func areAtRest(_ slots: SlotRange) -> Bool {
    slots.allSatisfy { index in
      let slot = slot(index), word = slot.word
      return word.isFree && !word.isInInbox && !word.isEnqueued && !word.isBusy && !word.hasWriter
        && position(of: slot).tick == nil
    }
  }

  /// Gives a chunk that is used up and at rest the next number, under which its slots have new versions; `nil` when
  /// numbers are used up. Under the old one there are free slots for ever. The words' generations run on, for whoever
  /// still holds an old slot (P14d).
  static func renumber(_ chunk: Chunk, _ store: inout SlotStore, owner: UnsafeMutableRawPointer) -> SlotChunk? {
    guard let nothing = unsafe makeNothing(), let renumbered = takeNumbers(1) else { return nil }
    let old = unsafe existingEntry(of: chunk.number.first)
    let new = unsafe existingEntry(of: renumbered.first)
    unsafe old.pointee.chunk.store(nothing, ordering: .releasing)
    unsafe new.pointee.owner.store(owner, ordering: .relaxed)
    unsafe new.pointee.chunk.store(chunk.cells, ordering: .releasing)
    chunk.head.out.store(0, ordering: .relaxed)
    chunk.head.usedUp.store(0, ordering: .relaxed)
    chunk.head.number.store(UInt32(renumbered.number), ordering: .releasing)
    for index in renumbered.slots { slot(index).cell.versionAndFlags.store(0, ordering: .releasing) }
    return renumbered
  }

  private static func makeNothing() -> UnsafeMutableRawPointer? {
    if let nothing = unsafe nothing.load(ordering: .acquiring) { return unsafe nothing }
    guard let memory = unsafe Memory.map(chunkStride) else { return nil }
    let cells = unsafe memory + cellsOffset
    let (isFirst, first) = unsafe nothing.compareExchange(
      expected: nil, desired: cells, ordering: .acquiringAndReleasing)
    if isFirst { return unsafe cells }
    unsafe Memory.unmap(memory, chunkStride)
    return unsafe first
  }

  // MARK: Chunks whose pages were given back

  /// What stays of a chunk.
  static var firstPage: Int { 4096 }

  /// What is not held while a chunk's pages are left: they, and what passes need for its slots.
  static func bytesLeft(of chunk: Chunk) -> Int {
    let pages = unsafe Memory.discarded(chunk.cells - cellsOffset + firstPage, chunkStride - firstPage)
    return pages == 0 ? 0 : pages + PassScratch.bytesPerChunk
  }

  /// Counts such a chunk as held again, unless the limit forbids it.
  static func countPages(of chunk: Chunk) -> Bool { Memory.count(bytesLeft(of: chunk)) }

  /// A slot whose page was given back is given out again.
  static func haveBackCell(of index: SlotIndex) {
    let slot = slot(index), position = position(of: slot), left = position.left
    guard left.isThere else { return }
    slot.cell.versionAndFlags.store(left.version, ordering: .releasing)
    // In no list, the slot is the caller's; nobody who is late changes a free slot's word.
    slot.cell.word.store(left.word.bits, ordering: .sequentiallyConsistent)
    position.clear()
  }
}

/// Free slots, first in, first out, as in the threads' caches; chained through their cells' contexts.
struct FreeSlots {
  private var first = SlotLink.none
  private var last = SlotLink.none
  private(set) var count = 0

  mutating func append(_ index: SlotIndex) {
    Slab.slot(index).nextFree = .none
    if first == .none {
      first = SlotLink(index)
    } else {
      // SAFETY: neither is `none` as long as the other is not.
      unsafe Slab.slot(last.existingIndex).nextFree = SlotLink(index)
    }
    last = SlotLink(index)
    count += 1
  }

  mutating func popFirst() -> SlotIndex? {
    if first == .none { return nil }
    // SAFETY: links of the list are to slots, or `none`.
    let index = unsafe first.existingIndex
    first = Slab.slot(index).nextFree
    count -= 1
    return index
  }
}

/// Free slots that are in no list: a chain, the latest first, through their cells' contexts (P14h).
@safe struct SlotChain {
  private var latest = SlotLink.none
  /// If it is known.
  private var oldest: SlotIndex?

  init() {}

  /// All that were left in a word.
  init(takenFrom word: borrowing Atomic<SlotLink>) { latest = word.exchange(.none, ordering: .acquiring) }

  mutating func push(_ index: SlotIndex) {
    Slab.slot(index).nextFree = latest
    latest = SlotLink(index)
    if oldest == nil { oldest = index }
  }

  mutating func pop() -> SlotIndex? {
    guard let slot = latest.slot else { return nil }
    latest = slot.nextFree
    return slot.index
  }

  mutating func reverse() {
    var reversed = SlotChain()
    while let index = pop() { reversed.push(index) }
    self = reversed
  }

  /// Takes the slot that comes behind so many, and those behind it into a cache, as many as that has room for.
  mutating func takeBehind(_ kept: Int, _ cache: ThreadCache?) -> SlotIndex? {
    guard var last = latest.slot else { return nil }
    for _ in 1..<kept {
      guard let next = last.nextFree.slot else { return nil }
      last = next
    }
    guard let slot = last.nextFree.slot else { return nil }
    var rest = slot.nextFree
    cache?.fill {
      guard let next = rest.slot else { return nil }
      rest = next.nextFree
      return next.index
    }
    last.nextFree = rest
    oldest = nil
    return slot.index
  }

  /// Leaves all of them in a word, on top of what is there.
  mutating func leave(in word: borrowing Atomic<SlotLink>) {
    guard latest != .none else { return }
    var head = word.load(ordering: .relaxed)
    while true {
      if let oldest {
        Slab.slot(oldest).nextFree = head
      } else if head != .none {
        // The others are fewer.
        var later = SlotChain(takenFrom: word)
        later.put(on: self)
        self = later
        head = .none
      }
      let (isDone, found) = word.compareExchange(expected: head, desired: latest, ordering: .releasing)
      if isDone { return }
      head = found
    }
  }

  /// Puts them on top of others.
  mutating func put(on others: SlotChain) {
    oldest = nil
    guard var last = latest.slot else { return self = others }
    while let next = last.nextFree.slot { last = next }
    last.nextFree = others.latest
  }
}

/// Free slots that are kept beside a list, in a few chains: a thread that stands still with one of them leaves the others.
struct SpareSlots: ~Copyable {
  static var chainCount: Int { 4 }
  /// How many are kept once some were lacking.
  static var initialCount: Int { 1024 }
  private let first = Atomic<SlotLink>(.none)
  private let second = Atomic<SlotLink>(.none)
  private let third = Atomic<SlotLink>(.none)
  private let fourth = Atomic<SlotLink>(.none)

  func forEach(_ body: (borrowing Atomic<SlotLink>) -> Void) {
    body(first)
    body(second)
    body(third)
    body(fourth)
  }
}

extension SlotLink {
  init(_ slot: TimerSlot) { self.init(slot.index) }

  var slot: TimerSlot? { index.map { Slab.slot($0) } }
}

extension TimerSlot {
  /// The link by which it hangs in its queue's inbox.
  var inboxLink: UnsafeMutablePointer<Atomic<SlotLink>> {
    // SAFETY: in the slot's chunk.
    let number = Int(index.number & 255)
    let links = unsafe UnsafeMutableRawPointer(pointer - number) + (Slab.linksOffset - Slab.cellsOffset)
    return unsafe links.assumingMemoryBound(to: Atomic<SlotLink>.self) + number
  }

  /// In a list of free slots.
  var nextFree: SlotLink {
    get { unsafe SlotLink(bits: UInt32(truncatingIfNeeded: UInt(bitPattern: context.pointer))) }
    nonmutating set {
      cell.context = unsafe Context(UnsafeMutableRawPointer(bitPattern: UInt(newValue.bits)))
    }
  }
}

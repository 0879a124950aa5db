internal import CPlatform
import Synchronization

/// How threads ask for turns of the pool's items without its lock: the item's wants, a mark for the item, then the bell. The
/// pool's threads take what was asked for, with the lock held, whenever they ask for their next step.
///
/// Each step can be repeated, and whoever does not see it done repeats it. So nobody relies on a thread that stands still
/// between two of them (P23d).
enum PoolRequests: ProcessState {
  /// Items beyond that many share their marks.
  static var marks: Int { 4096 }
  private static var wordSize: Int { 64 }

  /// The marks, and which of their words have some. Pair with the bell: whoever asks sets these, then loads the bell; a thread
  /// shows in the bell what it does next, then takes these (P23d).
  // SAFETY: made when the process begins, and never freed.
  nonisolated(unsafe) private static let markedItems = unsafe makeMarks()
  private static let markedWords = Atomic<UInt64>(0)
  private static let bell = Atomic<UInt64>(0)
  /// The poller whose bell it is. Stored before any thread waits there, and kept open while one rings.
  nonisolated(unsafe) static var poller = chime_poller(file: -1, bell: -1, timer: -1)

  private static func makeMarks() -> UnsafeMutablePointer<Atomic<UInt64>> {
    let words = UnsafeMutablePointer<Atomic<UInt64>>.allocate(capacity: marks / wordSize)
    for i in 0..<marks / wordSize { unsafe (words + i).initialize(to: Atomic(0)) }
    return unsafe words
  }

  static func makeGlobals() { reinitialize() }

  static func reinitialize() {
    unsafe poller = chime_poller(file: -1, bell: -1, timer: -1)
    if let items = unsafe items { for i in 0..<marks { unsafe items[i].store(nil, ordering: .relaxed) } }
    newest.store(0, ordering: .relaxed)
    bell.store(0, ordering: .relaxed)
    markedWords.store(0, ordering: .relaxed)
    for i in 0..<marks / wordSize { unsafe markedItems[i].store(0, ordering: .relaxed) }
  }

  /// What is known of the pool's threads without its lock.
  struct Bell {
    var bits: UInt64

    /// It has been rung since a thread last asked for its next step.
    static var rung: UInt64 { 1 }
    /// A thread spins, and looks at the marks.
    static var spins: UInt64 { 2 }
    /// None waits or comes, and not because all items have turns: who asks begins a thread.
    static var lacksThread: UInt64 { 4 }
    /// Every processor has a turn, whose end looks at the marks, and the only thread that waits does so in a millisecond.
    static var looksSoon: UInt64 { 8 }
    /// None waits or comes, and the system gives none: who asks looks behind the lock for who can give turns.
    static var starves: UInt64 { 16 }
    /// A thread has been begun, and takes the marks when it comes.
    static var comes: UInt64 { 32 }
    /// How many threads wait.
    static var oneWaits: UInt64 { 1 << 8 }
    private static var allThatWait: UInt64 { 0xffff00 }
    /// How many ring at this moment.
    static var oneRings: UInt64 { 1 << 24 }
    /// Counts the steps: a thread that stood still while it rang says so no more.
    static var oneStep: UInt64 { 1 << 40 }

    var isRung: Bool { bits & Bell.rung != 0 }
    /// Whether a thread looks at the marks without having been rung for.
    var looksItself: Bool { bits & (Bell.spins | Bell.looksSoon) != 0 }
    var lacksThread: Bool { bits & Bell.lacksThread != 0 }
    var starves: Bool { bits & Bell.starves != 0 }
    var someWait: Bool { bits & Bell.allThatWait != 0 }
    /// Whether no thread waits, or comes.
    var noThreadIsFree: Bool { bits & (Bell.allThatWait | Bell.spins | Bell.comes) == 0 }
    var someRing: Bool { bits & 0xff_ff00_0000 != 0 }
    var step: UInt64 { bits / Bell.oneStep }
    /// What the threads of the pool change.
    static var ofThreads: UInt64 { allThatWait | spins | lacksThread | looksSoon | starves | comes }

    static func waiting(_ count: Int) -> UInt64 { UInt64(truncatingIfNeeded: count) &* oneWaits }
  }

  /// What is left to do for who has asked.
  enum Answer {
    /// A thread of the pool looks.
    case heard
    case lacksThread
    case starves
  }

  /// Asks for a turn.
  static func ask(for item: PoolItem, _ wants: PoolItem.Wants) -> Answer {
    mark(item, wants)
    // The end of its turn looks at the marks.
    return item.hasTurn ? .heard : ring()
  }

  /// Whether no thread waits, or comes, as far as anybody knows.
  static var noThreadIsFree: Bool { Bell(bits: bell.load(ordering: .sequentiallyConsistent)).noThreadIsFree }

  /// Whether what is ready may wait for a thread that there may never be.
  static var starve: Bool { Bell(bits: bell.load(ordering: .sequentiallyConsistent)).starves }

  /// Makes what is asked for known to whoever looks at the marks.
  @inline(never)
  static func mark(_ item: PoolItem, _ wants: PoolItem.Wants) {
    item.ask(wants)
    let word = item.mark / wordSize
    unsafe set(UInt64(1) << UInt64(item.mark % wordSize), in: markedItems[word])
    set(UInt64(1) << UInt64(word), in: markedWords)
  }

  private static func set(_ bit: UInt64, in word: borrowing Atomic<UInt64>) {
    if word.load(ordering: .sequentiallyConsistent) & bit != 0 { return }
    _ = word.bitwiseOr(bit, ordering: .sequentiallyConsistent)
  }

  /// Has a thread that waits look at the marks.
  private static func ring() -> Answer {
    var seen = Bell(bits: bell.load(ordering: .sequentiallyConsistent))
    while true {
      if seen.isRung || seen.looksItself { return .heard }
      // Without: one is on its way to the marks, or every item has a turn, whose end looks at them.
      if !seen.someWait { return seen.starves ? .starves : seen.lacksThread ? .lacksThread : .heard }
      // The poller stays open from here on.
      let result = bell.compareExchange(
        expected: seen.bits, desired: seen.bits &+ Bell.oneRings, ordering: .sequentiallyConsistent)
      if result.exchanged { break }
      seen.bits = result.original
    }
    unsafe chime_poller_ring(&poller)
    // Rung once the bell has sounded, and no thread has come since: then others need not ring.
    var now = Bell(bits: bell.load(ordering: .relaxed))
    while true {
      let left = now.bits &- Bell.oneRings | (now.step == seen.step ? Bell.rung : 0)
      let result = bell.compareExchange(expected: now.bits, desired: left, ordering: .sequentiallyConsistent)
      if result.exchanged { return .heard }
      now.bits = result.original
    }
  }

  // MARK: The items by their marks

  /// The first item of each mark. Anybody adds one in front; only who holds the pool's lock goes along a list, or takes one out.
  // SAFETY: set before any item is there, `marks` places, each with an item that it retains.
  nonisolated(unsafe) private static var items: UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>?
  private static let newest = Atomic<Int>(0)
  /// For the heap of those that want a turn at a time.
  nonisolated(unsafe) private static var heapTable: UnsafeMutableRawPointer?

  /// Before the first item, with the pool's lock held. Gives the heap's table; `nil` if memory is refused.
  static func prepare() -> UnsafeMutableRawPointer? {
    if unsafe items == nil {
      // SAFETY: null pointers are zeroes.
      unsafe items = Memory.mapSparse(marks * MemoryLayout<Atomic<UnsafeMutableRawPointer?>>.stride)?
        .assumingMemoryBound(to: Atomic<UnsafeMutableRawPointer?>.self)
    }
    if unsafe items != nil, unsafe heapTable == nil { unsafe heapTable = ItemHeap.makeTable() }
    return unsafe heapTable
  }

  /// Adds an item, and gives it its mark (P23e).
  static func add(_ item: PoolItem) {
    item.mark = newest.wrappingAdd(1, ordering: .relaxed).oldValue & (marks - 1)
    let memory = unsafe Unmanaged.passRetained(item).toOpaque()
    let place = unsafe place(item.mark)
    var first = unsafe place.pointee.load(ordering: .relaxed)
    while true {
      unsafe item.nextOfMark = first
      let result = unsafe place.pointee.compareExchange(
        expected: first, desired: memory, ordering: .sequentiallyConsistent)
      if unsafe result.exchanged { return }
      unsafe first = result.original
    }
  }

  private static func place(_ mark: Int) -> UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>> {
    unsafe items.unsafelyUnwrapped + mark
  }

  private static func item(_ memory: UnsafeMutableRawPointer?) -> PoolItem? {
    unsafe memory.map { unsafe Unmanaged<PoolItem>.fromOpaque($0).takeUnretainedValue() }
  }

  /// Takes one out. Others may be added in front meanwhile (P23e). False if it is on no list, as what was made before a fork.
  static func remove(_ item: PoolItem) -> Bool {
    let memory = unsafe Unmanaged.passUnretained(item)
    let place = unsafe place(item.mark)
    let result = unsafe place.pointee.compareExchange(
      expected: memory.toOpaque(), desired: item.nextOfMark, ordering: .sequentiallyConsistent)
    if unsafe !result.exchanged {
      var before = unsafe Self.item(result.original)
      while let found = before, unsafe found.nextOfMark != memory.toOpaque() {
        before = unsafe Self.item(found.nextOfMark)
      }
      guard let before else { return false }
      unsafe before.nextOfMark = item.nextOfMark
    }
    unsafe memory.release()
    return true
  }

  static func forEachItem(of mark: Int, _ body: (PoolItem) -> Void) {
    var next = unsafe item(place(mark).pointee.load(ordering: .sequentiallyConsistent))
    while let found = next {
      next = unsafe item(found.nextOfMark)
      body(found)
    }
  }

  // MARK: With the pool's lock held

  static var isEmpty: Bool { markedWords.load(ordering: .sequentiallyConsistent) == 0 }
  static var isRung: Bool { Bell(bits: bell.load(ordering: .sequentiallyConsistent)).isRung }
  static var someRing: Bool { Bell(bits: bell.load(ordering: .sequentiallyConsistent)).someRing }

  /// The bell has sounded.
  static func noteRung() { _ = bell.bitwiseOr(Bell.rung, ordering: .sequentiallyConsistent) }

  /// Shows what the threads do. The caller then looks at the marks.
  /// - Parameter beginsStep: a thread asks for its next step, whatever has brought it here.
  static func show(_ threads: UInt64, beginsStep: Bool) {
    var old = bell.load(ordering: .relaxed)
    while true {
      var new = old & ~Bell.ofThreads | threads
      if beginsStep { new = (new & ~Bell.rung) &+ Bell.oneStep }
      let result = bell.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent)
      if result.exchanged { return }
      old = result.original
    }
  }

  /// Takes the marks, and gives each.
  static func takeMarks(_ body: (Int) -> Void) {
    if isEmpty { return }
    var words = markedWords.exchange(0, ordering: .sequentiallyConsistent)
    while words != 0 {
      let word = words.trailingZeroBitCount
      words &= words &- 1
      var items = unsafe markedItems[word].exchange(0, ordering: .sequentiallyConsistent)
      while items != 0 {
        body(word * wordSize + items.trailingZeroBitCount)
        items &= items &- 1
      }
    }
  }
}

/// How many items the pool has, counted without its lock. It is closed while the pool has no threads, or ends them: whoever
/// makes an item then goes behind the lock, and begins them (P23e).
enum PoolCount: ProcessState {
  private static var closed: Int { -1 }
  private static let count = Atomic<Int>(closed)

  static func makeGlobals() { _ = items }
  static func reinitialize() { count.store(closed, ordering: .relaxed) }

  /// With those that are about to be made.
  static var items: Int { max(0, count.load(ordering: .sequentiallyConsistent)) }

  /// Counts one more; false while it is closed.
  static func enter() -> Bool {
    var old = count.load(ordering: .relaxed)
    while old != closed {
      let result = count.compareExchange(expected: old, desired: old + 1, ordering: .sequentiallyConsistent)
      if result.exchanged { return true }
      old = result.original
    }
    return false
  }

  // MARK: With the pool's lock held

  static var isClosed: Bool { count.load(ordering: .sequentiallyConsistent) == closed }

  /// Counts one more, for which there will be threads.
  static func open() {
    if !enter() { count.store(1, ordering: .sequentiallyConsistent) }
  }

  /// Counts one less. True if it was the last.
  static func leave() -> Bool { count.subtract(1, ordering: .sequentiallyConsistent).newValue == 0 }

  /// Closes it, if there are no items. True if it is closed.
  static func close() -> Bool {
    isClosed || count.compareExchange(expected: 0, desired: closed, ordering: .sequentiallyConsistent).exchanged
  }
}

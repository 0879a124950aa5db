/// Items that are ready for a turn, in the order in which they get one.
///
/// A class of quality of service is a head start: an item goes before those of a lower class that came later, and before
/// those that came so much earlier. So a lower class waits longer, and none waits for ever, however much the higher ones
/// want (as deadlines are ordered in an earliest-deadline-first queue).
struct ReadyItems {
  private struct List {
    var first: PoolItem?
    var last: PoolItem?
  }

  private var lists = (List(), List(), List(), List(), List())
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  private mutating func withList<Result>(_ rank: Int, _ body: (inout List) -> Result) -> Result {
    switch rank {
    case 0: body(&lists.0)
    case 1: body(&lists.1)
    case 2: body(&lists.2)
    case 3: body(&lists.3)
    default: body(&lists.4)
    }
  }

  mutating func append(_ item: PoolItem, _ now: Int64) {
    item.since = now
    count += 1
    withList(item.qos.rank) { list in
      if let last = list.last { last.next = item } else { list.first = item }
      list.last = item
    }
  }

  mutating func popFirst() -> PoolItem? {
    var best: (rank: Int, time: Int64)?
    for rank in 0..<5 {
      guard let item = withList(rank, { $0.first }) else { continue }
      let time = item.since + Tunables.lowerClass(rank)
      if best.map({ time <= $0.time }) ?? true { best = (rank, time) }
    }
    guard let best else { return nil }
    count -= 1
    return withList(best.rank) { list in
      let item = list.first
      list.first = item?.next
      item?.next = nil
      if list.first == nil { list.last = nil }
      return item
    }
  }

  /// Takes out one that is there. Seldom: it is sought from the beginning.
  mutating func remove(_ item: PoolItem) {
    count -= 1
    withList(item.qos.rank) { list in
      var before: PoolItem?
      var current = list.first
      while let found = current, found !== item { (before, current) = (found, found.next) }
      if let before { before.next = item.next } else { list.first = item.next }
      if list.last === item { list.last = before }
      item.next = nil
    }
  }
}

/// Items that want a turn at a time: a binary heap. Its room is a table with a place for each queue that there can be.
@safe struct ItemHeap {
  // SAFETY: of the table's places the first `count` hold items, which others retain.
  private let items: UnsafeMutablePointer<Unmanaged<PoolItem>>
  private var count = 0

  /// Only the items of queues want a turn at a time.
  private static var most: Int { QueueControlBlocks.maximum }

  /// - Parameter table: one of `makeTable`, which no other heap uses.
  init(_ table: UnsafeMutableRawPointer) {
    unsafe items = table.bindMemory(to: Unmanaged<PoolItem>.self, capacity: ItemHeap.most)
  }

  /// `nil` if memory is refused.
  static func makeTable() -> UnsafeMutableRawPointer? {
    unsafe Memory.mapSparse(most * MemoryLayout<Unmanaged<PoolItem>>.stride)
  }

  private subscript(_ i: Int) -> PoolItem {
    get { unsafe items[i].takeUnretainedValue() }
    nonmutating set { unsafe items[i] = Unmanaged.passUnretained(newValue) }
  }

  var first: PoolItem? { count == 0 ? nil : self[0] }

  /// The earliest time of some of them; `.max` for none. For checks: it looks at a few where there are many.
  func earliest(_ counts: (PoolItem) -> Bool) -> Int64 {
    (0..<min(count, 64)).reduce(.max) { counts(self[$1]) ? min($0, self[$1].time) : $0 }
  }

  mutating func place(_ item: PoolItem, at time: Int64) {
    if time == .max { return remove(item) }
    let old = item.time
    item.time = time
    if item.place < 0 {
      item.place = count
      self[count] = item
      count += 1
      rise(item.place)
    } else if time < old {
      rise(item.place)
    } else {
      sink(item.place)
    }
  }

  mutating func remove(_ item: PoolItem) {
    let i = item.place
    item.time = .max
    if i < 0 { return }
    item.place = -1
    count -= 1
    let last = self[count]
    if last === item { return }
    self[i] = last
    last.place = i
    rise(i)
    sink(last.place)
  }

  private mutating func rise(_ start: Int) {
    var i = start
    while i > 0 {
      let parent = (i - 1) / 2
      if self[parent].time <= self[i].time { return }
      exchange(i, parent)
      i = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var i = start
    while true {
      var least = i
      for child in [2 * i + 1, 2 * i + 2] where child < count && self[child].time < self[least].time {
        least = child
      }
      if least == i { return }
      exchange(i, least)
      i = least
    }
  }

  private mutating func exchange(_ i: Int, _ j: Int) {
    (self[i], self[j]) = (self[j], self[i])
    self[i].place = i
    self[j].place = j
  }
}

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

/// Items that want a turn at a time: a binary heap. Its room is taken when items are made.
struct ItemHeap {
  private var items: [PoolItem] = []

  var first: PoolItem? { items.first }

  /// The earliest time of some of them; `.max` for none. For checks: it looks at a few where there are many.
  func earliest(_ counts: (PoolItem) -> Bool) -> Int64 {
    items.prefix(64).reduce(.max) { counts($1) ? min($0, $1.time) : $0 }
  }

  /// Makes room for that many in all; false if it is refused.
  mutating func reserve(for count: Int) -> Bool { items.reserve(for: count - items.count) }

  mutating func place(_ item: PoolItem, at time: Int64) {
    if time == .max { return remove(item) }
    let old = item.time
    item.time = time
    if item.place < 0 {
      item.place = items.count
      items.append(item)
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
    let last = items.removeLast()
    if last === item { return }
    items[i] = last
    last.place = i
    rise(i)
    sink(last.place)
  }

  private mutating func rise(_ start: Int) {
    var i = start
    while i > 0 {
      let parent = (i - 1) / 2
      if items[parent].time <= items[i].time { return }
      exchange(i, parent)
      i = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var i = start
    while true {
      var least = i
      for child in [2 * i + 1, 2 * i + 2] where child < items.count && items[child].time < items[least].time {
        least = child
      }
      if least == i { return }
      exchange(i, least)
      i = least
    }
  }

  private mutating func exchange(_ i: Int, _ j: Int) {
    items.swapAt(i, j)
    items[i].place = i
    items[j].place = j
  }
}

/// The items by their marks. Their room is taken when the first item is made.
struct MarkedItems {
  private var first: [PoolItem?] = []
  private var next = 0

  /// False if memory is refused.
  mutating func prepare() -> Bool {
    if !first.isEmpty { return true }
    guard first.reserve(for: PoolRequests.marks) else { return false }
    for _ in 0..<PoolRequests.marks { first.append(nil) }
    return true
  }

  mutating func add(_ item: PoolItem) {
    item.mark = next
    next = (next + 1) % PoolRequests.marks
    item.nextOfMark = first[item.mark]
    first[item.mark] = item
  }

  mutating func remove(_ item: PoolItem) {
    var before: PoolItem?
    var current = first[item.mark]
    while let found = current, found !== item { (before, current) = (found, found.nextOfMark) }
    if let before { before.nextOfMark = item.nextOfMark } else { first[item.mark] = item.nextOfMark }
    item.nextOfMark = nil
  }

  func first(of mark: Int) -> PoolItem? { first.isEmpty ? nil : first[mark] }
}

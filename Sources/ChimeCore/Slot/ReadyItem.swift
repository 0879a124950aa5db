/// A callback that is due, in the order of promise 12.
struct ReadyItem {
  let deadline: Int64
  let startOrder: UInt32
  private let slotAndKind: UInt32

  init(deadline: Int64, startOrder: UInt32, slot: UInt32, isPendingCallback: Bool) {
    self.deadline = deadline
    self.startOrder = startOrder
    slotAndKind = slot << 1 | (isPendingCallback ? 1 : 0)
  }

  var slot: UInt32 { slotAndKind >> 1 }

  /// What its turn in the batch is for.
  var turn: Turn { slotAndKind & 1 == 0 ? .due : deadline == .min ? .callback : .fired }

  /// By deadline, then by activation; start orders of one thread are less than 2^31 activations apart.
  static func precedes(_ a: ReadyItem, _ b: ReadyItem) -> Bool {
    a.deadline != b.deadline ? a.deadline < b.deadline : Int32(bitPattern: a.startOrder &- b.startOrder) < 0
  }
}

/// What one delivery may call. A timer can have several turns in one pass; each delivers only its own kind, so that the
/// order of the batch holds.
enum Turn {
  /// A registration or cancel callback.
  case callback
  /// The extra tick, after any registration or cancel callback that has come up since.
  case fired
  /// The tick of the schedule, after whatever must come before it.
  case due
}

extension PassList where Element == ReadyItem {
  /// Batches below this size, and those that span more than 2^32 ns, are sorted by comparisons.
  private static var fewest: Int { 48 }

  /// Puts the batch in the order of promise 12. What is due together lies within a few milliseconds, so its deadlines
  /// differ in three or four bytes only. A radix sort by these (Knuth, The Art of Computer Programming 3, 5.2.5) needs
  /// neither comparisons nor branches that a processor mispredicts. `other` is scratch memory.
  mutating func sortByTurn(_ other: inout PassList) {
    var least = Int64.max
    var greatest = Int64.min
    for i in indices {
      least = Swift.min(least, self[i].deadline)
      greatest = Swift.max(greatest, self[i].deadline)
    }
    let range = UInt64(bitPattern: greatest &- least)
    guard count >= Self.fewest, range >> 32 == 0 else { return merge(indices, other) }
    if range == 0 {
      sortByStartOrder(&other)
    } else {
      sort(&other, upTo: range) { UInt64(bitPattern: $0.deadline &- least) }
      sortEqualDeadlinesByStartOrder(other)
    }
    other.discard(count)
  }

  /// The whole batch by the lowest bytes of `key`, as many as `greatest` has.
  @inline(__always)
  private mutating func sort(_ other: inout PassList, upTo greatest: UInt64, by key: (ReadyItem) -> UInt64) {
    var bit: UInt64 = 0
    while greatest >> bit != 0 {
      // SAFETY: initialised first, used at indices below 256 only. 1,024 bytes are always on the stack, not on the heap.
      unsafe withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 256) { starts in
        unsafe starts.initialize(repeating: 0)
        for i in indices { unsafe starts[Int(key(self[i]) >> bit & 255)] &+= 1 }
        var sum: UInt32 = 0
        for value in 0..<256 {
          let equal = unsafe starts[value]
          unsafe starts[value] = sum
          sum &+= equal
        }
        for i in indices {
          let item = self[i]
          let value = Int(key(item) >> bit & 255)
          other[Int(unsafe starts[value])] = item
          unsafe starts[value] &+= 1
        }
      }
      exchangeMemory(with: &other)
      bit += 8
    }
  }

  /// A batch of equal deadlines. Start orders of one thread are less than 2^31 activations apart; those of several have
  /// no order, so that any will do.
  private mutating func sortByStartOrder(_ other: inout PassList) {
    var least = self[0].startOrder
    for i in indices where Int32(bitPattern: self[i].startOrder &- least) < 0 { least = self[i].startOrder }
    var greatest: UInt32 = 0
    for i in indices { greatest = Swift.max(greatest, self[i].startOrder &- least) }
    sort(&other, upTo: UInt64(greatest)) { UInt64($0.startOrder &- least) }
  }

  private func sortEqualDeadlinesByStartOrder(_ other: PassList) {
    var start = 0
    for next in 1...count where next == count || self[next].deadline != self[start].deadline {
      if next - start > 1 { merge(start..<next, other) }
      start = next
    }
  }

  /// Sorts a part: by insertion where it is short, else by halves (the standard library's sort makes objects).
  private func merge(_ range: Range<Int>, _ other: PassList) {
    if range.count <= 16 {
      for i in range.dropFirst() {
        let item = self[i]
        var place = i
        while place > range.lowerBound, ReadyItem.precedes(item, self[place - 1]) {
          self[place] = self[place - 1]
          place -= 1
        }
        self[place] = item
      }
      return
    }
    let middle = range.lowerBound + range.count / 2
    merge(range.lowerBound..<middle, other)
    merge(middle..<range.upperBound, other)
    if !ReadyItem.precedes(self[middle], self[middle - 1]) { return }
    for i in range { other[i] = self[i] }
    var (left, right) = (range.lowerBound, middle)
    for i in range {
      if right == range.upperBound || left < middle && !ReadyItem.precedes(other[right], other[left]) {
        self[i] = other[left]
        left += 1
      } else {
        self[i] = other[right]
        right += 1
      }
    }
  }
}

/// A callback that is due, in the order of promise 12.
struct BatchItem {
  let deadline: Int64
  let activationSequence: UInt32
  private let slotAndKind: TaggedSlot

  init(deadline: Int64, activationSequence: UInt32, slot: SlotIndex, _ kind: DeliveryKind) {
    self.deadline = deadline
    self.activationSequence = activationSequence
    slotAndKind = TaggedSlot(slot, kind.rawValue)
  }

  var slot: SlotIndex { slotAndKind.slot }

  /// What its turn in the batch is for.
  var kind: DeliveryKind { DeliveryKind(rawValue: slotAndKind.tag) }

  /// By deadline, then by activation; activation sequences of one thread are less than 2^31 activations apart.
  static func precedes(_ a: BatchItem, _ b: BatchItem) -> Bool {
    a.deadline != b.deadline
      ? a.deadline < b.deadline : Int32(bitPattern: a.activationSequence &- b.activationSequence) < 0
  }
}

/// What one delivery may call. A timer can have several turns in one pass; each delivers only its own kind, so that the
/// order of the batch holds.
struct DeliveryKind: RawRepresentable, Equatable {
  let rawValue: UInt32

  /// The tick of the schedule, after whatever must come before it.
  static var due: DeliveryKind { DeliveryKind(rawValue: 0) }
  /// A registration or cancel callback.
  static var callback: DeliveryKind { DeliveryKind(rawValue: 1) }
  /// The extra tick, after any registration or cancel callback that has come up since.
  static var fired: DeliveryKind { DeliveryKind(rawValue: 2) }
}

extension PassList where Element == BatchItem {
  /// Batches below this size are sorted by comparisons, as are those that span more than 2^32 ns.
  private static var fewest: Int { 24 }

  /// Puts the batch in the order of promise 12, in which it often is already, or in the reverse one. What is due together
  /// lies within a few milliseconds: so most of the work is a radix sort by the three or four bytes in which deadlines
  /// differ (Knuth, The Art of Computer Programming 3, 5.2.5). `other` is scratch memory.
  mutating func sortByTurn(_ other: inout PassList) {
    var previous = self[0]
    var (least, greatest) = (previous.deadline, previous.deadline)
    var descents = 0
    for i in 1..<count {
      let item = self[i]
      least = Swift.min(least, item.deadline)
      greatest = Swift.max(greatest, item.deadline)
      if BatchItem.precedes(item, previous) { descents &+= 1 }
      previous = item
    }
    if descents == 0 { return }
    if descents == count &- 1 { return reverse() }
    let range = UInt64(bitPattern: greatest &- least)
    guard count >= Self.fewest, range >> 32 == 0 else { return merge(indices, other) }
    if range == 0 {
      sortByActivationSequence(&other)
    } else {
      sort(&other, upTo: range) { UInt64(bitPattern: $0.deadline &- least) }
      sortEqualDeadlinesByActivationSequence(other)
    }
    other.discard(count)
  }

  private func reverse() {
    var (i, j) = (0, count &- 1)
    while i < j {
      (self[i], self[j]) = (self[j], self[i])
      (i, j) = (i &+ 1, j &- 1)
    }
  }

  /// The whole batch by the lowest bytes of `key`, as many as `greatest` has.
  private mutating func sort(_ other: inout PassList, upTo greatest: UInt64, by key: (BatchItem) -> UInt64) {
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

  /// A batch of equal deadlines. Activation sequences of one thread are less than 2^31 activations apart; those of
  /// several have no order, so that any will do.
  private mutating func sortByActivationSequence(_ other: inout PassList) {
    var least = self[0].activationSequence
    for i in indices where Int32(bitPattern: self[i].activationSequence &- least) < 0 {
      least = self[i].activationSequence
    }
    var greatest: UInt32 = 0
    for i in indices { greatest = Swift.max(greatest, self[i].activationSequence &- least) }
    sort(&other, upTo: UInt64(greatest)) { UInt64($0.activationSequence &- least) }
  }

  private func sortEqualDeadlinesByActivationSequence(_ other: PassList) {
    var start = 0
    for next in 1...count where next == count || self[next].deadline != self[start].deadline {
      if next - start > 1 { merge(start..<next, other) }
      start = next
    }
  }

  /// Sorts a part by insertion.
  private func insert(_ range: Range<Int>) {
    for i in range.dropFirst() {
      let item = self[i]
      var place = i
      while place > range.lowerBound, BatchItem.precedes(item, self[place &- 1]) {
        self[place] = self[place &- 1]
        place &-= 1
      }
      if place != i { self[place] = item }
    }
  }

  /// Sorts a part: by insertion where it is short, else by halves (the standard library's sort makes objects).
  private func merge(_ range: Range<Int>, _ other: PassList) {
    if range.count <= 16 { return insert(range) }
    let middle = range.lowerBound + range.count / 2
    merge(range.lowerBound..<middle, other)
    merge(middle..<range.upperBound, other)
    if !BatchItem.precedes(self[middle], self[middle - 1]) { return }
    for i in range { other[i] = self[i] }
    var (left, right) = (range.lowerBound, middle)
    for i in range {
      if right == range.upperBound || left < middle && !BatchItem.precedes(other[right], other[left]) {
        self[i] = other[left]
        left += 1
      } else {
        self[i] = other[right]
        right += 1
      }
    }
  }
}

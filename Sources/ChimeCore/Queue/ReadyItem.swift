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

  /// What its turn in the batch was given for.
  var turn: Turn { slotAndKind & 1 == 0 ? .due : deadline == .min ? .callback : .fired }

  /// By deadline, then by activation; start orders of one thread are less than 2^31 activations apart.
  static func precedes(_ a: ReadyItem, _ b: ReadyItem) -> Bool {
    a.deadline != b.deadline ? a.deadline < b.deadline : Int32(bitPattern: a.startOrder &- b.startOrder) < 0
  }
}

/// What one delivery may call. A timer can have several turns in one pass: each delivers its own kind only, so that the
/// order of the batch holds.
enum Turn {
  /// A registration or cancel callback.
  case callback
  /// The extra tick; a registration or cancel callback that came up meanwhile goes before it.
  case fired
  /// The tick of the schedule; what must come before it goes first.
  case due
}

extension ContiguousArray where Element == ReadyItem {
  /// Batches below this size, and those that span more than 2^32 ns, are left to the standard library.
  private static var fewest: Int { 48 }

  /// Puts the batch in the order of promise 12. What is due together lies within a few milliseconds: its deadlines
  /// differ in three or four bytes only, by which a radix sort (Knuth, The Art of Computer Programming 3, 5.2.5) orders
  /// it with neither comparisons nor the branches that a processor guesses wrong. `other` is room for it.
  mutating func sortByTurn(_ other: inout ContiguousArray<ReadyItem>) {
    var least = Int64.max
    var greatest = Int64.min
    for item in self {
      least = Swift.min(least, item.deadline)
      greatest = Swift.max(greatest, item.deadline)
    }
    let range = UInt64(bitPattern: greatest &- least)
    guard count >= Self.fewest, range >> 32 == 0 else { return sort(by: ReadyItem.precedes) }
    other.append(contentsOf: self)
    var byte: UInt64 = 0
    while range >> byte != 0 {
      var starts = InlineArray<257, UInt32>(repeating: 0)
      for item in self { starts[item.byte(byte, since: least) + 1] &+= 1 }
      for i in 1..<256 { starts[i] &+= starts[i - 1] }
      for item in self {
        let value = item.byte(byte, since: least)
        other[Int(starts[value])] = item
        starts[value] &+= 1
      }
      swap(&self, &other)
      byte += 8
    }
    other.removeAll(keepingCapacity: other.capacity <= 4096)
    sortEqualDeadlinesByStartOrder()
  }

  private mutating func sortEqualDeadlinesByStartOrder() {
    unsafe withUnsafeMutableBufferPointer { items in
      var start = 0
      for next in 1...items.count
      where unsafe next == items.count || items[next].deadline != items[start].deadline {
        if next - start > 1 {
          // SAFETY: start and next lie within the buffer, which is not used beyond the closure.
          let equals = unsafe UnsafeMutableBufferPointer(rebasing: items[start..<next])
          unsafe sortByStartOrder(equals)
        }
        start = next
      }
    }
  }
}

/// Timers that one thread has started for one instant come out of the inbox as they went in, or the other way round.
private func sortByStartOrder(_ items: UnsafeMutableBufferPointer<ReadyItem>) {
  var items = unsafe items
  var (rises, falls) = (true, true)
  for i in unsafe 1..<items.count {
    // SAFETY: i is below the count, and above 0.
    if unsafe ReadyItem.precedes(items[i - 1], items[i]) { falls = false } else { rises = false }
  }
  if rises { return }
  if falls { return unsafe items.reverse() }
  unsafe items.sort(by: ReadyItem.precedes)
}

extension ReadyItem {
  /// The byte of the deadline, counted from `least`, that begins at a bit.
  @inline(__always)
  fileprivate func byte(_ bit: UInt64, since least: Int64) -> Int {
    Int(UInt64(bitPattern: deadline &- least) >> bit & 255)
  }
}

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

extension ContiguousArray where Element == ReadyItem {
  /// Batches below this size, and those that span more than 2^32 ns, are left to the standard library.
  private static var fewest: Int { 48 }

  /// Puts the batch in the order of promise 12. What is due together lies within a few milliseconds, so its deadlines
  /// differ in three or four bytes only. A radix sort by these (Knuth, The Art of Computer Programming 3, 5.2.5) needs
  /// neither comparisons nor branches that a processor mispredicts. `other` is scratch memory.
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
          var equals = unsafe UnsafeMutableBufferPointer(rebasing: items[start..<next])
          unsafe equals.sort(by: ReadyItem.precedes)
        }
        start = next
      }
    }
  }
}

extension ReadyItem {
  /// The byte of the deadline, counted from `least`, that begins at a bit.
  @inline(__always)
  fileprivate func byte(_ bit: UInt64, since least: Int64) -> Int {
    Int(UInt64(bitPattern: deadline &- least) >> bit & 255)
  }
}

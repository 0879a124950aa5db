import Testing

@testable import Chime
@testable import ChimeCore

/// The order of a batch, against the standard library's sort, on both sides of every limit of the radix sort.
@Suite struct BatchItemTests {
  /// Numbers of items; distances between the first and the last deadline; where the deadlines begin.
  static let counts = [2, 47, 48, 49, 255, 1000]
  static let ranges: [Int64] = [0, 1, 255, 256, 65_535, 65_536, 1 << 20, 1 << 24, 1 << 32 - 1, 1 << 32, .max]
  static let bases: [Int64] = [.min, -1 << 31, 0, 1 << 40]

  /// The index of no slot, since none is looked up.
  static func slot(_ number: Int) -> SlotIndex { unsafe SlotIndex(existing: UInt32(number)) }

  static func batch(_ count: Int, from base: Int64, to end: Int64) -> ContiguousArray<BatchItem> {
    var batch = ContiguousArray(
      (0..<count).map { i in
        BatchItem(
          deadline: Int64.random(in: base...end),
          activationSequence: UInt32.max / 4 &+ UInt32.random(in: 0..<UInt32(count)),
          slot: slot(i), .due)
      })
    // Both ends are there, and some have the same deadline.
    batch[0] = BatchItem(deadline: end, activationSequence: 1, slot: slot(0), .due)
    batch[1] = BatchItem(deadline: base, activationSequence: .max, slot: slot(1), .callback)
    for i in stride(from: 4, to: count, by: 5) {
      batch[i] = BatchItem(
        deadline: batch[i - 3].deadline, activationSequence: UInt32(i), slot: slot(i), .due)
    }
    return batch
  }

  @Test(arguments: counts, ranges)
  func aBatchIsInOrder(count: Int, range: Int64) throws {
    let memory = try #require(PassScratch(slots: count))
    defer { memory.unmap() }
    var room = memory.sorting
    for base in Self.bases {
      let end = base.saturatingAdd(range)
      let batch = Self.batch(count, from: base, to: end)
      var list = memory.ready
      for item in batch { list.append(item) }
      list.sortByTurn(&room)
      let sorted = list.indices.map { list[$0] }
      room = memory.sorting
      let expected = batch.sorted(by: BatchItem.precedes)
      #expect(
        zip(sorted, expected).allSatisfy {
          $0.deadline == $1.deadline && $0.activationSequence == $1.activationSequence
        },
        "from \(base) to \(end)")
      #expect(Set(sorted.map(\.slot.number)) == Set(batch.map(\.slot.number)), "from \(base) to \(end)")
    }
  }
}

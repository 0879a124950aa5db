import Synchronization

/// Deliveries, by their slots, that the workers of a concurrent queue take out one at a time, in order, without a lock.
///
/// One word says which are left: a number of the filling, the first, and the end. Whoever takes one reads the slot, then
/// moves the first by compare-and-swap. If that succeeds, the batch was not filled anew in between, for that changes the
/// number; so the slot is the one that stood there (P24).
@safe final class DeliveryBatch: @unchecked Sendable {
  // SAFETY: allocated in init, freed in deinit; initialized throughout.
  private let slots: UnsafeMutablePointer<Atomic<UInt32>>
  private let left = Atomic<UInt64>(0)

  static var size: Int { 256 }

  init() {
    unsafe slots = UnsafeMutablePointer.allocate(capacity: DeliveryBatch.size)
    for i in 0..<DeliveryBatch.size { unsafe (slots + i).initialize(to: Atomic(0)) }
  }

  deinit {
    unsafe slots.deinitialize(count: DeliveryBatch.size)
    unsafe slots.deallocate()
  }

  private static func first(_ left: UInt64) -> Int { Int(left & 0xffff) }
  private static func end(_ left: UInt64) -> Int { Int(left >> 16 & 0xffff) }

  /// How many are left.
  var count: Int {
    let left = left.load(ordering: .relaxed)
    return DeliveryBatch.end(left) - DeliveryBatch.first(left)
  }

  /// Fills the batch, which is empty. By one thread at a time.
  func fill(_ count: Int, _ slot: () -> UInt32) {
    let number = left.load(ordering: .relaxed) >> 32 &+ 1
    for i in 0..<count { unsafe slots[i].store(slot(), ordering: .relaxed) }
    left.store(number << 32 | UInt64(count) << 16, ordering: .releasing)
  }

  /// Takes out the first; `nil` if there is none.
  func next() -> UInt32? {
    var old = left.load(ordering: .acquiring)
    while true {
      if DeliveryBatch.first(old) == DeliveryBatch.end(old) { return nil }
      let slot = unsafe slots[DeliveryBatch.first(old)].load(ordering: .relaxed)
      let result = left.compareExchange(expected: old, desired: old + 1, ordering: .acquiring)
      if result.exchanged { return slot }
      old = result.original
    }
  }
}

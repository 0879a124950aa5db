import Synchronization

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

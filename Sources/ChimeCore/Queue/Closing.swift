import Synchronization

/// How far the end of a queue has come: released, closed by a pass, over. Any thread.
struct Closing: ~Copyable {
  private let begun = Atomic<Bool>(false)
  private let over = Atomic<Bool>(false)
  /// Functions and deliveries on their way on a concurrent queue, and whoever begins to close the queue: while there are
  /// some the queue does not end. Counted, then `hasBegun` or the functions' list is looked at; a closing pass says that it
  /// closes, then reads this; all sequentially consistent, so one of the two sees the other (P7b, Protocols.md).
  private let outstanding = Atomic<Int>(0)

  /// The queue was released: nothing is delivered any more but what a release owes.
  var hasBegun: Bool { begun.load(ordering: .sequentiallyConsistent) }

  func begin() { begun.store(true, ordering: .sequentiallyConsistent) }

  /// Nothing of the queue runs or will run.
  var isOver: Bool { over.load(ordering: .sequentiallyConsistent) }

  /// True for the first caller.
  func finish() -> Bool { !over.exchange(true, ordering: .sequentiallyConsistent) }

  var isHeldUp: Bool { outstanding.load(ordering: .sequentiallyConsistent) != 0 }

  func holdUp(_ count: Int = 1) { outstanding.add(count, ordering: .sequentiallyConsistent) }

  /// What was counted has come to its end. True if the queue may have waited for it.
  func letGo(_ count: Int = 1) -> Bool {
    outstanding.subtract(count, ordering: .sequentiallyConsistent)
    return hasBegun
  }
}

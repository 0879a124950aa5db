import Synchronization

/// How far the end of a queue has come: released, closed by a pass, over. Any thread.
struct Closing: ~Copyable {
  private let stage = Atomic<UInt8>(Closing.notBegun)
  private static var notBegun: UInt8 { 0 }
  private static var releasing: UInt8 { 1 }
  private static var released: UInt8 { 2 }
  private let over = Atomic<Bool>(false)
  /// Functions and deliveries on their way on a concurrent queue, and whoever begins to close the queue: while there are
  /// some the queue does not end. Counted, then `hasBegun` or the functions' list is looked at; a closing pass says that it
  /// closes, then reads this; all sequentially consistent: store buffering (P7b).
  private let outstanding = Atomic<Int>(0)

  /// The queue was released: nothing is delivered any more but what a release owes.
  var hasBegun: Bool { stage.load(ordering: .sequentiallyConsistent) != Closing.notBegun }

  func begin() { stage.store(Closing.releasing, ordering: .sequentiallyConsistent) }

  /// The timers are being released, some of their ids are not stale yet: until then no last callback is called, which might
  /// use one of them (P7c).
  var isReleasing: Bool { stage.load(ordering: .sequentiallyConsistent) == Closing.releasing }

  func timersAreReleased() { stage.store(Closing.released, ordering: .sequentiallyConsistent) }

  /// Nothing of the queue runs or will run.
  var isOver: Bool { over.load(ordering: .sequentiallyConsistent) }

  /// True for the first caller.
  func finish() -> Bool { !over.exchange(true, ordering: .sequentiallyConsistent) }

  var isHeldUp: Bool { outstanding.load(ordering: .sequentiallyConsistent) != 0 }

  func enter(_ count: Int = 1) { outstanding.add(count, ordering: .sequentiallyConsistent) }

  /// What was counted has come to its end. True if the queue may have waited for it.
  func leave(_ count: Int = 1) -> Bool {
    outstanding.subtract(count, ordering: .sequentiallyConsistent)
    return hasBegun
  }
}

import Synchronization

/// A request that a run return, which the run takes: of a host-driven queue, or the main queue. Any thread, and signal
/// handlers.
///
/// Whoever asks stores the request, then wakes the run; a run takes it, or finds that there is none, before it waits, and
/// says beforehand that it will wait; all sequentially consistent: store buffering (P11c).
struct StopRequest: ~Copyable {
  /// Who is to stop: a queue's id, so that a request that came late means nothing to the next queue; 0 for nobody.
  private let pending = Atomic<UInt64>(0)

  /// The token where only one run exists.
  static var only: UInt64 { 1 }

  /// Asks, while `isThere`; false if that one has been asked already, or is not there any more.
  func make(for id: UInt64 = only, while isThere: () -> Bool = { true }) -> Bool {
    var current = pending.load(ordering: .sequentiallyConsistent)
    while current != id, isThere() {
      let result = pending.compareExchange(expected: current, desired: id, ordering: .sequentiallyConsistent)
      if result.exchanged { return true }
      current = result.original
    }
    return false
  }

  /// Takes the request; true for the one run that did.
  func take(for id: UInt64 = only) -> Bool {
    pending.compareExchange(expected: id, desired: 0, ordering: .sequentiallyConsistent).exchanged
  }

  func isPending(for id: UInt64 = only) -> Bool { pending.load(ordering: .sequentiallyConsistent) == id }

  /// A hint, for a pass that gives up its slice: a late look costs the rest of it.
  var seemsPending: Bool { pending.load(ordering: .relaxed) != 0 }

  /// Forgets it, where nobody else knows of it.
  func reset() { pending.store(0, ordering: .relaxed) }
}

/// A place in libdispatch where the passes of a queue run: a queue of Chime's own, the main queue, or one of the
/// host's.
struct DispatchPlace: Sendable {
  /// Where the timer source's handler runs; itself the place, or a serial queue that targets it.
  let timerQueue: WorkQueue
  /// The place itself, behind the blocks that are there.
  let queue: WorkQueue
  /// Where handlers are handed over; `nil` where they run in the pass.
  var handOver: WorkQueue?
  /// Whose blocks exclude the passes, besides the queue's own; `nil` for none.
  var shared: Place?
  let isOwn: Bool
  /// Whether a block can be run on the place from outside, and waited for: not where the caller could stand on it without
  /// Chime knowing.
  var canRunAndWait = false

  var isMain: Bool { shared == .main }

  /// Whether the caller stands on it.
  var isHere: Bool { isMain ? MainQueue.isHere : shared != nil && queue.isCurrent }

  /// A serial queue of Chime's own.
  static func serial(_ queue: WorkQueue) -> DispatchPlace {
    DispatchPlace(timerQueue: queue, queue: queue, isOwn: true, canRunAndWait: true)
  }

  /// A serial queue of Chime's own, marked, on which the host has work of its own done, too: an actor's.
  static func serial(shared queue: WorkQueue) -> DispatchPlace {
    DispatchPlace(timerQueue: queue, queue: queue, shared: queue.place, isOwn: true)
  }

  /// A concurrent queue, of Chime's own or a global one; its passes run on a private serial queue.
  static func concurrent(label: String, on target: WorkQueue) -> DispatchPlace {
    let queue = WorkQueue(label: label)
    return DispatchPlace(timerQueue: queue, queue: queue, handOver: target, isOwn: true)
  }

  /// libdispatch's main queue.
  static func main() -> DispatchPlace {
    let queue = WorkQueue.main
    return DispatchPlace(timerQueue: queue, queue: queue, shared: .main, isOwn: false)
  }

  /// A queue of the host's; `nil` when it belongs to another copy of libdispatch.
  static func wrapping(_ pointer: UnsafeMutableRawPointer, label: String) -> DispatchPlace? {
    guard unsafe WorkQueue.isOurs(pointer) else { return nil }
    let host = unsafe WorkQueue(pointer)
    if host.isMain { return main() }
    let queue = WorkQueue(label: label, on: host)
    if host.isConcurrent { return DispatchPlace(timerQueue: queue, queue: queue, handOver: host, isOwn: false) }
    host.mark()
    return DispatchPlace(timerQueue: queue, queue: host, shared: host.place, isOwn: false)
  }
}

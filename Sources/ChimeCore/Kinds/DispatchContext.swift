/// Where in libdispatch the passes of a queue run: a queue of Chime's own, the main queue, or one of the host's.
struct DispatchContext: Sendable {
  /// Where the timer source's handler runs: on the context's own queue, or on a serial queue that targets it.
  let timerQueue: WorkQueue
  /// The context's own queue, behind the blocks that are on it.
  let queue: WorkQueue
  /// Where handlers are handed over to; `nil` if they run in the pass.
  var handOver: WorkQueue?
  /// The other work whose blocks exclude the passes; `nil` for none.
  var shared: ExecutionContext?
  /// Whether the queue is Chime's: nobody else's blocks are on it, and no thread is inside it without Chime knowing.
  let isOwn: Bool

  var isMain: Bool { shared == .main }

  /// Whether the caller is in it.
  var isHere: Bool { isMain ? MainQueue.isHere : shared != nil && queue.isCurrent }

  /// A serial queue of Chime's own.
  static func serial(_ queue: WorkQueue) -> DispatchContext {
    DispatchContext(timerQueue: queue, queue: queue, isOwn: true)
  }

  /// libdispatch's main queue.
  static func main() -> DispatchContext {
    let queue = WorkQueue.main
    return DispatchContext(timerQueue: queue, queue: queue, shared: .main, isOwn: false)
  }

  /// A queue of the host's; `nil` when it belongs to another copy of libdispatch.
  static func wrapping(_ pointer: UnsafeMutableRawPointer, label: String) -> DispatchContext? {
    guard unsafe WorkQueue.isOurs(pointer) else { return nil }
    let host = unsafe WorkQueue(pointer)
    if host.isMain { return main() }
    let queue = WorkQueue(label: label, on: host)
    if host.isConcurrent { return DispatchContext(timerQueue: queue, queue: queue, handOver: host, isOwn: false) }
    host.mark()
    return DispatchContext(timerQueue: queue, queue: host, shared: host.executionContext, isOwn: false)
  }
}

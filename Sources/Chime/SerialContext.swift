import ChimeCore
import Dispatch

/// The threads on which a `SerialTimerQueue` runs its actor's jobs and its timers' handlers, one at a time: all that the
/// queue knows of what is behind it.
enum SerialContext: Sendable {
  /// Threads of Chime's own.
  case pool(PoolWork)
  /// A dispatch queue of the host's.
  case dispatch(WorkQueue)

  /// A context of its own.
  static func make(_ options: QueueOptions) throws(ChimeError) -> SerialContext {
    .pool(try ChimeError.of { () throws(Status) in try PoolWork.make(options.qos) })
  }

  /// A serial dispatch queue.
  static func of(_ queue: DispatchQueue) throws(ChimeError) -> SerialContext {
    guard let work = WorkQueue.of(queue) else {
      throw ChimeError(.unsupported, "the dispatch queue does not say what it wraps")
    }
    if work.isConcurrentQueue { throw ChimeError(.unsupported, "the dispatch queue is concurrent") }
    return .dispatch(work)
  }

  /// Makes a timer queue on a context of its own.
  func makeTimerQueue(_ options: QueueOptions) throws(Status) -> UInt64 {
    switch self {
    case .pool(let work): try QueueCore.makeSerial(options, sharing: work)
    case .dispatch: throw .unsupported
    }
  }

  /// Runs a closure there, later.
  func perform(_ body: @escaping @Sendable () -> Void) {
    switch self {
    case .pool(let work): work.async(body)
    case .dispatch(let queue): queue.async(body)
    }
  }

  /// Whether the caller is there.
  var isCurrent: Bool {
    switch self {
    case .pool(let work): work.isCurrent
    case .dispatch(let queue): queue.isMain ? MainThread.isHere : queue.isCurrent
    }
  }
}

import Synchronization

/// What a queue's callbacks have to share with other work of the host's.
package enum ExecutionContext: Equatable {
  /// libdispatch's main queue, and the main thread.
  case main
  /// A dispatch queue of the host's, by its address.
  case dispatchQueue(UInt)
  /// The thread of a run loop, by its `ThreadNumber`.
  case thread(UInt64)
}

/// The execution contexts that one thread is in.
package struct ExecutionContexts {
  var isMain = false
  /// 0: none.
  var dispatchQueue: UInt = 0
  /// 0: none.
  var thread: UInt64 = 0

  /// Whether a queue was ever created on a run loop, and on the main queue: only then is a thread an execution context.
  /// Both stay true after a fork; they are hints, and a wrong one costs little.
  package static let hasRunLoops = Atomic<Bool>(false)
  /// See above: fork.
  static let hasMainQueue = Atomic<Bool>(false)

  var isEmpty: Bool { !isMain && dispatchQueue == 0 && thread == 0 }

  func contains(_ context: ExecutionContext) -> Bool {
    switch context {
    case .main: isMain
    case .dispatchQueue(let queue): queue != 0 && queue == dispatchQueue
    case .thread(let thread): thread != 0 && thread == self.thread
    }
  }
}

internal import CPlatform
import Synchronization

/// A closure that runs elsewhere, later, when it is asked for; how often it was asked for since it began makes no difference.
package protocol Worker: AnyObject, Sendable {
  /// Makes no object. Any thread.
  func run()
  /// `run` for a caller that is about to end a turn where the closure runs: it may wait for that.
  func runAfterTurn()
  /// It is not asked for any more; releases the closure, now or when that returns.
  func close()
  /// Runs it on the calling thread, which waits for what it does, where it was asked for and no thread may ever do it; false
  /// if it did not.
  func runStarvingTurn() throws(Forked) -> Bool
}

/// Makes one of a closure.
package typealias WorkerMaker = (@escaping @Sendable () throws(Forked) -> Void) -> any Worker

extension Worker {
  package func runAfterTurn() { run() }
  package func runStarvingTurn() throws(Forked) -> Bool { false }
}

/// A quality-of-service class, by libdispatch's number, and a priority within it.
package struct QualityOfService: Equatable, Sendable {
  package let number: UInt32
  /// -15 to 0.
  package let relativePriority: Int32

  package init(number: UInt32, relativePriority: Int32 = 0) {
    self.number = number
    self.relativePriority = relativePriority
  }

  package static var unspecified: QualityOfService { QualityOfService(number: 0) }
  package static var background: QualityOfService { QualityOfService(number: 0x09) }
  package static var utility: QualityOfService { QualityOfService(number: 0x11) }
  package static var `default`: QualityOfService { QualityOfService(number: 0x15) }
  package static var userInitiated: QualityOfService { QualityOfService(number: 0x19) }
  package static var userInteractive: QualityOfService { QualityOfService(number: 0x21) }
}

/// The process's main thread, and libdispatch's main queue, which `dispatchMain` or an async `main` drains on another.
package enum MainThread {
  /// libdispatch, and so this, is not asked in a fork's child.
  private static let isMarked = Atomic<Bool>(false)

  static var isCurrent: Bool { chime_is_main_thread() }

  /// Whether the main queue is libdispatch's.
  static var hasDispatch: Bool { Fork.statusOfDispatch == .ok }

  /// Whether the caller is on libdispatch's main queue: on the thread that loaded it, inside or outside a block.
  static var isOnQueue: Bool {
    if !hasDispatch { return false }
    if !isMarked.load(ordering: .acquiring) {
      let queue = unsafe chime_dispatch_main_queue()
      unsafe chime_dispatch_set_specific(queue, chime_main_queue_key(), queue)
      isMarked.store(true, ordering: .releasing)
    }
    return unsafe chime_dispatch_specific(chime_main_queue_key()) != nil
  }

  /// Whether the caller's work excludes that of the main queue: on the main thread, or in a block of the queue on
  /// whatever thread drains it.
  package static var isHere: Bool { isCurrent || isOnQueue }
}

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
  /// See above, fork: a dispatch queue was marked.
  static let hasDispatchQueues = Atomic<Bool>(false)
  /// See above: fork.
  static let hasMainQueue = Atomic<Bool>(false)

  static var current: ExecutionContexts {
    ExecutionContexts(
      isMain: hasMainQueue.load(ordering: .relaxed) && MainThread.isHere,
      dispatchQueue: hasDispatchQueues.load(ordering: .relaxed)
        ? unsafe UInt(bitPattern: chime_dispatch_specific(chime_queue_key())) : 0,
      thread: hasRunLoops.load(ordering: .relaxed) ? ThreadNumber.current : 0)
  }

  var isEmpty: Bool { !isMain && dispatchQueue == 0 && thread == 0 }

  func contains(_ context: ExecutionContext) -> Bool {
    switch context {
    case .main: isMain
    case .dispatchQueue(let queue): queue != 0 && queue == dispatchQueue
    case .thread(let thread): thread != 0 && thread == self.thread
    }
  }
}

internal import CPlatform
import Synchronization

/// A `dispatch_queue_t`, Chime's or the host's; retained as long as this object lives. Any thread.
@safe package final class WorkQueue: BlockQueue, Sendable {
  // SAFETY: a dispatch object is thread-safe; owned, released in deinit.
  nonisolated(unsafe) let raw: UnsafeMutableRawPointer

  /// Takes over a reference of the caller's.
  private init(owning raw: UnsafeMutableRawPointer?) {
    guard let raw = unsafe raw else { invariantFailure("libdispatch gave no queue") }
    unsafe self.raw = raw
  }

  /// A queue of the host's.
  package init(_ queue: UnsafeMutableRawPointer) {
    unsafe raw = queue
    unsafe chime_dispatch_retain(queue)
  }

  package convenience init(label: String, qos: QualityOfService = .unspecified, isConcurrent: Bool = false) {
    unsafe self.init(
      owning: label.withCString {
        unsafe chime_dispatch_queue_create($0, isConcurrent ? 1 : 0, qos.number, qos.relativePriority)
      })
  }

  /// A serial queue that runs its blocks on another one.
  convenience init(label: String, on target: WorkQueue) {
    unsafe self.init(owning: label.withCString { unsafe chime_dispatch_queue_create_on($0, target.raw) })
  }

  deinit { unsafe chime_dispatch_release(raw) }

  static var main: WorkQueue { unsafe WorkQueue(owning: chime_dispatch_main_queue()) }

  package func async(_ body: @escaping @Sendable () -> Void) {
    unsafe chime_dispatch_async(raw, ClosureBox.context(body)) {
      unsafe ClosureBox.call($0)
      unsafe ClosureBox.release($0)
    }
  }

  package func makeWorker(_ body: @escaping @Sendable () throws(Forked) -> Void) -> any Worker {
    // In a child libdispatch runs nothing more: there is nobody to tell.
    WorkSource.runs({ try? body() }, on: self)
  }

  /// Runs a closure on the calling thread, in the queue's turn.
  func sync(_ body: () -> Void) {
    withoutActuallyEscaping(body) { body in
      let context = unsafe ClosureBox.context(body)
      unsafe chime_dispatch_sync(raw, context) { unsafe ClosureBox.call($0) }
      unsafe ClosureBox.release(context)
    }
  }

  // MARK: Standing on it

  /// Whether any queue was ever marked. A hint, which a fork leaves as it is.
  private static let anyIsMarked = Atomic<Bool>(false)

  /// Makes `isCurrent` recognise blocks of this queue.
  package func mark() {
    unsafe chime_dispatch_set_specific(raw, chime_queue_key(), raw)
    WorkQueue.anyIsMarked.store(true, ordering: .relaxed)
  }

  package var isCurrent: Bool { unsafe chime_dispatch_specific(chime_queue_key()) == raw }

  var executionContext: ExecutionContext { .dispatchQueue(unsafe UInt(bitPattern: raw)) }

  /// The address of the marked queue that the caller is on; 0 for none.
  static var current: UInt {
    if !anyIsMarked.load(ordering: .relaxed) { return 0 }
    return unsafe UInt(bitPattern: chime_dispatch_specific(chime_queue_key()))
  }

  // MARK: What it is

  package var isMain: Bool { unsafe raw == chime_dispatch_main_queue() }

  /// Whether its blocks can run at the same time, according to the type object that libdispatch gives its queues.
  package var isConcurrent: Bool {
    let type = unsafe WorkQueue.type(of: raw)
    let own = WorkQueue(label: "", isConcurrent: true)
    let global = unsafe WorkQueue(owning: chime_dispatch_global_queue(QualityOfService.default.number))
    return unsafe type == WorkQueue.type(of: own.raw) || type == WorkQueue.type(of: global.raw)
  }

  /// Whether the object was made by the libdispatch that Chime uses: its type object lies in the same loaded file.
  static func isOurs(_ pointer: UnsafeMutableRawPointer) -> Bool {
    let own = WorkQueue(label: "")
    guard let file = unsafe chime_file_of(type(of: pointer)) else { return false }
    return unsafe file == chime_file_of(type(of: own.raw))
  }

  /// The first word of every dispatch object points to its type.
  private static func type(of object: UnsafeMutableRawPointer) -> UnsafeRawPointer? {
    unsafe object.load(as: UnsafeRawPointer?.self)
  }
}

/// Where closures run, later, and at the same time.
package protocol BlockQueue: AnyObject, Sendable {
  func makeWorker(_ body: @escaping @Sendable () throws(Forked) -> Void) -> any Worker
}

/// A closure that runs there when it is asked for; how often it was asked for since it began makes no difference.
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

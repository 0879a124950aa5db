import Synchronization

/// The functions that were put on a queue and have not had their turn.
final class Functions: @unchecked Sendable {
  // Unchecked for `taken`, which is the pass's.
  private struct Waiting {
    var list = FunctionList()
    var isOpen = true
    /// Which list it is: the pass has taken those before.
    var round: UInt64 = 0
  }

  private let waiting = Locked(Waiting())
  /// Whether some wait. Changed behind the lock, after them. Pairs with the next wake-up: whoever adds a function stores
  /// this, then exchanges the next wake-up for `awake`; a pass stores that, then reads this (P1e).
  private let someWait = Atomic<Bool>(false)
  /// Taken out of the list; the pass's.
  private var taken = FunctionList()

  /// Whether the queue still takes functions.
  var isOpen: Bool { waiting.withLock { $0.isOpen } }

  /// False if the queue takes none any more.
  func add(_ function: QueuedFunction) -> Bool {
    waiting.withLock { waiting in
      guard waiting.isOpen else { return false }
      function.round = waiting.round
      waiting.list.append(function)
      someWait.store(true, ordering: .sequentiallyConsistent)
      return true
    }
  }

  /// Takes a function back, unless the pass has taken it out, and with it whatever came before.
  func remove(_ function: QueuedFunction) {
    waiting.withLock { waiting in
      if function.round != waiting.round { return }
      waiting.list.remove(function)
      someWait.store(!waiting.list.isEmpty, ordering: .sequentiallyConsistent)
    }
  }

  /// None is added any more.
  func close() { waiting.withLock { $0.isOpen = false } }

  // MARK: The pass's

  /// Whether there are any.
  var isEmpty: Bool { taken.isEmpty && !someWait.load(ordering: .sequentiallyConsistent) }

  var count: Int { waiting.withLock { $0.list.count } + taken.count }

  /// The next one. All that wait are taken out under the lock at once.
  func next() -> QueuedFunction? {
    if taken.isEmpty {
      waiting.withLock { waiting in
        swap(&waiting.list, &taken)
        waiting.round += 1
        someWait.store(false, ordering: .sequentiallyConsistent)
      }
    }
    return taken.popFirst()
  }
}

/// A function put on a queue: by `async`, with its context. One by `sync`, for a thread that waits for it, is a
/// `SyncFunction`.
class QueuedFunction: @unchecked Sendable {
  // Unchecked for the variables, which are guarded as the list is that the function is in.
  private let function: ContextFunction
  let context: Context
  private let finalizer: ContextFunction?
  fileprivate var next: QueuedFunction?
  // SAFETY: in the list, which holds both.
  fileprivate unowned(unsafe) var previous: QueuedFunction?
  fileprivate var round: UInt64 = 0

  init(_ function: ContextFunction, _ context: Context, _ finalizer: ContextFunction?) {
    self.function = function
    self.context = context
    self.finalizer = finalizer
  }

  func run() throws(Forked) {
    try function(context)
    try drop()
  }

  /// It has had its turn, or the queue has ended before.
  func drop() throws(Forked) { try finalizer?(context) }
}

/// Functions in the order in which they came. Each links its neighbours: a list that needs no memory beside theirs.
struct FunctionList: Sendable {
  private var first: QueuedFunction?
  private var last: QueuedFunction?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ function: QueuedFunction) {
    if let last { last.next = function } else { first = function }
    unsafe function.previous = last
    last = function
    count += 1
  }

  mutating func prepend(_ function: QueuedFunction) {
    function.next = first
    if let first { unsafe first.previous = function } else { last = function }
    unsafe function.previous = nil
    first = function
    count += 1
  }

  mutating func popFirst() -> QueuedFunction? {
    guard let function = first else { return nil }
    remove(function)
    return function
  }

  /// Takes out a function that is in the list.
  mutating func remove(_ function: QueuedFunction) {
    let (previous, next) = unsafe (function.previous, function.next)
    if let previous { previous.next = next } else { first = next }
    if let next { unsafe next.previous = previous } else { last = previous }
    function.next = nil
    count -= 1
  }
}

/// Functions on a queue: `async`, and `sync`, which makes a serial queue a mutex.
extension QueueCore {
  /// The queue with that id; `nil` if the id is stale.
  package static func find(_ id: UInt64) -> QueueCore? { findHere(id) }

  /// `find`, inlined into the one call that is counted in instructions.
  @inline(__always)
  static func findHere(_ id: UInt64) -> QueueCore? {
    guard let core = QueueControlBlocks.find(id)?.core, core.id == id else { return nil }
    return core
  }

  /// The answer to an id that names no queue.
  package static func unknown(_ id: UInt64) -> Status { Status.unknown(id, .queue, "queue") }

  /// Puts a function on the queue; its context passes to Chime.
  /// - Parameter function: `nil` on a queue that gives records, and only there: it gives just the record.
  package static func async(
    _ id: UInt64, _ function: ContextFunction?, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    guard let core = find(id) else { return unknown(id) }
    if function != nil, core.givesRecords {
      return Status.unsupported.because("queue gives records: function must be NULL there")
    }
    guard let function = function ?? (core.givesRecords ? .record : nil) else {
      return Status.invalidArgument.because("function is NULL, and queue gives no records")
    }
    let item = QueuedFunction(function, context, finalizer)
    if let handOver = core.handOver {
      // Counted first, then checked: a closing pass reads the count after it has closed the list (P7b).
      core.closing.enter()
      guard core.functions.isOpen else {
        // The closing pass may have seen the count and waits until it is gone.
        _ = core.closing.leave()
        core.control.wake()
        return unknown(id)
      }
      withoutCancellation { handOver.add(item) }
      return .ok
    }
    guard core.functions.add(item) else { return unknown(id) }
    core.control.wake()
    return .ok
  }

  /// On a concurrent queue: runs a function that was counted as outstanding.
  func runHandedOver(_ item: QueuedFunction) throws(Forked) {
    var isHeld = false
    try ThreadState.inside(control) { _ throws(Forked) in
      try withHooks { () throws(Forked) in
        // Perhaps since the hook has begun, or by it.
        isHeld = isSuspended
        isHeld ? handOver?.putBack(item) : try run(item)
      }
    }
    if !isHeld, closing.leave() { control.wake() }
  }

  /// Runs a function of `sync`, whose turn it is, on its caller's thread.
  func runHere(_ body: () -> Void) throws(Forked) {
    try ThreadState.inside(control) { _ throws(Forked) in
      try closing.counting { () throws(Forked) in try Fork.guarded(body) }
    }
  }

  /// Runs a function, unless the queue was released.
  func run(_ item: QueuedFunction) throws(Forked) {
    try closing.counting { () throws(Forked) in closing.hasBegun ? try item.drop() : try item.run() }
  }

  /// Runs `body` in mutual exclusion with the queue's handlers. Waits for a handler.
  /// - Parameter timeout: 0 or more: for the turn of `body`; `Int64.max` without limit.
  package static func sync(_ id: UInt64, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    guard let core = find(id) else { return unknown(id) }
    if core.handOver != nil {
      return Status.unsupported.because("queue is concurrent: its handlers do not exclude each other")
    }
    let isInside = ThreadState.frames.holds(core.control)
    if isInside || core.driver.isOnQueue {
      let run = { () throws(Forked) in try core.runHere(body) }
      var hasRun = isInside
      let status = Status.of { () throws(Forked) in
        if isInside { try run() } else { hasRun = try core.runOutsidePass(run) }
        return .ok
      }
      if hasRun || status != .ok { return status }
      return Status.wouldDeadlock.because("queue is suspended, and it is this thread that would run the function")
    }
    guard core.driver.takesSync else {
      return Status.unsupported.because("queue has no thread: use chime_queue_async, or a call that drives it")
    }
    return core.driver.runInTurn(core, timeout: timeout, body)
  }
}

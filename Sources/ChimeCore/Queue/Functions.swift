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
  private let epoch = Fork.epoch
  fileprivate var next: QueuedFunction?
  // SAFETY: in the list, which holds both.
  fileprivate unowned(unsafe) var previous: QueuedFunction?
  fileprivate var round: UInt64 = 0

  init(_ function: ContextFunction, _ context: Context, _ finalizer: ContextFunction?) {
    self.function = function
    self.context = context
    self.finalizer = finalizer
  }

  func run() {
    function(context)
    drop()
  }

  /// It has had its turn, or the queue has ended before; not in a child that it has forked.
  func drop() { if Fork.epoch == epoch { finalizer?(context) } }
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

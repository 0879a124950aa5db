import Synchronization

/// The functions that were put on a queue and have not had their turn.
final class Functions: @unchecked Sendable {
  // Unchecked for `taken`, which is the pass's.
  private let waiting = Locked<(list: FunctionList, isOpen: Bool)>((FunctionList(), true))
  /// Whether some wait. Changed behind the lock, after them. Pairs with the next wake-up: whoever adds a function stores
  /// this, then takes the next wake-up away; a pass stores that, then reads this (P1e, Sources/README.md).
  private let someWait = Atomic<Bool>(false)
  /// Taken out of the list; the pass's.
  private var taken = FunctionList()

  /// Whether the queue still takes functions.
  var isOpen: Bool { waiting.withLock { $0.isOpen } }

  /// False if the queue takes none any more.
  func add(_ function: QueuedFunction) -> Bool {
    waiting.withLock { waiting in
      guard waiting.isOpen else { return false }
      waiting.list.append(function)
      someWait.store(true, ordering: .sequentiallyConsistent)
      return true
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
        someWait.store(false, ordering: .sequentiallyConsistent)
      }
    }
    return taken.popFirst()
  }
}

/// A function put on a queue: by `async`, with its context, or by `sync`, for a thread that waits for it.
final class QueuedFunction: @unchecked Sendable {
  // Unchecked for `next`, which is guarded as the list is that the function is in.
  private let function: ContextFunction?
  let context: Context
  private let finalizer: ContextFunction?
  private let call: SyncCall?
  fileprivate var next: QueuedFunction?

  init(_ function: ContextFunction, _ context: Context, _ finalizer: ContextFunction?) {
    self.function = function
    self.context = context
    self.finalizer = finalizer
    call = nil
  }

  init(_ call: SyncCall) {
    function = nil
    context = .none
    finalizer = nil
    self.call = call
  }

  func run() {
    if let call { return call.run() }
    function?(context)
    finalizer?(context)
  }

  /// The queue has ended before its turn.
  func drop() {
    call?.refuse()
    finalizer?(context)
  }
}

/// Functions in the order in which they came. Each links the next: a list that needs no memory beside theirs.
struct FunctionList: Sendable {
  private var first: QueuedFunction?
  private var last: QueuedFunction?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ function: QueuedFunction) {
    if let last { last.next = function } else { first = function }
    last = function
    count += 1
  }

  mutating func popFirst() -> QueuedFunction? {
    guard let function = first else { return nil }
    first = function.next
    function.next = nil
    if first == nil { last = nil }
    count -= 1
    return function
  }
}

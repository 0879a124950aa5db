import Synchronization

/// The functions that were put on a queue and have not had their turn.
///
/// They come onto a stack, by one swap each. The pass takes all of them out at once, and reverses them. A thread that gives
/// one up does the same, to find it: meanwhile the pass leaves the functions to it, and goes on without them. So no tick
/// waits for a thread that stands still in here.
final class Functions: @unchecked Sendable {
  // Unchecked for `sorted`, which is whose who sorts, and `taken`.

  /// The address of the function that came last, retained, which links the one before it; and bits that say how it stands.
  /// Pairs with the next wake-up: whoever adds a function swaps this, then loads the next wake-up; a pass stores that, then
  /// loads this (P1e). Functions are taken out all at once, so a link is right whenever the swap succeeds.
  private let head = Atomic<UInt>(0)
  /// None is added any more.
  private static var closed: UInt { 1 }
  /// A thread has `sorted` to itself; and `sorted` is not empty.
  private static var isSorting: UInt { 2 }
  private static var areSorted: UInt { 4 }
  private static var bits: UInt { 7 }

  /// Taken off the stack by threads that gave a function up; and how often the pass has taken them.
  private var sorted = FunctionList()
  private var round: UInt64 = 1
  /// Taken out by the pass, and its own.
  private var taken = FunctionList()

  /// False if the queue takes none any more.
  func add(_ function: QueuedFunction) -> Bool {
    let function = unsafe Unmanaged.passRetained(function)
    let address = unsafe UInt(bitPattern: function.toOpaque())
    var last = head.load(ordering: .relaxed)
    while last & Functions.closed == 0 {
      // SAFETY: retained above, and not in the stack yet.
      unsafe function.takeUnretainedValue().link = last & ~Functions.bits
      let result = head.compareExchange(
        expected: last, desired: address | last & Functions.bits, ordering: .sequentiallyConsistent)
      if result.exchanged { return true }
      last = result.original
    }
    unsafe function.release()
    return false
  }

  /// Takes a function back, unless the pass has taken it out. Afterwards the caller wakes the queue.
  func remove(_ function: QueuedFunction) {
    var spinWait = SpinWait()
    while !beginSorting() { spinWait.pause() }
    takeOffStack(to: &sorted)
    if function.round == round { sorted.remove(function) }
    endSorting()
  }

  private func beginSorting() -> Bool {
    head.bitwiseOr(Functions.isSorting, ordering: .sequentiallyConsistent).oldValue & Functions.isSorting == 0
  }

  private func endSorting() {
    if sorted.isEmpty {
      head.bitwiseAnd(~Functions.areSorted & ~Functions.isSorting, ordering: .sequentiallyConsistent)
    } else {
      head.bitwiseOr(Functions.areSorted, ordering: .sequentiallyConsistent)
      head.bitwiseAnd(~Functions.isSorting, ordering: .sequentiallyConsistent)
    }
  }

  /// Appends what is on the stack, in the order in which it came. Whoever sorts.
  @inline(never)
  private func takeOffStack(to list: inout FunctionList) {
    var address = head.bitwiseAnd(Functions.bits, ordering: .sequentiallyConsistent).oldValue & ~Functions.bits
    var next: UInt = 0
    // SAFETY: each was retained when it was added, and is in the stack once.
    while let pointer = unsafe UnsafeRawPointer(bitPattern: address) {
      let function = unsafe Unmanaged<QueuedFunction>.fromOpaque(pointer).takeUnretainedValue()
      (address, function.link, next) = (function.link, next, address)
    }
    while let pointer = unsafe UnsafeRawPointer(bitPattern: next) {
      let function = unsafe Unmanaged<QueuedFunction>.fromOpaque(pointer).takeRetainedValue()
      next = function.link
      list.append(function, round)
    }
  }

  /// None is added any more.
  func close() { head.bitwiseOr(Functions.closed, ordering: .sequentiallyConsistent) }

  // MARK: The pass's

  private var waiting: UInt { head.load(ordering: .sequentiallyConsistent) & ~Functions.closed }

  /// Whether there is none at all.
  var isEmpty: Bool { taken.isEmpty && waiting == 0 }

  /// Whether there is one for the pass. There is none while another thread sorts them, which wakes the queue when it is done:
  /// so a pass stores the next wake-up, then asks (P1e).
  var hasNext: Bool {
    if !taken.isEmpty { return true }
    let waiting = waiting
    return waiting != 0 && waiting & Functions.isSorting == 0
  }

  /// How many there are now.
  func count() -> Int {
    takeWaiting()
    return taken.count
  }

  /// The next one.
  func next() -> QueuedFunction? {
    if taken.isEmpty { takeWaiting() }
    return taken.popFirst()
  }

  private func takeWaiting() {
    guard waiting != 0, beginSorting() else { return }
    while let function = sorted.popFirst() { taken.append(function, round) }
    takeOffStack(to: &taken)
    round += 1
    endSorting()
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
  /// On the stack: the address of the function that came before.
  fileprivate var link: UInt = 0
  /// In a list: which list that is.
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

  /// - Parameter round: where it matters which list it is.
  mutating func append(_ function: QueuedFunction, _ round: UInt64 = 0) {
    function.round = round
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
    let isConcurrent = core.handOver != nil
    // Counted, then added: a closing pass closes the list, then reads the count (P7b).
    if isConcurrent { core.closing.enter() }
    let isAdded = core.functions.add(QueuedFunction(function, context, finalizer))
    // The closing pass may have seen the count, and waits until it is gone.
    if isConcurrent, !isAdded { _ = core.closing.leave() }
    if isAdded || isConcurrent { core.control.wake() }
    return isAdded ? .ok : unknown(id)
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

import Synchronization

/// The wait-for graph: the threads that wait, and what each waits for, so that a wait that could never end is noticed
/// before it begins.
///
/// The end of a callback wakes the threads that wait for its timer, and looks for them only if the timer's word says
/// that there are any. The end of a `sync` function wakes its caller; the end of a queue wakes those who wait for the
/// queue. Other operations pay nothing.
enum WaitRegistry: ProcessState {
  /// What is waited for.
  enum Subject: Sendable {
    /// The end of the running callback, and of what it has started again if the wait is a cancel's.
    case timer(TimerRef, cancels: Bool)
    /// The queue's end.
    case queue(QueueCore)
    /// The queue's end, or that of its execution context.
    case context(QueueCore)
    /// The end of a function, or the certainty that it will not run.
    case call(SyncCall)

    var isOver: Bool {
      switch self {
      case .timer(let timer, _): !timer.isBusy
      case .queue(let core): core.closing.isOver
      case .context(let core): core.closing.isOver || core.driver.hasEnded
      case .call(let call): call.isOver
      }
    }

    /// The queue that has to run for that; `nil` if it has ended.
    var core: QueueCore? {
      switch self {
      case .timer(let timer, _): timer.control.core
      case .queue(let core), .context(let core): core
      case .call(let call): call.core
      }
    }
  }

  /// A waiting thread, its node in the wait-for graph, and what it waits for.
  final class Waiter: @unchecked Sendable {
    // Unchecked for the variables, which are guarded by the registry's lock.
    let subject: Subject
    let node: WaitNode
    let wakeUp: WakeUp
    /// The next in the registry.
    fileprivate var next: Waiter?
    /// While a cycle is looked for: whether it was reached.
    fileprivate var isReached = false

    init(_ subject: Subject, _ node: WaitNode = .current, _ wakeUp: WakeUp = WakeUp()) {
      self.subject = subject
      self.node = node
      self.wakeUp = wakeUp
    }

    /// The thread did not wait, because it would have waited for itself.
    @inline(never)
    var wouldDeadlock: Status {
      switch subject {
      case .timer(let timer, _): node.blocks(subject) ? timer.callerIsInside : timer.waitsForCaller
      case .queue(let core), .context(let core): QueueControlBlock.waitsForCaller(core.id)
      case .call(let call): QueueControlBlock.waitsForCaller(call.core.id)
      }
    }

    /// What it waits for has not happened.
    @inline(never)
    func timedOut(_ timeout: Int64) -> Status {
      switch subject {
      case .timer(let timer, _):
        Status.timedOut.because("a handler of timer (%u) has not returned for %t", Int64(bitPattern: timer.id), timeout)
      case .queue(let core), .context(let core):
        Status.timedOut.because("a callback of queue (%u) has not returned for %t", Int64(bitPattern: core.id), timeout)
      case .call: Status.timedOut
      }
    }
  }

  /// The newest of them; each holds the one before.
  private static let newest = Locked<Waiter?>(nil)
  /// Somebody who would wake others has found the registry taken: whoever has it wakes all (P6c).
  private static let owesWakeUp = Atomic<Bool>(false)

  static func makeGlobals() {
    newest.withLock { _ in }
    _ = owesWakeUp.load(ordering: .relaxed)
    Pool.listeners.withLock { $0.waitersMayRun = { wakeAll() } }
  }
  static func reinitialize() {
    newest.reinitialize(nil)
    owesWakeUp.store(false, ordering: .relaxed)
  }

  /// Waits until the subject is over.
  /// - Returns: ok, timedOut, or wouldDeadlock without having waited.
  static func wait(for subject: Subject, timeout: Int64) -> Status {
    if subject.isOver { return .ok }
    let waiter = Waiter(subject)
    return registering(waiter) { () throws(Forked) in
      let end = Clock.monotonic.now.saturatingAdd(timeout)
      while !subject.isOver {
        if case .timer(let timer, _) = subject, !timer.slot.requestWakeUp(of: timer.version) { break }
        // Nobody else may ever run it.
        if let core = subject.core, try core.driver.runStarvingTurn(core) { continue }
        guard waiter.wakeUp.sleep(until: end) else { return subject.isOver ? .ok : waiter.timedOut(timeout) }
      }
      return .ok
    }
  }

  /// Runs `body`, which waits, between `enter` and `leave`.
  /// - Returns: what `body` gives; wouldDeadlock without having waited; forked, and has not left.
  static func registering(_ waiter: Waiter, _ body: () throws(Forked) -> Status) -> Status {
    guard enter(waiter) else { return waiter.wouldDeadlock }
    do throws(Forked) {
      let status = try body()
      leave(waiter)
      return status
    } catch {
      return .inChild
    }
  }

  /// Adds a thread that is going to wait; false if that would close a cycle of the wait-for graph. If two
  /// begin at the same moment, the second finds the first.
  static func enter(_ waiter: Waiter) -> Bool {
    changeWaiters { newest in
      if !waiter.node.blocksNothing, closesCycle(waiter, newest) { return false }
      waiter.next = newest
      newest = waiter
      return true
    }
  }

  /// The wait is over. Harmless for a thread that is not registered.
  static func leave(_ waiter: Waiter) {
    changeWaiters { newest in
      if newest === waiter {
        newest = waiter.next
      } else {
        var before = newest
        while let current = before, current.next !== waiter { before = current.next }
        guard let before else { return }
        before.next = waiter.next
      }
      waiter.next = nil
    }
  }

  static func changeWaiters<Result>(_ body: (inout Waiter?) -> Result) -> Result {
    let result = newest.withLock(body)
    wakeWhoIsOwed()
    return result
  }

  /// Whether a thread waits for the end of a timer that it has cancelled; false where another thread is in the registry: who
  /// waits cancels again (P6).
  static func hasCancelled(_ index: SlotIndex) -> Bool {
    newest.withLockIfFree { newest in
      Waiters(first: newest).contains {
        if case .timer(let timer, cancels: true) = $0.subject { timer.slot.index == index } else { false }
      }
    } ?? false
  }

  /// Wakes the threads that wait for a timer whose word says that there are any (P6).
  @inline(never)
  static func timerEnded(_ index: SlotIndex) {
    wake { if case .timer(let timer, _) = $0 { timer.slot.index == index } else { false } }
  }

  /// Wakes whoever waits for a queue, or for a function on it, when the queue or its execution context has ended. Who
  /// enters behind this sees the end when it looks whether its wait is over (P6b).
  static func queueEnded(_ core: QueueCore) {
    wake { subject in
      switch subject {
      case .queue(let other), .context(let other): other === core
      case .call(let call): call.core === core
      case .timer: false
      }
    }
  }

  /// Lets all who wait look whether they can do what they wait for.
  static func wakeAll() { wake { _ in true } }

  /// Ticks and ends of queues come here: they wait for nobody who begins or ends a wait.
  private static func wake(_ isMeant: (Subject) -> Bool) {
    let isDone: Void? = newest.withLockIfFree { newest in
      for waiter in Waiters(first: newest) where isMeant(waiter.subject) { waiter.wakeUp.signal() }
    }
    if isDone == nil { owesWakeUp.store(true, ordering: .relaxed) }
    wakeWhoIsOwed()
  }

  /// Behind a use of the lock, or in place of one that another thread has prevented. Who owes says so, then looks at the
  /// lock; who has the lock gives it back, then looks whether something is owed: store buffering (P6c).
  private static func wakeWhoIsOwed() {
    atomicMemoryFence(ordering: .sequentiallyConsistent)
    while owesWakeUp.load(ordering: .relaxed) {
      let isDone: Void? = newest.withLockIfFree { newest in
        if !owesWakeUp.exchange(false, ordering: .acquiringAndReleasing) { return }
        for waiter in Waiters(first: newest) { waiter.wakeUp.signal() }
      }
      if isDone == nil { return }
      atomicMemoryFence(ordering: .sequentiallyConsistent)
    }
  }

  private static func closesCycle(_ new: Waiter, _ newest: Waiter?) -> Bool {
    for waiter in Waiters(first: newest) { waiter.isReached = false }
    return leads(new.subject, to: new.node, newest)
  }

  /// A depth-first search of the graph: whether a subject waits, by whatever way, for the new waiter. A wait that is over
  /// blocks nothing, though its thread may not know yet. Calls itself as deep as waits inside callbacks wait for each other.
  private static func leads(_ subject: Subject, to new: WaitNode, _ newest: Waiter?) -> Bool {
    if new.blocks(subject) { return true }
    for waiter in Waiters(first: newest) where !waiter.isReached && waiter.node.blocks(subject) {
      if waiter.subject.isOver { continue }
      waiter.isReached = true
      if leads(waiter.subject, to: new, newest) { return true }
    }
    return false
  }

  /// All in the registry.
  private struct Waiters: Sequence, IteratorProtocol {
    var first: Waiter?

    mutating func next() -> Waiter? {
      defer { first = first?.next }
      return first
    }
  }
}

/// The calling thread's node, and its edges: whether a subject waits for it.
extension WaitNode {
  static var current: WaitNode { WaitNode(chain: ThreadState.frames, contexts: .current) }

  /// Whether the subject cannot go on while this thread waits.
  func blocks(_ subject: WaitRegistry.Subject) -> Bool {
    switch subject {
    case .timer(let timer, _): chain.contains { $0.slot == timer.slot.index }
    case .queue(let core), .context(let core): blocks(core)
    case .call(let call): blocks(call.core)
    }
  }

  private func blocks(_ core: QueueCore) -> Bool {
    if chain.holds(core.control) { return true }
    guard let context = core.driver.executionContext else { return false }
    return contexts.contains(context) || chain.contains { $0.contexts.contains(context) }
  }
}

/// A function that one thread waits for while it runs on another, inside the same callbacks as the waiting thread.
package final class SyncCall: @unchecked Sendable {
  private enum Phase {
    case waiting, started, done
    /// It will not run: its caller has given up, or the queue has ended.
    case dropped
  }

  private let phase = Locked(Phase.waiting)
  let core: QueueCore
  private let caller = WaitNode.current
  // Called on the queue's thread while the caller waits, so never by two threads at once.
  private let body: () -> Void
  private let wakeUp = WakeUp()

  private init(_ core: QueueCore, _ body: @escaping () -> Void) {
    self.core = core
    self.body = body
  }

  /// Puts a function on the queue, behind those that are there, and waits until it has begun, at most until the timeout,
  /// then until it has ended.
  static func wait(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    let call = SyncCall(core, body)
    let waiter = WaitRegistry.Waiter(.call(call), call.caller, call.wakeUp)
    return WaitRegistry.registering(waiter) { () throws(Forked) in try call.wait(timeout: timeout) }
  }

  private func wait(timeout: Int64) throws(Forked) -> Status {
    let function = SyncFunction(self)
    if !core.functions.add(function) { return .queueHasEnded }
    core.control.wake()
    var end = Clock.monotonic.now.saturatingAdd(timeout)
    while !isOver {
      // The pool may have no thread for the queue: then this one gives it its turn.
      if try core.driver.runStarvingTurn(core) || wakeUp.sleep(until: end) { continue }
      if drop() {
        core.functions.remove(function)
        // A pass may have gone on without the other functions.
        core.control.wake()
        return Status.timedOut.because(
          "the function has had no turn on queue (%u) for %t", Int64(bitPattern: core.id), timeout)
      }
      end = .max
    }
    // Only the queue's end can end this before the function has had its turn; a function that has begun always
    // completes.
    if drop() { return .queueHasEnded }
    while !hasRun { _ = wakeUp.sleep(until: .max) }
    return phase.withLock { $0 } == .dropped ? .queueHasEnded : .ok
  }

  /// In the function's turn: runs it, unless its caller has given up.
  func run() throws(Forked) {
    guard leave(for: .started) else { return }
    try ThreadState.inside(core.control, continuing: caller) { _ throws(Forked) in try Fork.guarded(body) }
    phase.withLock { $0 = .done }
    wakeUp.signal()
  }

  /// Whether the function has run, or will not.
  private var hasRun: Bool {
    let phase = phase.withLock { $0 }
    return phase == .done || phase == .dropped
  }

  /// Whether nothing is left to wait for, unless the function has begun.
  var isOver: Bool { hasRun || core.closing.isOver }

  /// The queue has ended before its turn.
  func refuse() {
    if drop() { wakeUp.signal() }
  }

  /// Gives up a function that has not begun.
  private func drop() -> Bool { leave(for: .dropped) }

  private func leave(for next: Phase) -> Bool {
    phase.withLock { phase in
      if phase != .waiting { return false }
      phase = next
      return true
    }
  }
}

/// A `sync` call's place in the list of functions.
final class SyncFunction: QueuedFunction, @unchecked Sendable {
  private let call: SyncCall

  init(_ call: SyncCall) {
    self.call = call
    super.init(.record, .none, nil)
  }

  override func run() throws(Forked) { try call.run() }
  override func drop() throws(Forked) { call.refuse() }
}

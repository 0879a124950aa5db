import Synchronization

/// Functions on a queue: `async`, and `sync`, which makes a serial queue a mutex.
extension QueueCore {
  /// The queue with that id; `nil` if the id is stale.
  package static func find(_ id: UInt64) -> QueueCore? {
    guard let core = QueueControlBlocks.find(id)?.core, core.id == id else { return nil }
    return core
  }

  /// Puts a function on the queue; its context passes to Chime.
  /// - Parameter function: `nil` on a queue that gives records, and only there: it gives just the record.
  package static func async(
    _ id: UInt64, _ function: ContextFunction?, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    if function != nil, core.givesRecords {
      return Status.unsupported.because("queue gives records: function must be NULL there")
    }
    guard let function = function ?? (core.givesRecords ? .record : nil) else {
      return Status.invalidArgument.because("function is NULL, and queue gives no records")
    }
    let item = QueuedFunction(function, context, finalizer)
    if let handOver = core.handOver {
      // Counted first, then checked: a closing pass reads the count after it has closed the list (P7b,
      // Sources/README.md).
      core.outstanding.add(1, ordering: .sequentiallyConsistent)
      guard core.functions.withLock({ $0.isOpen }) else {
        core.outstanding.subtract(1, ordering: .sequentiallyConsistent)
        // The closing pass may have seen the count and waits until it is gone.
        core.control.wake()
        return .invalidHandle
      }
      withoutCancellation { handOver.add(item) }
      return .ok
    }
    let accepted = core.functions.withLock { functions in
      guard functions.isOpen else { return false }
      functions.waiting.append(item)
      core.functionsWait.store(true, ordering: .sequentiallyConsistent)
      return true
    }
    guard accepted else { return .invalidHandle }
    core.control.wake()
    return .ok
  }

  /// On a concurrent queue: runs a function that was counted as outstanding.
  func runHandedOver(_ item: QueuedFunction) {
    if isClosing.load(ordering: .sequentiallyConsistent) {
      item.drop()
    } else {
      withHooks { ThreadState.inside(control) { _ in item.run() } }
    }
    if isAbandoned { return }
    outstanding.subtract(1, ordering: .sequentiallyConsistent)
    if isClosing.load(ordering: .sequentiallyConsistent) { control.wake() }
  }

  /// Runs `body` in mutual exclusion with the queue's handlers. Waits for a handler.
  /// - Parameter timeout: 0 or more: for the turn of `body`; `Int64.max` without limit.
  package static func sync(_ id: UInt64, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    if core.handOver != nil {
      return Status.unsupported.because("queue is concurrent: its handlers do not exclude each other")
    }
    let isInside = ThreadState.frames.holds(core.control) || core.driver.isOnQueue
    if isInside {
      ThreadState.inside(core.control) { _ in body() }
      return .ok
    }
    let status = core.driver.sync(core, timeout: timeout, body)
    if status != .unsupported { return status }
    return status.because("queue is driven by calls of another thread: use chime_queue_async")
  }

  /// Takes the next waiting function. All waiting functions are taken out under the lock at once, and kept for the
  /// passes.
  func nextFunction() -> QueuedFunction? {
    if takenFunctions.isEmpty {
      functions.withLock { functions in
        swap(&functions.waiting, &takenFunctions)
        functionsWait.store(false, ordering: .sequentiallyConsistent)
      }
    }
    return takenFunctions.popFirst()
  }

  /// Whether functions are waiting for a pass. The caller is a pass.
  var hasFunctions: Bool {
    !takenFunctions.isEmpty || functionsWait.load(ordering: .sequentiallyConsistent)
  }
}

/// A function that one thread waits for while it runs on another, inside the same callbacks as the waiting thread.
package final class SyncCall: @unchecked Sendable {
  private enum Phase {
    case waiting, started, done, abandoned, refused
  }

  private let phase = Locked(Phase.waiting)
  let core: QueueCore
  private let caller = Standing.current
  // Called on the queue's thread while the caller waits, so never by two threads at once.
  private let body: () -> Void
  private let wakeUp = WakeUp()

  private init(_ core: QueueCore, _ body: @escaping () -> Void) {
    self.core = core
    self.body = body
  }

  /// Gives a function to `submit`, and waits until it has begun, at most until the timeout, then until it has ended.
  /// - Parameter submit: arranges for `run` to be called on the queue; or says why not: shutDown, noMemory, limit.
  static func wait(
    _ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void, submit: (SyncCall) -> Status
  ) -> Status {
    let call = SyncCall(core, body)
    let waiter = WaitRegistry.Waiter(.call(call), call.caller, call.wakeUp)
    guard WaitRegistry.enter(waiter) else { return .wouldDeadlock }
    defer { WaitRegistry.leave(waiter) }
    let submitted = submit(call)
    if submitted != .ok { return submitted }
    var end = Clock.monotonic.now.saturatingAdd(timeout)
    while !call.isOver {
      if call.wakeUp.sleep(until: end) { continue }
      if call.abandon() { return .timedOut }
      end = .max
    }
    // Only the queue's end can end this before the function has had its turn; a function that has begun always
    // completes.
    if call.abandon() { return .shutDown }
    while !call.hasRun { _ = call.wakeUp.sleep(until: .max) }
    return call.phase.withLock { $0 } == .refused ? .shutDown : .ok
  }

  /// On the queue: runs the function unless its caller has given up, or the queue has ended.
  func run() {
    if core.isClosing.load(ordering: .sequentiallyConsistent) {
      if move(.waiting, .refused) { wakeUp.signal() }
      return
    }
    guard move(.waiting, .started) else { return }
    core.asHost {
      core.withHooks { ThreadState.inside(core.control, continuing: caller) { _ in body() } }
    }
    if core.isAbandoned { return }
    phase.withLock { $0 = .done }
    wakeUp.signal()
  }

  /// Whether the function has run, or will not.
  private var hasRun: Bool {
    let phase = phase.withLock { $0 }
    return phase == .done || phase == .refused
  }

  /// Whether nothing is left to wait for, unless the function has begun.
  var isOver: Bool { hasRun || core.closed.load(ordering: .sequentiallyConsistent) }

  /// Gives up a function that has not begun.
  private func abandon() -> Bool { move(.waiting, .abandoned) }

  private func move(_ from: Phase, _ to: Phase) -> Bool {
    phase.withLock { phase in
      if phase != from { return false }
      phase = to
      return true
    }
  }
}

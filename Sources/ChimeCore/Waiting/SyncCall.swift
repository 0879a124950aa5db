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

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
  func runHandedOver(_ item: QueuedFunction) {
    ThreadState.inside(control) { _ in withHooks { closing.hasBegun ? item.drop() : item.run() } }
    if isAbandoned { return }
    if closing.leave() { control.wake() }
  }

  /// Runs `body` in mutual exclusion with the queue's handlers. Waits for a handler.
  /// - Parameter timeout: 0 or more: for the turn of `body`; `Int64.max` without limit.
  package static func sync(_ id: UInt64, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    guard let core = find(id) else { return unknown(id) }
    if core.handOver != nil {
      return Status.unsupported.because("queue is concurrent: its handlers do not exclude each other")
    }
    if ThreadState.frames.holds(core.control) || core.driver.isOnQueue {
      ThreadState.inside(core.control) { _ in body() }
      return .ok
    }
    guard core.driver.takesSync else {
      return Status.unsupported.because("queue has no thread: use chime_queue_async, or a call that drives it")
    }
    return core.driver.runInTurn(core, timeout: timeout, body) ?? SyncCall.wait(core, timeout: timeout, body)
  }
}

import Dispatch
import Synchronization

/// Functions on a queue: `async`, and `sync`, which makes a serial queue a mutex.
extension QueueCore {
  /// The queue with that id; `nil` when it is stale.
  package static func find(_ id: UInt64) -> QueueCore? {
    guard let core = QueueCells.find(id)?.core, core.id == id else { return nil }
    return core
  }

  /// Puts a function on the queue; its context passes to Chime.
  /// - Parameter function: `nil` on a queue that gives records, and there only: the record is all that comes.
  package static func async(
    _ id: UInt64, _ function: ContextFunction?, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    if function != nil, core.givesRecords { return .unsupported }
    guard let function = function ?? (core.givesRecords ? .record : nil) else { return .invalidArgument }
    let item = QueuedFunction(function: function, context: context, finalizer: finalizer)
    if let handOver = core.handOver {
      // Counted first, then checked: a closing pass reads the count after it has closed the list.
      core.outstanding.add(1, ordering: .sequentiallyConsistent)
      guard core.functions.withLock({ $0.isOpen }) else {
        core.outstanding.subtract(1, ordering: .sequentiallyConsistent)
        // The closing pass may have seen the count, and waits to hear that it has gone.
        core.cell.wake()
        return .invalidHandle
      }
      handOver {
        if core.isClosing.load(ordering: .sequentiallyConsistent) {
          item.drop()
        } else {
          core.withHooks { ThreadState.current.inside(core.cell) { _ in item.run() } }
        }
        if core.isAbandoned { return }
        core.outstanding.subtract(1, ordering: .sequentiallyConsistent)
        if core.isClosing.load(ordering: .sequentiallyConsistent) { core.cell.wake() }
      }
      return .ok
    }
    let accepted = core.functions.withLock { functions in
      if functions.isOpen { functions.items.append(item) }
      return functions.isOpen
    }
    guard accepted else { return .invalidHandle }
    core.cell.wake()
    return .ok
  }

  /// Runs `body` in mutual exclusion with the queue's handlers. Waits for a handler.
  /// - Parameter timeout: 0 or more: for the turn of `body`; `Int64.max` without end.
  package static func sync(_ id: UInt64, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    if core.handOver != nil { return .unsupported }
    let isInside = ThreadState.frames.holds(.queue(core.cell)) || core.adapter.isOnQueue
    if isInside {
      ThreadState.current.inside(core.cell) { _ in body() }
      return .ok
    }
    return core.adapter.sync(core, timeout: timeout, body)
  }
}

/// A function that one thread waits for while it runs on another, behind the callbacks that the waiting thread is
/// inside.
package final class SyncCall: @unchecked Sendable {
  private enum Phase: UInt8, AtomicRepresentable {
    case waiting, started, done, abandoned, refused
  }

  private let phase = Atomic<Phase>(.waiting)
  private let core: QueueCore
  private let chain: FrameChain
  // Called on the queue's thread while the caller waits, so never by two threads at once.
  private let body: () -> Void

  package init(_ core: QueueCore, _ body: @escaping () -> Void) {
    self.core = core
    self.body = body
    chain = ThreadState.frames
  }

  /// On the queue: runs the function unless its caller has given up, or the queue has ended.
  package func run() {
    if core.isClosing.load(ordering: .sequentiallyConsistent) {
      if move(.waiting, .refused) { WaitRegistry.somethingEnded() }
      return
    }
    guard move(.waiting, .started) else { return }
    core.withHooks { ThreadState.current.inside(core.cell, continuing: chain) { _ in body() } }
    if core.isAbandoned { return }
    phase.store(.done, ordering: .sequentiallyConsistent)
    WaitRegistry.somethingEnded()
  }

  /// On the caller's thread: waits for the function's turn until the timeout, and for its end without one.
  package func wait(timeout: Int64) -> Status {
    let isDone = {
      let phase = self.phase.load(ordering: .sequentiallyConsistent)
      return phase == .done || phase == .refused
    }
    let isOver = { isDone() || self.core.closed.load(ordering: .sequentiallyConsistent) }
    let status = WaitRegistry.wait(for: .queue(core.cell), timeout: timeout, until: isOver)
    if move(.waiting, .abandoned) { return status == .ok ? .shutDown : status }
    while WaitRegistry.wait(for: .queue(core.cell), timeout: .max, until: isDone) != .ok {
      var backoff = Backoff()
      while !isDone() { backoff.pause() }
    }
    return phase.load(ordering: .sequentiallyConsistent) == .refused ? .shutDown : .ok
  }

  private func move(_ from: Phase, _ to: Phase) -> Bool {
    phase.compareExchange(expected: from, desired: to, ordering: .sequentiallyConsistent).exchanged
  }
}

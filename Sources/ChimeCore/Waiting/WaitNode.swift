import Synchronization

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

extension ExecutionContexts {
  static var current: ExecutionContexts {
    ExecutionContexts(
      isMain: hasMainQueue.load(ordering: .relaxed) && MainThread.isHere, dispatchQueue: WorkQueue.current,
      thread: hasRunLoops.load(ordering: .relaxed) ? ThreadNumber.current : 0)
  }
}

import Synchronization

/// What the calling thread holds up, and whether that is what somebody waits for.
extension WaitNode {
  /// What the calling thread holds up.
  static var current: WaitNode { WaitNode(chain: ThreadState.frames, contexts: .current) }

  /// Whether the subject cannot go on while this thread waits.
  func holds(_ subject: WaitRegistry.Subject) -> Bool {
    switch subject {
    case .timer(let timer, _): chain.contains { $0.slot == timer.slot.index }
    case .queue(let core), .context(let core): holds(core)
    case .call(let call): holds(call.core)
    }
  }

  private func holds(_ core: QueueCore) -> Bool {
    if chain.holds(core.control) { return true }
    guard let context = core.driver.executionContext else { return false }
    return contexts.contains(context) || chain.contains { $0.contexts.contains(context) }
  }
}

extension ExecutionContexts {
  static var current: ExecutionContexts {
    ExecutionContexts(
      isMain: MainQueue.isUsed && MainQueue.isHere, dispatchQueue: WorkQueue.current,
      thread: hasRunLoops.load(ordering: .relaxed) ? ThreadNumber.current : 0)
  }
}

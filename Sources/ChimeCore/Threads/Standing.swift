import Synchronization

/// What a thread holds up while it waits: the things that other threads can wait for.
///
/// It holds up the callbacks that it is inside, and the execution contexts that are bound to it: the main queue on the
/// main thread, a dispatch queue of the host's, a run loop's thread. A function that runs for a waiting thread also
/// holds up what that thread does.
@safe struct Standing: @unchecked Sendable {
  // Unchecked: the chain is followed only while its owner runs this code or waits for it.
  let chain: FrameChain
  let contexts: ExecutionContexts

  /// What the calling thread holds up.
  static var current: Standing { Standing(chain: ThreadState.frames, contexts: .current) }

  var isNowhere: Bool { chain.isEmpty && contexts.isEmpty }

  /// Whether the subject cannot go on while this thread waits.
  func holds(_ subject: WaitRegistry.Subject) -> Bool {
    switch subject {
    case .timer(let timer): chain.contains { $0.slot == timer.slot.index }
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

/// What a queue's callbacks have to share with other work of the host's.
package enum ExecutionContext: Equatable {
  /// libdispatch's main queue, and the main thread.
  case main
  /// A dispatch queue of the host's, by its address.
  case dispatchQueue(UInt)
  /// The thread of a run loop, by its `ThreadNumber`.
  case thread(UInt64)
}

/// The execution contexts that one thread is in.
package struct ExecutionContexts {
  var isMain = false
  /// 0: none.
  var dispatchQueue: UInt = 0
  /// 0: none.
  var thread: UInt64 = 0

  /// Whether a queue was ever created on a run loop: only then is a thread an execution context. It stays true after a
  /// fork; it is a hint, and a wrong one costs little.
  package static let hasRunLoops = Atomic<Bool>(false)

  static var current: ExecutionContexts {
    ExecutionContexts(
      isMain: MainQueue.isUsed && MainQueue.isHere, dispatchQueue: WorkQueue.current,
      thread: hasRunLoops.load(ordering: .relaxed) ? ThreadNumber.current : 0)
  }

  var isEmpty: Bool { !isMain && dispatchQueue == 0 && thread == 0 }

  func contains(_ context: ExecutionContext) -> Bool {
    switch context {
    case .main: isMain
    case .dispatchQueue(let queue): queue != 0 && queue == dispatchQueue
    case .thread(let thread): thread != 0 && thread == self.thread
    }
  }
}

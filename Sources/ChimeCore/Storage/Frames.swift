/// A part of a thread's stack in which it runs callbacks of a queue; it lives on that stack. A function that runs for a
/// waiting thread (`chime_queue_sync`) continues the waiting thread's chain, and counts as inside the same callbacks.
struct Frame {
  var control: QueueControlBlock
  let thread: ThreadState
  /// The timer whose callback or finalizer is running; nil for functions and their finalizers.
  var slot: SlotIndex?
  fileprivate var previous: CurrentFrame?
  /// Of the waiting thread, if there is one.
  var contexts: ExecutionContexts
}

extension ThreadState {
  /// Runs `body` as a callback stretch of a queue on the calling thread (see `Frame`).
  static func inside<Result>(
    _ control: QueueControlBlock, continuing caller: WaitNode? = nil, _ body: (CurrentFrame) throws(Forked) -> Result
  ) throws(Forked) -> Result {
    if let thread = obtain() { return try thread.inside(control, continuing: caller, body) }
    var result: Result?
    try withStateForNow { thread throws(Forked) in result = try thread.inside(control, continuing: caller, body) }
    // SAFETY: set, or thrown.
    return unsafe result.unsafelyUnwrapped
  }

  /// Runs `body` as if another thread did, outside the callbacks that the calling one is inside: a callback in it that ends
  /// its thread does not end this one.
  static func outsideCallbacks(_ body: () throws(Forked) -> Void) throws(Forked) {
    let outer = existing?.storage.frame
    let hasEnded = existing?.hasEnded ?? false
    existing?.storage.frame = nil
    defer {
      if let thread = existing {
        thread.storage.frame = outer
        thread.hasEnded = hasEnded
      }
    }
    try body()
  }

  /// Runs `body` as a frame of a queue's callbacks, behind `previous` or this thread's own chain. With the handle that
  /// it gets, `body` names the timer whose callback it is about to call.
  @inline(__always)
  func inside<Result>(
    _ control: QueueControlBlock, continuing caller: WaitNode? = nil, _ body: (CurrentFrame) throws(Forked) -> Result
  ) throws(Forked) -> Result {
    let outer = storage.frame
    var frame = Frame(
      control: control, thread: self, slot: nil, previous: caller?.chain.innermost ?? outer,
      contexts: caller?.contexts ?? ExecutionContexts())
    // SAFETY: the frame lives until body returns, and is taken off the chain before.
    return try unsafe withUnsafeMutablePointer(to: &frame) { pointer throws(Forked) in
      let current = unsafe CurrentFrame(pointer)
      storage.frame = current
      defer { storage.frame = outer }
      return try body(current)
    }
  }

  /// The callbacks that the calling thread is inside.
  static var frames: FrameChain { FrameChain(innermost: existing?.storage.frame) }
}

/// The frame that is running, for whoever runs in it.
@safe struct CurrentFrame {
  // SAFETY: valid inside the `inside` call that made it.
  let pointer: UnsafeMutablePointer<Frame>

  init(_ pointer: UnsafeMutablePointer<Frame>) { unsafe self.pointer = pointer }

  fileprivate var frame: Frame {
    unsafeAddress { unsafe UnsafePointer(pointer) }
    nonmutating unsafeMutableAddress { unsafe pointer }
  }

  var thread: ThreadState { frame.thread }

  var slot: SlotIndex? {
    get { frame.slot }
    nonmutating set { frame.slot = newValue }
  }
}

/// The callbacks a thread is inside, innermost first.
struct FrameChain: Sequence, IteratorProtocol, @unchecked Sendable {
  // Unchecked: followed only while the thread that owns the frames runs this code or waits for it.
  fileprivate private(set) var innermost: CurrentFrame?

  var isEmpty: Bool { innermost == nil }

  /// Whether the thread is inside a callback of the queue.
  func holds(_ control: QueueControlBlock) -> Bool { contains { $0.control == control } }

  mutating func next() -> Frame? {
    guard let current = innermost else { return nil }
    innermost = current.frame.previous
    return current.frame
  }
}

/// A node of the wait-for graph: what a thread blocks while it waits.
///
/// It blocks the callbacks that it is inside, and the execution contexts that are bound to it: the main queue on the main
/// thread, a dispatch queue of the host's, a run loop's thread. A function that runs for a waiting thread also blocks what
/// that thread does.
struct WaitNode: @unchecked Sendable {
  // Unchecked: the chain is followed only while its owner runs this code or waits for it.
  let chain: FrameChain
  let contexts: ExecutionContexts

  var blocksNothing: Bool { chain.isEmpty && contexts.isEmpty }
}

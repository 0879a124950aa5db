internal import CPlatform
import Synchronization

/// What Chime keeps for a thread: a few free slots of the queues it uses, a counter of activations, and the chain of
/// queues and timers whose callbacks it is inside. Made when first needed, freed when the thread ends.
@unsafe struct ThreadStorage {
  /// The innermost callback that this thread is inside; nil outside callbacks.
  var frame: UnsafeMutablePointer<Frame>?
  var activationSequence: UInt32 = 0
  /// A callback has ended the thread (see `ThreadEnd`).
  var hasEnded = false
  /// The fork since which it has been in use (P9).
  var epoch = Fork.epoch
  /// Where the call is that passes the thread's end on: see `ThreadState.isAtBoundary`.
  var boundary: UnsafeMutableRawPointer?
  /// The thread's run loop, retained; nil until it is asked for.
  var loop: Unmanaged<ThreadLoop>?
  /// Whether the thread is inside the host's trace function.
  var isTracing = false
  var caches: (ThreadCacheStorage, ThreadCacheStorage, ThreadCacheStorage, ThreadCacheStorage) = unsafe (
    .init(), .init(), .init(), .init()
  )
  /// In the list of all; the next and the one before.
  var isListed = false
  var next: UnsafeMutablePointer<ThreadStorage>?
  var previous: UnsafeMutablePointer<ThreadStorage>?
  /// Held as long as the thread lives.
  var life = unsafe chime_life()
}

/// A part of a thread's stack in which it runs callbacks of a queue; it lives on that stack. A function that runs for a
/// waiting thread (`queue_sync`) continues the waiting thread's chain, and counts as inside the same callbacks.
@safe struct Frame {
  var control: QueueControlBlock
  /// The timer whose callback is running; nil for functions and finalizers.
  var slot: UInt32?
  // SAFETY: followed by `FrameChain` only.
  fileprivate var previous: UnsafeMutablePointer<Frame>?
  /// Of the waiting thread, if there is one.
  var contexts: ExecutionContexts
}

@unsafe struct ThreadCacheStorage {
  var control: UnsafeMutablePointer<QueueControlBlockStorage>?
  /// How many slots were ever put in and taken out; the ring has room for 64.
  var pushed: UInt32 = 0
  var popped: UInt32 = 0
  /// In place, and without InlineArray, which macOS 26 was the first to have.
  var ring: (Sixteen, Sixteen, Sixteen, Sixteen) = (zeros, zeros, zeros, zeros)

  typealias Four = (UInt32, UInt32, UInt32, UInt32)
  typealias Sixteen = (Four, Four, Four, Four)
  private static var zeros: Sixteen { ((0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0), (0, 0, 0, 0)) }
}

/// A thread's free slots of one control block: first in, first out, so that a slot's generation repeats as rarely as
/// possible (P14c, P14e).
@safe struct ThreadCache {
  static var capacity: Int { 64 }
  /// The last ones are kept: that many others come before a slot is used again (P14e).
  static var kept: Int { 28 }
  /// How many there are after an exchange with the control block's list: if there were too few, and if it was full.
  static var filled: Int { 60 }
  static var halved: Int { 40 }

  // SAFETY: points into the thread's own ThreadStorage; only that thread uses it.
  let storage: UnsafeMutablePointer<ThreadCacheStorage>

  @inline(__always)
  init(_ storage: UnsafeMutablePointer<ThreadCacheStorage>) { unsafe self.storage = storage }

  @inline(__always) var count: Int { unsafe Int(storage.pointee.pushed &- storage.pointee.popped) }

  @inline(__always)
  private var ring: UnsafeMutablePointer<UInt32> {
    // SAFETY: homogeneous tuples are laid out as arrays of what they hold.
    unsafe UnsafeMutableRawPointer(withUnsafeMutablePointer(to: &storage.pointee.ring) { unsafe $0 })
      .assumingMemoryBound(to: UInt32.self)
  }

  /// The slot that has been here longest, if there are enough slots.
  @inline(__always)
  func pop() -> UInt32? { hasEnough ? takeOldest() : nil }

  @inline(__always) var hasEnough: Bool { count > ThreadCache.kept }

  /// The slot that has been here longest, if there is any.
  @inline(__always)
  func takeOldest() -> UInt32? {
    let popped = unsafe storage.pointee.popped
    if unsafe popped == storage.pointee.pushed { return nil }
    unsafe storage.pointee.popped = popped &+ 1
    return unsafe ring[Int(popped & 63)]
  }

  @inline(__always)
  func push(_ index: UInt32) -> Bool {
    let pushed = unsafe storage.pointee.pushed
    if unsafe pushed &- storage.pointee.popped == UInt32(ThreadCache.capacity) { return false }
    unsafe ring[Int(pushed & 63)] = index
    unsafe storage.pointee.pushed = pushed &+ 1
    return true
  }
}

/// This thread's state.
@safe struct ThreadState: ProcessState {
  // SAFETY: allocated for this thread, freed by the key's destructor when it ends; used by this thread only.
  let storage: UnsafeMutablePointer<ThreadStorage>

  /// The key of the thread-specific pointer, + 1; 0 until the first queue is made. Only its destructor is used: the
  /// pointer is looked up where that is cheaper.
  static let key = Atomic<UInt32>(0)

  private static let preparing = Locked(())
  static func makeGlobals() {
    preparing.withLock { _ in }
    all.withLock { _ in }
  }

  /// Makes the key; false if the process has no more. Called before the first queue exists.
  static func prepare() -> Bool {
    key.load(ordering: .acquiring) != 0 || preparing.withLock { _ in makeKey() }
  }

  /// The calling thread has no free slots any more, and no run loop.
  static func reinitialize() {
    preparing.reinitialize()
    all.reinitialize(List())
    guard let thread = existing else { return }
    unsafe thread.storage.pointee.isListed = false
    unsafe thread.storage.pointee.epoch = Fork.nextEpoch
    unsafe thread.storage.pointee.loop = nil
    for i in 0..<4 { unsafe thread.cacheAt(i).storage.initialize(to: ThreadCacheStorage()) }
  }

  private static func makeKey() -> Bool {
    if key.load(ordering: .relaxed) != 0 { return true }
    var made: UInt32 = 0
    let failed = unsafe chime_key_create(&made) { memory in
      guard let memory = unsafe memory else { return }
      unsafe ThreadState(storage: memory.assumingMemoryBound(to: ThreadStorage.self)).end()
    }
    if failed != 0 { return false }
    key.store(made + 1, ordering: .releasing)
    return true
  }

  private init(storage: UnsafeMutablePointer<ThreadStorage>) { unsafe self.storage = storage }

  /// What was made for the calling thread, if anything was.
  @inline(__always)
  static var existing: ThreadState? {
    unsafe chime_thread_state().map { memory in
      unsafe ThreadState(storage: memory.assumingMemoryBound(to: ThreadStorage.self))
    }
  }

  /// The calling thread's state, created if necessary; `nil` without memory. Only after `prepare`.
  @inline(__always)
  static func obtain() -> ThreadState? { existing ?? make() }

  /// `obtain` for calls that come before the first queue is made, too: `nil` then.
  @inline(never)
  static func obtainIfPrepared() -> ThreadState? { key.load(ordering: .acquiring) == 0 ? nil : obtain() }

  /// Runs `body` as a callback stretch of a queue on the calling thread (see below).
  static func inside<Result>(
    _ control: QueueControlBlock, continuing caller: WaitNode? = nil, _ body: (CurrentFrame) -> Result
  ) -> Result {
    if let thread = obtain() { return thread.inside(control, continuing: caller, body) }
    return withStateForNow { thread in thread.inside(control, continuing: caller, body) }
  }

  /// Runs `body` as if the calling thread were inside no callback.
  static func outsideCallbacks(_ body: () -> Void) {
    guard let thread = existing else { return body() }
    let outer = unsafe thread.storage.pointee.frame
    unsafe thread.storage.pointee.frame = nil
    defer { unsafe thread.storage.pointee.frame = outer }
    body()
  }

  /// Runs `body` with the calling thread's state; without memory for one, with one that goes afterwards.
  static func with<Result>(_ body: (ThreadState) -> Result) -> Result {
    if let thread = obtain() { return body(thread) }
    return withStateForNow(body)
  }

  /// Whether the calling thread is ending, and what was kept for it has gone.
  static var isOver: Bool { chime_thread_is_over() != 0 }

  /// With a state on the stack, for as long as it takes.
  @inline(never)
  static func withStateForNow<Result>(_ body: (ThreadState) -> Result) -> Result {
    var storage = unsafe ThreadStorage()
    // SAFETY: the thread's state is this one only until `body` has returned.
    return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      let thread = unsafe ThreadState(storage: pointer)
      unsafe chime_set_thread_state(pointer)
      defer { thread.vacate() }
      return body(thread)
    }
  }

  @inline(never)
  private static func make() -> ThreadState? {
    // A destructor of the host's, behind Chime's own: what is made now nobody would take back.
    if isOver { return nil }
    guard let memory = unsafe malloc(MemoryLayout<ThreadStorage>.size) else { return nil }
    let storage = unsafe memory.bindMemory(to: ThreadStorage.self, capacity: 1)
    unsafe storage.initialize(to: ThreadStorage())
    // A child begins with a copy of the list's lock, which another thread of the parent's may have held.
    let isListed = !Fork.isChild
    if isListed { for _ in 0..<2 { reclaimEnded() } }
    guard unsafe chime_key_set(key.load(ordering: .relaxed) &- 1, storage) == 0 else {
      unsafe free(memory)
      return nil
    }
    unsafe chime_set_thread_state(storage)
    let thread = unsafe ThreadState(storage: storage)
    unsafe chime_life_begin(&storage.pointee.life)
    if isListed { all.withLock { $0.append(thread) } }
    return thread
  }

  // MARK: Threads that have ended without a word

  /// All states, so that one is found whose thread has ended behind the last round of destructors.
  @safe private struct List {
    // SAFETY: each is in the list until it is freed.
    var first: UnsafeMutablePointer<ThreadStorage>?
    var last: UnsafeMutablePointer<ThreadStorage>?

    mutating func append(_ thread: ThreadState) {
      let storage = unsafe thread.storage
      unsafe storage.pointee.isListed = true
      unsafe storage.pointee.previous = last
      unsafe storage.pointee.next = nil
      if let last = unsafe last { unsafe last.pointee.next = storage } else { unsafe first = storage }
      unsafe last = storage
    }

    /// False for the thread of a child, whose parent has it in its list.
    mutating func takeOut(_ thread: ThreadState) -> Bool {
      if unsafe !thread.storage.pointee.isListed { return false }
      remove(thread)
      return true
    }

    mutating func remove(_ thread: ThreadState) {
      let storage = unsafe thread.storage
      let (previous, next) = unsafe (storage.pointee.previous, storage.pointee.next)
      if let previous = unsafe previous { unsafe previous.pointee.next = next } else { unsafe first = next }
      if let next = unsafe next { unsafe next.pointee.previous = previous } else { unsafe last = previous }
      unsafe storage.pointee.isListed = false
    }
  }

  private static let all = Locked(List())

  /// Looks at one state, and takes it back if its thread has ended.
  private static func reclaimEnded() {
    let left = all.withLock { list -> ThreadState? in
      guard let storage = unsafe list.first else { return nil }
      let thread = unsafe ThreadState(storage: storage)
      list.remove(thread)
      if unsafe chime_life_is_over(&storage.pointee.life) { return thread }
      list.append(thread)
      return nil
    }
    guard let left else { return }
    left.release()
    unsafe free(left.storage)
  }

  private func end() {
    // What a child has from its parent is given up: who held the locks does not exist here.
    let isOfProcess = unsafe storage.pointee.epoch == Fork.epoch
    if isOfProcess { vacate() }
    chime_set_thread_state(nil)
    chime_set_thread_over()
    if isOfProcess, !Fork.isChild, ThreadState.all.withLock({ $0.takeOut(self) }) {
      unsafe chime_life_end(&storage.pointee.life)
    }
    unsafe free(storage)
  }

  /// Releases all that the calling thread has.
  private func vacate() {
    // First, because it calls the host's finalizers, which may use Chime as before.
    loop?.end()
    loop = nil
    chime_set_thread_state(nil)
    release()
  }

  /// Releases what the thread has, which may have ended.
  private func release() {
    loop?.end()
    loop = nil
    for i in 0..<4 { evict(cacheAt(i)) }
  }

  // MARK: Activation sequence

  /// The order among this thread's activations.
  @inline(__always)
  func nextActivationSequence() -> UInt32 {
    let activationSequence = unsafe storage.pointee.activationSequence &+ 1
    unsafe storage.pointee.activationSequence = activationSequence
    return activationSequence
  }

  // MARK: The run loop

  /// The thread's run loop, if it was asked for.
  var loop: ThreadLoop? {
    get { unsafe storage.pointee.loop?.takeUnretainedValue() }
    nonmutating set {
      let old = unsafe storage.pointee.loop
      unsafe storage.pointee.loop = newValue.map { unsafe Unmanaged.passRetained($0) }
      unsafe old?.release()
    }
  }

  // MARK: What it is doing

  var isTracing: Bool {
    get { unsafe storage.pointee.isTracing }
    nonmutating set { unsafe storage.pointee.isTracing = newValue }
  }

  var hasEnded: Bool {
    get { unsafe storage.pointee.hasEnded }
    nonmutating set { unsafe storage.pointee.hasEnded = newValue }
  }

  /// Whether the call that passes the thread's end on is under way, and no callback has begun since.
  @inline(__always)
  var isAtBoundary: Bool { unsafe storage.pointee.boundary == here }

  /// Runs `body` as the call that passes the thread's end on.
  @inline(__always)
  func asBoundary<Result>(_ body: () -> Result) -> Result {
    let outer = unsafe storage.pointee.boundary
    unsafe storage.pointee.boundary = unsafe here
    defer { unsafe storage.pointee.boundary = unsafe outer }
    return body()
  }

  /// The callback that the thread is inside, or the thread.
  @inline(__always)
  private var here: UnsafeMutableRawPointer {
    unsafe storage.pointee.frame.map { UnsafeMutableRawPointer($0) } ?? UnsafeMutableRawPointer(storage)
  }

  // MARK: Caches

  /// Control blocks share the four caches by index: the offset of the one for a control block, from the first.
  static func cacheOffset(ofControlBlock index: UInt32) -> UInt32 {
    unsafe UInt32(Int(index & 3) * MemoryLayout<ThreadCacheStorage>.stride)
  }

  @inline(__always)
  private func cache(atOffset offset: Int) -> ThreadCache {
    // SAFETY: a homogeneous tuple of four caches is laid out as an array of them, and the offset is of one of them.
    let caches = unsafe UnsafeMutableRawPointer(withUnsafeMutablePointer(to: &storage.pointee.caches) { unsafe $0 })
    return unsafe ThreadCache((caches + offset).assumingMemoryBound(to: ThreadCacheStorage.self))
  }

  private func cacheAt(_ i: Int) -> ThreadCache { unsafe cache(atOffset: i * MemoryLayout<ThreadCacheStorage>.stride) }

  /// The cache that holds this control block's slots, if there is one.
  @inline(__always)
  func cache(of control: QueueControlBlock) -> ThreadCache? {
    let cache = cache(atOffset: control.cacheOffset)
    // As numbers: optional pointers are compared in two steps.
    let isOfControl = unsafe UInt(bitPattern: cache.storage.pointee.control) == UInt(bitPattern: control.storage)
    return isOfControl ? cache : nil
  }

  /// Takes the control block's entry among the caches for it, giving back the slots of another control block.
  func claimCache(for control: QueueControlBlock) -> ThreadCache {
    let cache = cache(atOffset: control.cacheOffset)
    if unsafe cache.storage.pointee.control != control.storage {
      evict(cache)
      unsafe cache.storage.pointee.control = control.storage
    }
    return cache
  }

  private func evict(_ cache: ThreadCache) {
    guard let control = unsafe cache.storage.pointee.control else { return }
    unsafe QueueControlBlock(UnsafeMutableRawPointer(control)).emptyCache(cache)
    unsafe cache.storage.pointee.control = nil
  }

  // MARK: Frames

  /// Runs `body` as a frame of a queue's callbacks, behind `previous` or this thread's own chain. With the handle that
  /// it gets, `body` names the timer whose callback it is about to call.
  @inline(__always)
  func inside<Result>(
    _ control: QueueControlBlock, continuing caller: WaitNode? = nil, _ body: (CurrentFrame) -> Result
  ) -> Result {
    let outer = unsafe storage.pointee.frame
    var frame = unsafe Frame(
      control: control, slot: nil, previous: caller?.chain.innermost ?? outer,
      contexts: caller?.contexts ?? ExecutionContexts())
    // SAFETY: the frame lives until body returns, and is taken off the chain before.
    return unsafe withUnsafeMutablePointer(to: &frame) { pointer in
      unsafe storage.pointee.frame = pointer
      defer { unsafe storage.pointee.frame = outer }
      return unsafe body(CurrentFrame(pointer, self))
    }
  }

  /// The callbacks that the calling thread is inside.
  static var frames: FrameChain {
    unsafe FrameChain(innermost: existing.map { unsafe $0.storage.pointee.frame } ?? nil)
  }
}

/// The frame that is running.
@safe struct CurrentFrame {
  // SAFETY: valid inside the `inside` call that made it.
  private let pointer: UnsafeMutablePointer<Frame>
  let thread: ThreadState

  @inline(__always)
  init(_ pointer: UnsafeMutablePointer<Frame>, _ thread: ThreadState) {
    unsafe self.pointer = pointer
    self.thread = thread
  }

  @inline(__always)
  var slot: UInt32? {
    get { unsafe pointer.pointee.slot }
    nonmutating set { unsafe pointer.pointee.slot = newValue }
  }
}

/// The callbacks a thread is inside, innermost first.
@safe struct FrameChain: Sequence, IteratorProtocol, @unchecked Sendable {
  // SAFETY: followed only while the thread that owns the frames runs this code or waits for it.
  fileprivate private(set) var innermost: UnsafeMutablePointer<Frame>?

  fileprivate init(innermost: UnsafeMutablePointer<Frame>?) { unsafe self.innermost = innermost }

  var isEmpty: Bool { unsafe innermost == nil }

  /// Whether the thread is inside a callback of the queue.
  func holds(_ control: QueueControlBlock) -> Bool { contains { $0.control == control } }

  mutating func next() -> Frame? {
    guard let frame = unsafe innermost else { return nil }
    unsafe innermost = frame.pointee.previous
    return unsafe frame.pointee
  }
}

/// What a thread holds up while it waits: the things that other threads can wait for.
///
/// It holds up the callbacks that it is inside, and the execution contexts that are bound to it: the main queue on the
/// main thread, a dispatch queue of the host's, a run loop's thread. A function that runs for a waiting thread also
/// holds up what that thread does.
@safe struct WaitNode: @unchecked Sendable {
  // Unchecked: the chain is followed only while its owner runs this code or waits for it.
  let chain: FrameChain
  let contexts: ExecutionContexts

  var isNowhere: Bool { chain.isEmpty && contexts.isEmpty }
}

/// What a thread knows of its run loop, which stands above: that it ends with the thread.
package class ThreadLoop {
  /// The thread ends: the caller is on it, or knows that it has never begun.
  func end() {}
}

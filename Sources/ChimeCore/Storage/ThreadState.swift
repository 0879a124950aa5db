internal import CPlatform
import Synchronization

/// What Chime keeps for a thread: a few free slots of the queues it uses (`ThreadCache`), a counter of activations, and
/// the chain of callbacks that it is inside (`Frame`). Made when first needed, freed when the thread ends.
@safe struct ThreadStorage {
  /// The first member: see `ThreadState.cache`.
  var caches: (ThreadCacheStorage, ThreadCacheStorage, ThreadCacheStorage, ThreadCacheStorage) = (
    .init(), .init(), .init(), .init()
  )
  /// The innermost callback that this thread is inside; nil outside callbacks.
  var frame: CurrentFrame?
  var activationSequence: UInt32 = 0
  /// The last control block that found the cache for it in another one's hands, how often in a row, and how often the cache
  /// had been used then; see `claimCacheIfWorthIt`.
  var missed: (control: QueueControlBlock?, count: Int, uses: UInt32) = (nil, 0, 0)
  /// A callback has ended the thread (see `ThreadEnd`).
  var hasEnded = false
  /// The fork since which it has been in use (P9).
  var forkMark = Fork.mark
  /// Where the call is that passes the thread's end on, 0 for none: see `ThreadState.isAtBoundary`.
  var boundary: UInt = 0
  /// The thread's run loop, retained; nil until it is asked for.
  var loop: Unmanaged<ThreadLoop>?
  /// Whether the thread is inside the host's trace function.
  var isTracing = false
  /// In the list of all; the next and the one before.
  var isListed = false
  var next: ThreadState?
  var previous: ThreadState?
  /// Held as long as the thread lives.
  var life = unsafe chime_life()
}

/// This thread's state.
@safe struct ThreadState: ProcessState {
  // SAFETY: allocated for this thread, freed by the key's destructor when it ends; used by this thread only.
  let pointer: UnsafeMutablePointer<ThreadStorage>

  var storage: ThreadStorage {
    unsafeAddress { unsafe UnsafePointer(pointer) }
    nonmutating unsafeMutableAddress { unsafe pointer }
  }

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

  /// The calling thread has no free slots any more, and no run loop; and it is inside no callback of a queue that there is.
  /// (The frames of a thread that waited for it lie on a stack that another one may have.)
  static func reinitialize() {
    preparing.reinitialize()
    all.reinitialize(List())
    guard let thread = existing else { return }
    thread.storage.isListed = false
    thread.storage.forkMark = Fork.nextMark
    unsafe thread.storage.loop = nil
    thread.storage.frame = nil
    for i in 0..<4 { unsafe thread.cacheAt(i).pointer.initialize(to: ThreadCacheStorage()) }
  }

  private static func makeKey() -> Bool {
    if key.load(ordering: .relaxed) != 0 { return true }
    var made: UInt32 = 0
    let failed = unsafe chime_key_create(&made) { memory in
      guard let memory = unsafe memory else { return }
      unsafe ThreadState(memory.assumingMemoryBound(to: ThreadStorage.self)).end()
    }
    if failed != 0 { return false }
    key.store(made + 1, ordering: .releasing)
    return true
  }

  private init(_ pointer: UnsafeMutablePointer<ThreadStorage>) { unsafe self.pointer = pointer }

  /// What was made for the calling thread, if anything was.
  static var existing: ThreadState? {
    unsafe chime_thread_state().map { memory in
      unsafe ThreadState(memory.assumingMemoryBound(to: ThreadStorage.self))
    }
  }

  /// The calling thread's state, created if necessary; `nil` without memory. Only after `prepare`.
  static func obtain() -> ThreadState? { existing ?? make() }

  /// `obtain` for calls that come before the first queue is made, too: `nil` then.
  @inline(never)
  static func obtainIfPrepared() -> ThreadState? { key.load(ordering: .acquiring) == 0 ? nil : obtain() }

  /// Runs `body` with the calling thread's state; without memory for one, with one that goes afterwards.
  static func with(_ body: (ThreadState) throws(Forked) -> Void) throws(Forked) {
    if let thread = obtain() { return try body(thread) }
    try withStateForNow(body)
  }

  /// Whether the calling thread is ending, and what was kept for it has gone.
  static var isOver: Bool { chime_thread_is_over() != 0 }

  /// With a state on the stack, for as long as it takes.
  @inline(never)
  static func withStateForNow(_ body: (ThreadState) throws(Forked) -> Void) throws(Forked) {
    var storage = ThreadStorage()
    // SAFETY: the thread's state is this one only until `body` has returned.
    try unsafe withUnsafeMutablePointer(to: &storage) { pointer throws(Forked) in
      let thread = unsafe ThreadState(pointer)
      unsafe chime_set_thread_state(pointer)
      defer { thread.vacate() }
      try body(thread)
    }
  }

  @inline(never)
  private static func make() -> ThreadState? {
    // A destructor of the host's, behind Chime's own: what is made now nobody would take back.
    if isOver { return nil }
    guard let memory = unsafe malloc(MemoryLayout<ThreadStorage>.size) else { return nil }
    let pointer = unsafe memory.bindMemory(to: ThreadStorage.self, capacity: 1)
    unsafe pointer.initialize(to: ThreadStorage())
    // A child begins with a copy of the list's lock, which another thread of the parent's may have held.
    for _ in 0..<2 where !Fork.isChild { try? reclaimEnded() }
    let isListed = !Fork.isChild
    guard unsafe chime_key_set(key.load(ordering: .relaxed) &- 1, pointer) == 0 else {
      unsafe free(memory)
      return nil
    }
    unsafe chime_set_thread_state(pointer)
    let thread = unsafe ThreadState(pointer)
    unsafe chime_life_begin(&thread.storage.life)
    if isListed { all.withLock { $0.append(thread) } }
    return thread
  }

  // MARK: Threads that have ended without a word

  /// All states, so that one is found whose thread has ended behind the last round of destructors.
  private struct List {
    var first: ThreadState?
    var last: ThreadState?

    mutating func append(_ thread: ThreadState) {
      thread.storage.isListed = true
      thread.storage.previous = last
      thread.storage.next = nil
      if let last { last.storage.next = thread } else { first = thread }
      last = thread
    }

    /// False for the thread of a child, whose parent has it in its list.
    mutating func takeOut(_ thread: ThreadState) -> Bool {
      if !thread.storage.isListed { return false }
      remove(thread)
      return true
    }

    mutating func remove(_ thread: ThreadState) {
      let (previous, next) = (thread.storage.previous, thread.storage.next)
      if let previous { previous.storage.next = next } else { first = next }
      if let next { next.storage.previous = previous } else { last = previous }
      thread.storage.isListed = false
    }
  }

  private static let all = Locked(List())

  /// Looks at one state, and takes it back if its thread has ended.
  @inline(never)
  private static func reclaimEnded() throws(Forked) {
    let left = all.withLock { list -> ThreadState? in
      guard let thread = list.first else { return nil }
      list.remove(thread)
      if unsafe chime_life_is_over(&thread.storage.life) { return thread }
      list.append(thread)
      return nil
    }
    guard let left else { return }
    try left.release()
    unsafe free(left.pointer)
  }

  private func end() {
    // What a child has from its parent is given up: who held the locks does not exist here.
    let isOfProcess = storage.forkMark == Fork.mark
    if isOfProcess { vacate() }
    chime_set_thread_state(nil)
    chime_set_thread_over()
    if isOfProcess, !Fork.isChild, ThreadState.all.withLock({ $0.takeOut(self) }) {
      unsafe chime_life_end(&storage.life)
    }
    unsafe free(pointer)
  }

  /// Releases all that the calling thread has.
  private func vacate() {
    do throws(Forked) {
      // First, because it calls the host's finalizers, which may use Chime as before.
      try loop?.end()
      loop = nil
      chime_set_thread_state(nil)
      try release()
    } catch {
      chime_set_thread_state(nil)
    }
  }

  /// Releases what the thread has, which may have ended.
  private func release() throws(Forked) {
    try loop?.end()
    loop = nil
    for i in 0..<4 { evict(cacheAt(i)) }
  }

  // MARK: Activation sequence

  /// The order among this thread's activations.
  func nextActivationSequence() -> UInt32 {
    let activationSequence = storage.activationSequence &+ 1
    storage.activationSequence = activationSequence
    return activationSequence
  }

  // MARK: The run loop

  /// The thread's run loop, if it was asked for.
  var loop: ThreadLoop? {
    get { unsafe storage.loop?.takeUnretainedValue() }
    nonmutating set {
      let old = unsafe storage.loop
      unsafe storage.loop = unsafe newValue.map { unsafe Unmanaged.passRetained($0) }
      unsafe old?.release()
    }
  }

  // MARK: What it is doing

  var isTracing: Bool {
    get { storage.isTracing }
    nonmutating set { storage.isTracing = newValue }
  }

  var hasEnded: Bool {
    get { storage.hasEnded }
    nonmutating set { storage.hasEnded = newValue }
  }

  /// Whether the call that passes the thread's end on is under way, and no callback has begun since.
  var isAtBoundary: Bool { storage.boundary == here }

  /// Runs `body` as the call that passes the thread's end on.
  @inline(__always)
  func asBoundary<Result, Failure>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
    let outer = storage.boundary
    storage.boundary = here
    defer { storage.boundary = outer }
    return try body()
  }

  /// The address of the callback that the thread is inside, or of the thread's state.
  private var here: UInt {
    if let frame = storage.frame { return unsafe UInt(bitPattern: frame.pointer) }
    return unsafe UInt(bitPattern: pointer)
  }
}

/// What a thread knows of its run loop, which stands above: that it ends with the thread.
package class ThreadLoop {
  /// The thread ends: the caller is on it, or knows that it has never begun.
  func end() throws(Forked) {}
}

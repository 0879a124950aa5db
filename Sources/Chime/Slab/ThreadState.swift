import Glibc
import Synchronization

/// What Chime keeps for a thread: a few free slots of the queues it uses, a counter of activations, and the chain of
/// queues and timers whose callbacks it is inside. Made when first needed, freed when the thread ends.
@unsafe struct ThreadStorage {
  /// Innermost callback this thread is inside; nil outside.
  var frame: UnsafeMutablePointer<Frame>?
  var stamp: UInt32 = 0
  /// The thread is inside the host's trace.
  var isTracing = false
  var caches: (ThreadCacheStorage, ThreadCacheStorage, ThreadCacheStorage, ThreadCacheStorage) = unsafe (
    .init(), .init(), .init(), .init()
  )
}

/// A stretch of a thread's stack in which it runs callbacks of a queue. Lives on that stack; a function run for a
/// thread that waits for it (`queue_sync`) continues the waiting thread's chain.
@unsafe struct Frame {
  var cell: QueueCell
  /// The timer whose callback runs; nil for functions and finalizers.
  var slot: UInt32?
  var previous: UnsafeMutablePointer<Frame>?
}

@unsafe struct ThreadCacheStorage {
  var cell: UnsafeMutablePointer<QueueCellStorage>?
  var count: Int = 0
  var slots:
    (
      UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32,
      UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32,
      UInt32, UInt32, UInt32, UInt32
    ) = (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
}

/// A thread's free slots of one cell.
@safe struct ThreadCache {
  static var capacity: Int { 32 }
  static var refill: Int { 16 }

  // SAFETY: points into the thread's own ThreadStorage; only that thread uses it.
  let storage: UnsafeMutablePointer<ThreadCacheStorage>

  @inline(__always)
  init(_ storage: UnsafeMutablePointer<ThreadCacheStorage>) { unsafe self.storage = storage }

  @inline(__always) var count: Int { unsafe storage.pointee.count }

  @inline(__always)
  private var slots: UnsafeMutablePointer<UInt32> {
    // SAFETY: a homogeneous tuple of 32 UInt32 is laid out as an array of them.
    unsafe UnsafeMutableRawPointer(storage).advanced(by: MemoryLayout<ThreadCacheStorage>.offset(of: \.slots)!)
      .assumingMemoryBound(to: UInt32.self)
  }

  @inline(__always)
  func pop() -> UInt32? {
    let count = unsafe storage.pointee.count
    if count == 0 { return nil }
    unsafe storage.pointee.count = count &- 1
    return unsafe slots[count &- 1]
  }

  @inline(__always)
  func push(_ index: UInt32) -> Bool {
    let count = unsafe storage.pointee.count
    if count == ThreadCache.capacity { return false }
    unsafe slots[count] = index
    unsafe storage.pointee.count = count &+ 1
    return true
  }
}

/// This thread's state.
@safe struct ThreadState {
  // SAFETY: allocated for this thread, freed by the key's destructor when it ends; used by this thread only.
  let storage: UnsafeMutablePointer<ThreadStorage>

  /// The key of the thread-specific pointer, + 1; 0 until the first queue is made.
  private static let key = Atomic<UInt32>(0)

  /// Makes the key; false when the process has no more. Called before the first queue exists, under a lock.
  static func prepare() -> Bool {
    if key.load(ordering: .acquiring) != 0 { return true }
    var made = pthread_key_t()
    let failed = unsafe pthread_key_create(&made) { memory in
      guard let memory = unsafe memory else { return }
      unsafe ThreadState(storage: memory.assumingMemoryBound(to: ThreadStorage.self)).end()
    }
    if failed != 0 { return false }
    key.store(made + 1, ordering: .releasing)
    return true
  }

  private init(storage: UnsafeMutablePointer<ThreadStorage>) { unsafe self.storage = storage }

  /// What was made for the calling thread, if anything was. Only after `prepare`.
  @inline(__always)
  static var existing: ThreadState? {
    unsafe pthread_getspecific(key.load(ordering: .relaxed) &- 1).map { memory in
      unsafe ThreadState(storage: memory.assumingMemoryBound(to: ThreadStorage.self))
    }
  }

  /// The calling thread's state, made if need be; `nil` without memory. Only after `prepare`.
  @inline(__always)
  static func obtain() -> ThreadState? { existing ?? make() }

  /// The same for a thread that runs callbacks, which cannot be without.
  @inline(__always)
  static var current: ThreadState {
    guard let thread = obtain() else { invariantFailure("no memory for a thread that runs callbacks") }
    return thread
  }

  @inline(never)
  private static func make() -> ThreadState? {
    guard let memory = unsafe malloc(MemoryLayout<ThreadStorage>.size) else { return nil }
    let storage = unsafe memory.bindMemory(to: ThreadStorage.self, capacity: 1)
    unsafe storage.initialize(to: ThreadStorage())
    guard unsafe pthread_setspecific(key.load(ordering: .relaxed) &- 1, storage) == 0 else {
      unsafe free(memory)
      return nil
    }
    return unsafe ThreadState(storage: storage)
  }

  /// In a forked child: the calling thread has no free slots any more.
  static func forgetSlots() {
    guard let thread = existing else { return }
    for i in 0..<4 { unsafe thread.cacheAt(i).storage.initialize(to: ThreadCacheStorage()) }
  }

  private func end() {
    for i in 0..<4 { evict(cacheAt(i)) }
    unsafe free(storage)
  }

  // MARK: Stamps

  /// Orders this thread's activations among each other.
  @inline(__always)
  func nextStamp() -> UInt32 {
    let stamp = unsafe storage.pointee.stamp &+ 1
    unsafe storage.pointee.stamp = stamp
    return stamp
  }

  // MARK: Tracing

  var isTracing: Bool {
    get { unsafe storage.pointee.isTracing }
    nonmutating set { unsafe storage.pointee.isTracing = newValue }
  }

  // MARK: Caches

  @inline(__always)
  private func cacheAt(_ i: Int) -> ThreadCache {
    // SAFETY: a homogeneous tuple of four caches is laid out as an array of them; i is below 4.
    let caches = unsafe UnsafeMutableRawPointer(storage).advanced(by: MemoryLayout<ThreadStorage>.offset(of: \.caches)!)
      .assumingMemoryBound(to: ThreadCacheStorage.self)
    return unsafe ThreadCache(caches + i)
  }

  /// The cache that holds this cell's slots, if there is one.
  @inline(__always)
  func cache(of cell: QueueCell) -> ThreadCache? {
    let cache = cacheAt(Int(cell.index & 3))
    return unsafe cache.storage.pointee.cell == cell.storage ? cache : nil
  }

  /// Makes the cell's place in the caches its own, giving back what another cell had there.
  func adoptCache(for cell: QueueCell) -> ThreadCache? {
    let cache = cacheAt(Int(cell.index & 3))
    if unsafe cache.storage.pointee.cell != cell.storage {
      evict(cache)
      unsafe cache.storage.pointee.cell = cell.storage
    }
    return cache
  }

  private func evict(_ cache: ThreadCache) {
    guard let cell = unsafe cache.storage.pointee.cell else { return }
    unsafe QueueCell(UnsafeMutableRawPointer(cell)).takeBack(cache)
    unsafe cache.storage.pointee.cell = nil
  }

  // MARK: Frames

  /// Runs `body` as a callback stretch of a queue, behind `previous` or this thread's own chain. `body` gets a handle
  /// with which it names the timer whose callback it is about to call.
  func inside<Result>(
    _ cell: QueueCell, continuing chain: FrameChain? = nil, _ body: (CurrentFrame) -> Result
  ) -> Result {
    let outer = unsafe storage.pointee.frame
    var frame = unsafe Frame(cell: cell, slot: nil, previous: chain?.innermost ?? outer)
    // SAFETY: the frame lives until body returns, and is taken off the chain before.
    return unsafe withUnsafeMutablePointer(to: &frame) { pointer in
      unsafe storage.pointee.frame = pointer
      defer { unsafe storage.pointee.frame = outer }
      return unsafe body(CurrentFrame(pointer))
    }
  }

  /// The callbacks that the calling thread is inside.
  static var frames: FrameChain { unsafe FrameChain(innermost: existing.map { unsafe $0.storage.pointee.frame } ?? nil) }
}

/// The frame of the callback stretch that is being run.
@safe struct CurrentFrame {
  // SAFETY: valid inside the `inside` call that made it.
  private let pointer: UnsafeMutablePointer<Frame>

  @inline(__always)
  init(_ pointer: UnsafeMutablePointer<Frame>) { unsafe self.pointer = pointer }

  @inline(__always)
  var slot: UInt32? {
    get { unsafe pointer.pointee.slot }
    nonmutating set { unsafe pointer.pointee.slot = newValue }
  }
}

/// The callbacks a thread is inside, innermost first.
@safe struct FrameChain: Sequence, @unchecked Sendable {
  // SAFETY: followed only while the thread that owns the frames runs this code or waits for it.
  let innermost: UnsafeMutablePointer<Frame>?

  init(innermost: UnsafeMutablePointer<Frame>?) { unsafe self.innermost = innermost }

  var isEmpty: Bool { unsafe innermost == nil }

  func makeIterator() -> AnyIterator<(cell: QueueCell, slot: UInt32?)> {
    var next = unsafe innermost
    return AnyIterator {
      guard let frame = unsafe next else { return nil }
      unsafe next = frame.pointee.previous
      return unsafe (frame.pointee.cell, frame.pointee.slot)
    }
  }
}

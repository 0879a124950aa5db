internal import CPlatform
import Synchronization

/// All queue control blocks of the process: looked up by index, given to a new queue, taken back when a queue has
/// ended.
package enum QueueControlBlocks: ProcessState {
  static var maximum: Int { 1 << 16 }

  private struct State {
    /// The next index. The first is 1: no id has a low half of 0.
    var made = 1
    /// The index of the first control block on each shelf that no queue lives in, 0 for none; each notes the next.
    var free = SIMD4<UInt32>()
    /// How much memory these have that was not given back, in chunks.
    var kept = 0
  }

  /// Free control blocks. A control block serves only queues with a timer limit, or only queues without, because thread
  /// caches bypass the count. A large one is used only if no small one is left, because ending a queue looks at all
  /// chunks.
  private static func shelf(isLimited: Bool, isLarge: Bool) -> Int { (isLimited ? 2 : 0) + (isLarge ? 1 : 0) }

  private static var smallChunks: Int { 4 }
  /// How much memory of queues that have ended is kept for the next ones, in chunks, of which each queue has one more: so a
  /// program that makes and ends queues in turn asks the system for nothing.
  #if !CHIME_INTERLEAVINGS
    static var keptChunks: Int { 64 }
  #endif

  private static let state = Locked(State())
  static func makeGlobals() { state.withLock { _ in } }
  /// Address of a table of `maximum` pointers to control blocks, which a forked child finds empty. Stored once, released
  /// (P14b).
  // SAFETY: an address of memory that is shared by design, written once.
  private nonisolated(unsafe) static let table = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

  /// The control block that was made last, of a chain of all. Nobody goes along it but leak detectors: the table is empty
  /// in a forked child, where what the parent had stays, and is not lost. Behind the lock of the state.
  // SAFETY: as above.
  private nonisolated(unsafe) static let latest = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

  /// Index of the first control block in the table; those before are of a process that this one was forked from
  /// (P19).
  private static let first = Atomic<Int>(1)

  private static func entry(_ index: Int) -> UnsafeMutablePointer<Atomic<UnsafeMutableRawPointer?>>? {
    // SAFETY: the table has `maximum` zero-initialised atomic words; indices are checked against it.
    guard index < maximum, let base = unsafe table.load(ordering: .acquiring) else { return nil }
    return unsafe base.assumingMemoryBound(to: Atomic<UnsafeMutableRawPointer?>.self) + index
  }

  private static func controlBlock(at index: Int) -> QueueControlBlock? {
    unsafe entry(index)?.pointee.load(ordering: .acquiring).map { unsafe QueueControlBlock($0) }
  }

  /// The control block a queue's id names, if that queue lives and was not released.
  static func find(_ id: UInt64) -> QueueControlBlock? {
    // The id as a whole is compared: no need to take it apart.
    guard let control = controlBlock(at: Int(UInt16(truncatingIfNeeded: id))) else { return nil }
    return control.id == id ? control : nil
  }

  /// Gives `body` the id of each queue that lives and was not released, in the order of their control blocks; in a
  /// forked child none.
  package static func forEachID(_ body: (UInt64) -> Void) {
    for index in 1..<maximum {
      if let id = controlBlock(at: index)?.id {
        if id != 0 { body(id) }
      } else if index >= first.load(ordering: .relaxed) {
        // In a child that has restarted the first entries stay empty.
        return
      }
    }
  }

  /// A control block for a new queue and the id the queue will have. The id is not in the control block yet.
  static func acquire(limited: Bool) throws(Status) -> (control: QueueControlBlock, id: UInt64) {
    if Fork.isChild { throw .inChild }
    guard Fork.watch(), Memory.promiseToQueue() else { throw Memory.refusal }
    do { return try acquireOne(limited: limited) } catch {
      Memory.queueHasEnded()
      throw error
    }
  }

  private static func acquireOne(limited: Bool) throws(Status) -> (control: QueueControlBlock, id: UInt64) {
    try state.withLock { state throws(Status) in
      guard prepare() else { throw Memory.refusal }
      guard ThreadState.prepare() else { throw .noThreadKey }
      let (small, large) = (shelf(isLimited: limited, isLarge: false), shelf(isLimited: limited, isLarge: true))
      if state.free[small] | state.free[large] == 0 { try make(&state, isLimited: limited) }
      let shelf = state.free[small] != 0 ? small : large
      let index = state.free[shelf]
      // SAFETY: what is on a shelf is in the table.
      let control = unsafe controlBlock(at: Int(index)).unsafelyUnwrapped
      state.free[shelf] = control.free.next
      state.kept -= control.free.kept
      return (control, Handle.id(.queue, index: index, version: control.idVersion))
    }
  }

  /// Puts a new control block on its shelf. Where there are many already, it makes several at once: what stays of queues
  /// that have ended shares pages then.
  private static func make(_ state: inout State, isLimited: Bool) throws(Status) {
    guard state.made < maximum else { throw Status.limit.because("%n queues exist already", Int64(maximum - 1)) }
    let bytes = (MemoryLayout<QueueControlBlockStorage>.size + 127) & ~127
    let count = isLimited ? 1 : min(state.made / 16 + 1, 16, maximum - state.made)
    var memory: UnsafeMutableRawPointer?
    guard unsafe posix_memalign(&memory, 128, count * bytes) == 0, let memory = unsafe memory else {
      throw Memory.refusal
    }
    let shelf = shelf(isLimited: isLimited, isLarge: false)
    // The first comes last: `latest` is where all of the memory begins.
    for i in (0..<count).reversed() {
      let (block, index) = unsafe (memory + i * bytes, UInt32(state.made + i))
      let typed = unsafe block.bindMemory(to: QueueControlBlockStorage.self, capacity: 1)
      unsafe typed.initialize(
        to: QueueControlBlockStorage(index: index, isLimited: isLimited, previous: latest.load(ordering: .relaxed)))
      unsafe typed.pointee.free = (state.free[shelf], 0)
      state.free[shelf] = index
      unsafe latest.store(block, ordering: .relaxed)
      // SAFETY: the table has so many.
      let entry = unsafe Self.entry(Int(index)).unsafelyUnwrapped
      unsafe entry.pointee.store(block, ordering: .releasing)
    }
    state.made += count
  }

  /// The queue with that id has ended, and its id says so from now on.
  static func noteEnd(of control: QueueControlBlock, id: UInt64) {
    control.idVersion = (Handle(id, kind: .queue)?.version ?? 0) &+ 1
  }

  /// Takes back the control block of a queue that has ended; its slots are all free.
  static func takeBack(_ control: QueueControlBlock) {
    Memory.queueHasEnded()
    let canServe = control.idVersion < Handle.versionMask
    let chunks = control.chunkCount
    let kept = state.withLock { state in
      if !canServe || state.kept + chunks + 1 > keptChunks { return 0 }
      state.kept += chunks + 1
      return chunks + 1
    }
    if kept == 0 {
      // The places that this thread keeps, which has ended the last timers.
      control.emptyOwnCache()
      control.giveBack()
    }
    guard canServe else { return }
    let shelf = shelf(isLimited: control.isLimited, isLarge: chunks > smallChunks)
    state.withLock { state in
      control.free.kept = kept
      control.free.next = state.free[shelf]
      state.free[shelf] = control.index
    }
  }

  /// The control block of the queue that has or had that id, whichever lives in it now.
  static func block(of id: UInt64) -> QueueControlBlock? {
    guard !Fork.isChild, let handle = Handle(id, kind: .queue) else { return nil }
    return controlBlock(at: Int(handle.index))
  }

  /// Whether a queue had that id, and has ended. Every version of a control block below its next one was a queue's.
  static func hasEnded(_ id: UInt64) -> Bool {
    guard let control = block(of: id), let handle = Handle(id, kind: .queue), handle.version > 0 else { return false }
    return handle.version < control.idVersion
  }

  /// Gives up the queues from before the fork, of which the table is empty. Numbering continues with the next blocks.
  static func reinitialize() {
    state.reinitialize()
    let made = state.withLock { $0.made }
    first.store(made, ordering: .relaxed)
    state.reinitialize(State(made: made))
  }

  private static func prepare() -> Bool {
    if unsafe table.load(ordering: .acquiring) != nil { return true }
    guard Slab.prepare(), let memory = unsafe Memory.mapTable(maximum * MemoryLayout<UInt>.size) else {
      return false
    }
    unsafe table.store(memory, ordering: .releasing)
    unsafe chime_layout_note_queues(memory)
    return true
  }
}

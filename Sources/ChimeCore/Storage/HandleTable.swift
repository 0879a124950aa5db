internal import CPlatform
import Synchronization

/// The objects behind the ids of one kind, for kinds with few objects that need no speed: targets, run loops, weak
/// timers. (Timers and queues have the slab and the control blocks.) Any thread. Who finds or removes an object waits for
/// no call with another id.
package final class HandleTable<Object: AnyObject & Sendable>: Sendable {
  private let kind: Handle.Kind
  private let entries = HandleEntries()
  /// Behind it entries are made, and taken out of the list of unused ones.
  private let adding = Locked(())
  /// The entry without an object that was used last, as its index + 1; 0 for none.
  private let unused = Atomic<UInt32>(0)
  /// Index of the first entry; those before belong to a process that this one was forked from.
  private let first = Atomic<Int>(0)
  /// The fork since which the table has been in use (P19).
  private let forkMark = Atomic<UInt32>(0)

  package init(_ kind: Handle.Kind) {
    self.kind = kind
    forkMark.store(Fork.mark, ordering: .relaxed)
  }

  /// Whether it can be used here: not in a forked child, but after `reinitialize`.
  private var isUsable: Bool { forkMark.load(ordering: .relaxed) == Fork.mark }

  /// Gives up what was there before the fork. In the child's only thread, before it has a new forkMark.
  func reinitialize() {
    adding.reinitialize()
    unused.store(0, ordering: .relaxed)
    first.store(entries.count, ordering: .relaxed)
    forkMark.store(Fork.nextMark, ordering: .relaxed)
  }

  /// Gives an object an id and keeps it until `remove`: forked, limit when the ids are used up, noMemory.
  package func add(_ object: Object) throws(Status) -> UInt64 {
    guard isUsable else { throw .inChild }
    guard Fork.watch() else { throw Memory.refusal }
    return try adding.withLock { _ throws(Status) in
      var index = takeUnused()
      if index == nil { index = try entries.append(upTo: Int(Handle.indexMask)) }
      guard let index else { throw Memory.refusal }
      let id = Handle.id(kind, index: UInt32(index), version: entries[index].version.load(ordering: .relaxed))
      unsafe entries[index].object.store(Unmanaged.passRetained(object).toOpaque(), ordering: .releasing)
      return id
    }
  }

  private func takeUnused() -> Int? {
    var head = unused.load(ordering: .acquiring)
    while head != 0 {
      let index = Int(head) - 1
      // Nobody else takes one out, so the next one stays what it is.
      let result = unused.compareExchange(
        expected: head, desired: entries[index].nextUnused.load(ordering: .relaxed), ordering: .acquiring)
      if result.exchanged { return index }
      head = result.original
    }
    return nil
  }

  /// The entry that the id once named, names or will name, and the version of the id.
  private func place(of id: UInt64) -> (index: Int, version: UInt32)? {
    guard let handle = Handle(id, kind: kind), isUsable else { return nil }
    let index = Int(handle.index)
    return index >= first.load(ordering: .relaxed) && index < entries.count ? (index, handle.version) : nil
  }

  /// The object an id names; `nil` when the id is stale, or never was one.
  package func find(_ id: UInt64) -> Object? {
    guard let (index, version) = place(of: id) else { return nil }
    // (P7.)
    entries[index].pins.wrappingAdd(1, ordering: .sequentiallyConsistent)
    defer { entries[index].pins.wrappingAdd(-1, ordering: .sequentiallyConsistent) }
    guard entries[index].version.load(ordering: .sequentiallyConsistent) == version,
      let object = unsafe entries[index].object.load(ordering: .acquiring)
    else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(object).takeUnretainedValue()
  }

  /// Makes the id stale and gives its object, to the one caller that did so.
  @discardableResult
  package func remove(_ id: UInt64) -> Object? {
    guard let (index, version) = place(of: id), entries[index].version.load(ordering: .acquiring) == version,
      let object = unsafe entries[index].object.load(ordering: .acquiring),
      entries[index].version.compareExchange(
        expected: version, desired: version + 1, ordering: .sequentiallyConsistent
      ).exchanged
    else { return nil }
    var spinWait = SpinWait()
    while entries[index].pins.load(ordering: .sequentiallyConsistent) > 0 { spinWait.pause() }
    unsafe entries[index].object.store(nil, ordering: .relaxed)
    // An index whose versions are used up is never given out again.
    if version + 1 < Handle.versionMask { leave(index) }
    return unsafe Unmanaged<Object>.fromOpaque(object).takeRetainedValue()
  }

  private func leave(_ index: Int) {
    var head = unused.load(ordering: .relaxed)
    while true {
      entries[index].nextUnused.store(head, ordering: .relaxed)
      let result = unused.compareExchange(expected: head, desired: UInt32(index) + 1, ordering: .acquiringAndReleasing)
      if result.exchanged { return }
      head = result.original
    }
  }

  /// Whether the id names, or has named, one of these objects.
  package func hasNamed(_ id: UInt64) -> Bool {
    guard let (index, version) = place(of: id) else { return false }
    let current = entries[index].version.load(ordering: .acquiring)
    if version == current { return unsafe entries[index].object.load(ordering: .acquiring) != nil }
    return version > 0 && version < current
  }
}

/// What a table knows of an id. All zeroes but for the version when it is made.
@safe private struct HandleEntry: ~Copyable {
  /// The version of the object's id; without an object, of the next one's.
  let version = Atomic<UInt32>(1)
  /// Calls that are about to retain the object, for which its remover waits.
  let pins = Atomic<Int32>(0)
  /// The object, retained; `nil` for none.
  let object = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
  /// In the list of unused entries: the next, as its index + 1.
  let nextUnused = Atomic<UInt32>(0)
}

/// Entries by index, in blocks, each of which is twice as large as the one before: they are never moved or freed, so a late
/// thread finds one.
@safe private final class HandleEntries: Sendable {
  /// The addresses of the blocks. Each is stored once, before `count` says so.
  // SAFETY: allocated in init, never freed: tables are globals. Written behind the lock of `adding`.
  private nonisolated(unsafe) let blocks: UnsafeMutablePointer<UnsafeMutablePointer<HandleEntry>?>
  private let made = Atomic<Int>(0)

  private static var first: Int { 32 }
  private static var mostBlocks: Int { 22 }

  init() {
    unsafe blocks = UnsafeMutablePointer.allocate(capacity: HandleEntries.mostBlocks)
    unsafe blocks.initialize(repeating: nil, count: HandleEntries.mostBlocks)
  }

  /// How many were ever made.
  var count: Int { made.load(ordering: .acquiring) }

  private func place(of index: Int) -> (block: Int, offset: Int) {
    let number = index + HandleEntries.first
    let block = number.bitWidth - 1 - number.leadingZeroBitCount - HandleEntries.first.trailingZeroBitCount
    return (block, number - HandleEntries.first << block)
  }

  /// One that was made.
  subscript(index: Int) -> HandleEntry {
    unsafeAddress {
      let (block, offset) = place(of: index)
      // SAFETY: whoever has the index has read `count`.
      return unsafe UnsafePointer(blocks[block].unsafelyUnwrapped + offset)
    }
  }

  /// Makes one and gives its index: limit, noMemory. One thread at a time.
  func append(upTo last: Int) throws(Status) -> Int {
    let index = made.load(ordering: .relaxed)
    guard index <= last else { throw Status.limit.because("all ids of its kind are used up") }
    let (block, offset) = place(of: index)
    if offset == 0, unsafe blocks[block] == nil {
      let count = HandleEntries.first << block
      let bytes = count * MemoryLayout<HandleEntry>.stride
      var memory: UnsafeMutableRawPointer?
      guard unsafe posix_memalign(&memory, 64, bytes) == 0, let memory = unsafe memory else { throw Memory.refusal }
      let typed = unsafe memory.bindMemory(to: HandleEntry.self, capacity: count)
      for i in 0..<count { unsafe (typed + i).initialize(to: HandleEntry()) }
      unsafe blocks[block] = typed
    }
    made.store(index + 1, ordering: .releasing)
    return index
  }
}

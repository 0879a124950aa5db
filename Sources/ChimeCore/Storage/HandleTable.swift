internal import CPlatform
import Synchronization

/// The objects behind the ids of one kind, for kinds with few objects that need no speed: targets, run loops, weak
/// timers. (Timers and queues have the slab and the control blocks.) Any thread. Who finds or removes an object waits for
/// no call with another id.
package final class HandleTable<Object: AnyObject & Sendable>: Sendable {
  private let entries: HandleEntries

  package init(_ kind: Handle.Kind) { entries = HandleEntries(kind) }

  /// Gives up what was there before the fork. In the child's only thread, before it has a new forkMark.
  func reinitialize() { entries.reinitialize() }

  /// Gives an object an id and keeps it until `remove`: forked, limit when the ids are used up, noMemory.
  package func add(_ object: Object) throws(Status) -> UInt64 {
    let object = unsafe Unmanaged.passRetained(object)
    do { return try unsafe entries.add(object.toOpaque()) } catch {
      unsafe object.release()
      throw error
    }
  }

  /// The object an id names; `nil` when the id is stale, or never was one.
  package func find(_ id: UInt64) -> Object? {
    guard let (index, version) = entries.place(of: id) else { return nil }
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
    unsafe entries.remove(id).map { unsafe Unmanaged<Object>.fromOpaque($0).takeRetainedValue() }
  }

  /// Whether the id names, or has named, one of these objects.
  package func hasNamed(_ id: UInt64) -> Bool { entries.hasNamed(id) }
}

/// What a table knows of an id.
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

/// A table's entries, whatever its objects are. They are in blocks, each of which is twice as large as the one before, and are
/// never moved or freed: so a late thread finds one.
@safe private final class HandleEntries: Sendable {
  private let kind: Handle.Kind
  /// Behind it entries are made, and taken out of the list of unused ones.
  private let adding = Locked(())
  /// The entry without an object that was used last, as its index + 1; 0 for none.
  private let unused = Atomic<UInt32>(0)
  /// Index of the first entry; those before belong to a process that this one was forked from.
  private let first = Atomic<Int>(0)
  /// How many were ever made.
  private let made = Atomic<Int>(0)
  /// The fork since which the table has been in use (P19).
  private let forkMark = Atomic<UInt32>(0)
  /// The addresses of the blocks. Each is stored once, before `made` says so.
  // SAFETY: allocated in init, never freed: tables are globals. Written behind `adding`.
  private nonisolated(unsafe) let blocks: UnsafeMutablePointer<UnsafeMutablePointer<HandleEntry>?>

  private static var firstBlock: Int { 32 }
  private static var mostBlocks: Int { 22 }

  init(_ kind: Handle.Kind) {
    self.kind = kind
    unsafe blocks = UnsafeMutablePointer.allocate(capacity: HandleEntries.mostBlocks)
    unsafe blocks.initialize(repeating: nil, count: HandleEntries.mostBlocks)
    forkMark.store(Fork.mark, ordering: .relaxed)
  }

  func reinitialize() {
    adding.reinitialize()
    unused.store(0, ordering: .relaxed)
    first.store(made.load(ordering: .relaxed), ordering: .relaxed)
    forkMark.store(Fork.nextMark, ordering: .relaxed)
  }

  /// Whether it can be used here: not in a forked child, but after `reinitialize`.
  private var isUsable: Bool { forkMark.load(ordering: .relaxed) == Fork.mark }

  private func address(of index: Int) -> (block: Int, offset: Int) {
    let number = index + HandleEntries.firstBlock
    let block = number.bitWidth - 1 - number.leadingZeroBitCount - HandleEntries.firstBlock.trailingZeroBitCount
    return (block, number - HandleEntries.firstBlock << block)
  }

  /// One that was made.
  subscript(index: Int) -> HandleEntry {
    unsafeAddress {
      let (block, offset) = address(of: index)
      // SAFETY: whoever has the index has read `made`.
      return unsafe UnsafePointer(blocks[block].unsafelyUnwrapped + offset)
    }
  }

  /// The entry that the id once named, names or will name, and the version of the id.
  @inline(never)
  func place(of id: UInt64) -> (index: Int, version: UInt32)? {
    guard let handle = Handle(id, kind: kind), isUsable else { return nil }
    let index = Int(handle.index)
    return index >= first.load(ordering: .relaxed) && index < made.load(ordering: .acquiring)
      ? (index, handle.version) : nil
  }

  /// - Parameter object: retained, for the table.
  func add(_ object: UnsafeMutableRawPointer) throws(Status) -> UInt64 {
    guard isUsable else { throw .inChild }
    guard Fork.watch() else { throw Memory.refusal }
    return try adding.withLock { _ throws(Status) in
      var index = takeUnused()
      if index == nil { index = try append() }
      guard let index else { throw Memory.refusal }
      unsafe self[index].object.store(object, ordering: .releasing)
      return Handle.id(kind, index: UInt32(index), version: self[index].version.load(ordering: .relaxed))
    }
  }

  /// Makes one and gives its index.
  private func append() throws(Status) -> Int {
    let index = made.load(ordering: .relaxed)
    guard index <= Handle.indexMask else { throw Status.limit.because("all ids of its kind are used up") }
    let (block, offset) = address(of: index)
    if offset == 0, unsafe blocks[block] == nil {
      let count = HandleEntries.firstBlock << block
      var memory: UnsafeMutableRawPointer?
      guard unsafe posix_memalign(&memory, 64, count * MemoryLayout<HandleEntry>.stride) == 0,
        let memory = unsafe memory
      else { throw Memory.refusal }
      let typed = unsafe memory.bindMemory(to: HandleEntry.self, capacity: count)
      for i in 0..<count { unsafe (typed + i).initialize(to: HandleEntry()) }
      unsafe blocks[block] = typed
    }
    made.store(index + 1, ordering: .releasing)
    return index
  }

  private func takeUnused() -> Int? {
    var head = unused.load(ordering: .acquiring)
    while head != 0 {
      let index = Int(head) - 1
      // Nobody else takes one out, so the next one stays what it is.
      let result = unused.compareExchange(
        expected: head, desired: self[index].nextUnused.load(ordering: .relaxed), ordering: .acquiring)
      if result.exchanged { return index }
      head = result.original
    }
    return nil
  }

  /// Gives the object, retained.
  func remove(_ id: UInt64) -> UnsafeMutableRawPointer? {
    guard let (index, version) = place(of: id), self[index].version.load(ordering: .acquiring) == version,
      let object = unsafe self[index].object.load(ordering: .acquiring),
      self[index].version.compareExchange(
        expected: version, desired: version + 1, ordering: .sequentiallyConsistent
      ).exchanged
    else { return nil }
    var spinWait = SpinWait()
    while self[index].pins.load(ordering: .sequentiallyConsistent) > 0 { spinWait.pause() }
    unsafe self[index].object.store(nil, ordering: .relaxed)
    // An index whose versions are used up is never given out again.
    if version + 1 < Handle.versionMask { leave(index) }
    return unsafe object
  }

  private func leave(_ index: Int) {
    var head = unused.load(ordering: .relaxed)
    while true {
      self[index].nextUnused.store(head, ordering: .relaxed)
      let result = unused.compareExchange(expected: head, desired: UInt32(index) + 1, ordering: .acquiringAndReleasing)
      if result.exchanged { return }
      head = result.original
    }
  }

  func hasNamed(_ id: UInt64) -> Bool {
    guard let (index, version) = place(of: id) else { return false }
    let current = self[index].version.load(ordering: .acquiring)
    if version == current { return unsafe self[index].object.load(ordering: .acquiring) != nil }
    return version > 0 && version < current
  }
}

import Synchronization

/// The objects behind the ids of one kind, for kinds with few objects that need no speed: targets, run loops, weak
/// timers. (Timers and queues have the slab and the control blocks.) Any thread.
package final class HandleTable<Object: AnyObject & Sendable>: Sendable {
  private struct Table {
    /// Index of the first entry; those before belong to a process that this one was forked from.
    var first = 0
    /// Of one without an object: the next such one, as its index + 1, 0 at the end; and the version of its next object.
    var entries: [(object: Object?, version: UInt32, nextUnused: UInt32)] = []
    var firstFree: UInt32 = 0
  }

  private let kind: Handle.Kind
  private let table = Locked(Table())
  /// How many entries were ever made.
  private let made = Atomic<Int>(0)
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
    table.reinitialize(Table(first: made.load(ordering: .relaxed)))
    forkMark.store(Fork.nextMark, ordering: .relaxed)
  }

  /// Gives an object an id and keeps it until `remove`: forked, limit when the ids are used up, noMemory.
  package func add(_ object: Object) throws(Status) -> UInt64 {
    guard isUsable else { throw .inChild }
    guard Fork.watch() else { throw Memory.refusal }
    return try table.withLock { table throws(Status) in
      let index: Int
      if table.firstFree != 0 {
        index = Int(table.firstFree) - 1
        table.firstFree = table.entries[index].nextUnused
        table.entries[index].object = object
      } else {
        index = table.entries.count
        guard table.first + index <= Handle.indexMask else {
          throw Status.limit.because("all ids of its kind are used up")
        }
        guard table.entries.reserve() else { throw Memory.refusal }
        made.store(table.first + index + 1, ordering: .relaxed)
        table.entries.append((object, 1, 0))
      }
      return Handle.id(kind, index: UInt32(table.first + index), version: table.entries[index].version)
    }
  }

  /// Runs `body` with the index of the entry that the id once named, or names, and the version of the id.
  private func lookUp<Result>(_ id: UInt64, _ body: (inout Table, Int, UInt32) -> Result?) -> Result? {
    guard let handle = Handle(id, kind: kind), isUsable else { return nil }
    return table.withLock { table in
      let index = Int(handle.index) - table.first
      return table.entries.indices.contains(index) ? body(&table, index, handle.version) : nil
    }
  }

  /// The object an id names; `nil` when the id is stale, or never was one.
  package func find(_ id: UInt64) -> Object? {
    lookUp(id) { table, index, version in
      table.entries[index].version == version ? table.entries[index].object : nil
    }
  }

  /// Makes the id stale and gives its object, to the one caller that did so.
  @discardableResult
  package func remove(_ id: UInt64) -> Object? {
    lookUp(id) { table, index, version in
      guard table.entries[index].version == version, let object = table.entries[index].object else { return nil }
      table.entries[index].object = nil
      table.entries[index].version += 1
      // An index whose versions are used up is never given out again.
      if table.entries[index].version < Handle.versionMask {
        table.entries[index].nextUnused = table.firstFree
        table.firstFree = UInt32(index) + 1
      }
      return object
    }
  }

  /// Whether the id names, or has named, one of these objects.
  package func hasNamed(_ id: UInt64) -> Bool {
    lookUp(id) { table, index, version in
      let entry = table.entries[index]
      return version > 0 && (version < entry.version || version == entry.version && entry.object != nil)
    } ?? false
  }
}

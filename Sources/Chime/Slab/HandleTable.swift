/// The objects behind the ids of one kind, for the kinds that are few and need no speed: targets, run loops, weak
/// timers. (Timers and queues have the slab and the cells.) Any thread.
package final class HandleTable<Object: AnyObject & Sendable>: Sendable {
  private struct Table {
    var entries: [(object: Object?, life: UInt32)] = []
    var free: [UInt32] = []
  }

  private let kind: Handle.Kind
  private let table = Locked(Table())

  package init(_ kind: Handle.Kind) { self.kind = kind }

  /// Gives an object an id and keeps it until `remove`; `nil` when the ids are used up.
  package func add(_ object: Object) -> UInt64? {
    table.withLock { table in
      let index: UInt32
      if let reused = table.free.popLast() {
        index = reused
        table.entries[Int(index)].object = object
      } else {
        guard table.entries.count <= Handle.indexMask else { return nil }
        index = UInt32(table.entries.count)
        table.entries.append((object, 1))
      }
      return Handle.id(kind, index: index, life: table.entries[Int(index)].life)
    }
  }

  /// The object an id names; `nil` when the id is stale, or never was one.
  package func find(_ id: UInt64) -> Object? {
    guard let handle = Handle(id, kind: kind) else { return nil }
    return table.withLock { table in
      guard handle.index < table.entries.count else { return nil }
      let entry = table.entries[Int(handle.index)]
      return entry.life == handle.life ? entry.object : nil
    }
  }

  /// Makes the id stale and gives the object that it named, to the one caller that did it.
  @discardableResult
  package func remove(_ id: UInt64) -> Object? {
    guard let handle = Handle(id, kind: kind) else { return nil }
    return table.withLock { table in
      let index = Int(handle.index)
      guard index < table.entries.count, table.entries[index].life == handle.life,
        let object = table.entries[index].object
      else { return nil }
      table.entries[index].object = nil
      table.entries[index].life += 1
      // A place whose lives are used up is never given out again.
      if table.entries[index].life < Handle.lifeMask { table.free.append(handle.index) }
      return object
    }
  }

  /// Whether the id has named one of these objects, or does.
  package func hasNamed(_ id: UInt64) -> Bool {
    guard let handle = Handle(id, kind: kind) else { return false }
    return table.withLock { table in
      guard handle.index < table.entries.count, handle.life > 0 else { return false }
      let entry = table.entries[Int(handle.index)]
      // The life that an empty place is at is that of the object that comes next.
      return handle.life < entry.life || handle.life == entry.life && entry.object != nil
    }
  }
}

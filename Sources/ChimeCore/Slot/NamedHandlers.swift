import Synchronization

/// The handlers that were added to a timer. They are called at each tick, after the timer's own, in the order in which
/// their keys were added. Its writer changes them, by a new list; its ticks, one at a time, wait for no writer (P30).
final class NamedHandlers: Sendable {
  /// One handler with its key.
  private final class Entry: Sendable {
    let key: String
    let handler: TickFunction
    let owned: OwnedContext
    /// Whether a call is under way, and whether none may start any more.
    private let call = Atomic<UInt8>(0)

    private static var isUnderWay: UInt8 { 1 }
    private static var isRemoved: UInt8 { 2 }

    init(_ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?) {
      self.key = key
      self.handler = handler
      owned = OwnedContext(context, finalizer)
    }

    /// False once it was removed. Ticks of one timer never overlap, and neither do these calls.
    func begins() -> Bool {
      call.compareExchange(expected: 0, desired: Entry.isUnderWay, ordering: .acquiringAndReleasing).exchanged
    }

    func ends() { call.bitwiseAnd(Entry.isRemoved, ordering: .acquiringAndReleasing) }

    /// Whether a call is under way.
    func remove() -> Bool {
      call.bitwiseOr(Entry.isRemoved, ordering: .acquiringAndReleasing).oldValue == Entry.isUnderWay
    }
  }

  private final class List: Sendable {
    let entries: [Entry]
    init(_ entries: [Entry]) { self.entries = entries }
  }

  /// What a change answers, and what it lets go of: once the writing has ended, because that may call finalizers.
  struct Change {
    let status: Status
    fileprivate var list: AnyObject?
    fileprivate var entry: AnyObject?
  }

  // SAFETY of both: lists that are retained; `none` for none.
  private let current = Atomic<UInt>(none)
  /// The list that a tick reads; with `isLeft`, one that the tick is to release.
  private let reading = Atomic<UInt>(none)

  private static var none: UInt { 0 }
  private static var isLeft: UInt { 1 }

  deinit { _ = Self.taken(current.load(ordering: .relaxed)) }

  private static func list(_ bits: UInt) -> Unmanaged<List>? {
    unsafe UnsafeRawPointer(bitPattern: bits & ~isLeft).map { unsafe Unmanaged.fromOpaque($0) }
  }

  /// The list that was there, which is the caller's now.
  private static func taken(_ bits: UInt) -> List? { unsafe list(bits)?.takeRetainedValue() }

  // MARK: The writer's

  /// Adds a handler. One that already has the key is removed, and the new one takes its turn. Gives ok, or running if a
  /// call of the old one has not returned; noMemory: the context stays the caller's.
  func add(
    _ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?
  ) -> Change {
    var entries = entries
    guard canChange(entries) else { return Change(status: Memory.refusal) }
    let entry = Entry(key, handler, context, finalizer)
    guard let index = index(of: key, in: entries) else {
      entries.append(entry)
      return change(to: entries)
    }
    let old = entries[index]
    entries[index] = entry
    return change(to: entries, without: old)
  }

  /// Gives ok, running if a call of the handler has not returned, ignored if the key names none; noMemory.
  func remove(_ key: String) -> Change {
    var entries = entries
    guard let index = index(of: key, in: entries) else { return Change(status: .ignored) }
    guard canChange(entries) else { return Change(status: Memory.refusal) }
    let old = entries.remove(at: index)
    return change(to: entries, without: old)
  }

  private var entries: [Entry] {
    unsafe Self.list(current.load(ordering: .relaxed))?.takeUnretainedValue().entries ?? []
  }

  /// Whether the array can be copied and take one more.
  private func canChange(_ entries: [Entry]) -> Bool {
    Memory.provides(2 * (entries.count + 1) * MemoryLayout<Entry>.stride + 64)
  }

  /// Keys are compared byte by byte: C has no canonical equivalence.
  private func index(of key: String, in entries: [Entry]) -> Int? {
    entries.firstIndex { $0.key.utf8.elementsEqual(key.utf8) }
  }

  /// A tick that reads the list that was there releases it.
  private func change(to entries: [Entry], without gone: Entry? = nil) -> Change {
    let new = UInt(bitPattern: unsafe Unmanaged.passRetained(List(entries)).toOpaque())
    let old = current.exchange(new, ordering: .sequentiallyConsistent)
    let isCalled = gone?.remove() ?? false
    let isLeft =
      old != Self.none
      && reading.compareExchange(expected: old, desired: old | Self.isLeft, ordering: .sequentiallyConsistent).exchanged
    return Change(status: isCalled ? .running : .ok, list: isLeft ? nil : Self.taken(old), entry: gone)
  }

  // MARK: The ticks'

  /// Calls the timer's own handler, then all that were added before the tick started, each with its own context. False
  /// if one of them has ended its thread; those after it are not called.
  func call(_ tick: CoreTick, after own: TickFunction) throws(Forked) -> Bool {
    let list = unsafe try beginReading()
    var returned = try own(tick)
    if let list = unsafe list {
      // SAFETY: there until `stopReading`.
      let entries = unsafe list.takeUnretainedValue().entries
      for entry in entries where returned { returned = try call(entry, tick) }
    }
    try stopReading(for: Self.none)
    return returned
  }

  /// Calls a handler unless it was removed.
  private func call(_ entry: Entry, _ tick: CoreTick) throws(Forked) -> Bool {
    if !entry.begins() { return true }
    var tick = tick
    tick.context = entry.owned.context
    let returned = try entry.handler(tick)
    entry.ends()
    return returned
  }

  /// The list, which stays while this tick reads it.
  private func beginReading() throws(Forked) -> Unmanaged<List>? {
    var list = current.load(ordering: .acquiring)
    while true {
      try stopReading(for: list)
      // Whoever changes the list looks for readers after that: one of the two sees the other.
      let now = current.load(ordering: .sequentiallyConsistent)
      if now == list { return unsafe Self.list(list) }
      list = now
    }
  }

  /// Reads another list, or none, and releases the one that was left to this tick.
  private func stopReading(for list: UInt) throws(Forked) {
    let left = reading.exchange(list, ordering: .sequentiallyConsistent)
    if left & Self.isLeft != 0 { try Fork.guarded { _ = Self.taken(left) } }
  }

  /// The timer's end: releases all, in the order in which they came.
  func close() throws(Forked) {
    guard let list = Self.taken(current.exchange(Self.none, ordering: .sequentiallyConsistent)) else { return }
    var entries = list.entries
    _ = consume list
    while !entries.isEmpty { try Fork.guarded { _ = entries.removeFirst() } }
  }
}

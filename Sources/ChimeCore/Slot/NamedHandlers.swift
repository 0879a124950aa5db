/// The handlers that were added to a timer. They are called at each tick, after the timer's own, in the order in which
/// their keys were added. Any thread; finalizers are called with no lock held.
final class NamedHandlers: Sendable {
  /// One handler with its key.
  private final class Entry: @unchecked Sendable {
    // Unchecked for the variables, which are guarded by the lock of the handlers.
    let key: String
    let handler: TickFunction
    let owned: OwnedContext
    /// Between a call that has started and its end.
    var isCalled = false
    /// No call starts any more.
    var isRemoved = false

    init(_ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?) {
      self.key = key
      self.handler = handler
      owned = OwnedContext(context, finalizer)
    }
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false

    /// Whether the array, which a call may be using, can be copied and take one more.
    var canChange: Bool { Memory.provides(2 * (entries.count + 1) * MemoryLayout<Entry>.stride + 64) }

    /// Keys are compared byte by byte: C has no canonical equivalence.
    func index(of key: String) -> Int? { entries.firstIndex { $0.key.utf8.elementsEqual(key.utf8) } }
  }

  private let state = Locked(State())

  /// Adds a handler. One that already has the key is removed, and the new one takes its turn. Gives ok, or running if a
  /// call of the old one has not returned; invalidHandle if the timer has been released, noMemory: the context stays the
  /// caller's.
  func add(
    _ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    change { state in
      guard state.canChange else { return (Memory.refusal, nil) }
      let entry = Entry(key, handler, context, finalizer)
      guard let index = state.index(of: key) else {
        state.entries.append(entry)
        return (.ok, nil)
      }
      defer { state.entries[index] = entry }
      return (.ok, state.entries[index])
    }
  }

  /// Gives ok, running if a call of the handler has not returned, ignored if the key names none; invalidHandle if the
  /// timer has been released, noMemory.
  func remove(_ key: String) -> Status {
    change { state in
      guard let index = state.index(of: key) else { return (.ignored, nil) }
      guard state.canChange else { return (Memory.refusal, nil) }
      return (.ok, state.entries.remove(at: index))
    }
  }

  /// - Parameter body: gives the entry that is removed, which is released with no lock held.
  private func change(_ body: (inout State) -> (Status, Entry?)) -> Status {
    let (status, old): (Status, Entry?) = state.withLock { state in
      if state.isClosed { return (.invalidHandle, nil) }  // which the caller explains
      let (status, old) = body(&state)
      old?.isRemoved = true
      return (old?.isCalled == true ? .running : status, old)
    }
    withExtendedLifetime(old) {}  // the last thing that the call does: it may fork
    return status
  }

  /// Calls the timer's own handler, then all that were added before the tick started, each with its own context. False
  /// if one of them has ended its thread; those after it are not called.
  func call(_ tick: CoreTick, after own: TickFunction) throws(Forked) -> Bool {
    let entries = state.withLock { $0.entries }
    guard try own(tick) else { return false }
    for entry in entries { guard try call(entry, tick) else { return false } }
    return true
  }

  /// Calls a handler unless it was removed. Ticks of one timer never overlap, and neither do these calls.
  private func call(_ entry: Entry, _ tick: CoreTick) throws(Forked) -> Bool {
    let starts = state.withLock { _ in
      entry.isCalled = !entry.isRemoved
      return entry.isCalled
    }
    if !starts { return true }
    var tick = tick
    tick.context = entry.owned.context
    let returned = try entry.handler(tick)
    state.withLock { _ in entry.isCalled = false }
    return returned
  }

  /// The timer's end: releases all, in the order in which they came.
  func close() throws(Forked) {
    var entries = state.withLock { state in
      state.isClosed = true
      defer { state.entries = [] }
      return state.entries
    }
    while !entries.isEmpty { try Fork.guarded { _ = entries.removeFirst() } }
  }
}

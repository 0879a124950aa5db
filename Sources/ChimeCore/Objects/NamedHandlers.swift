import Synchronization

/// The handlers that were added to a timer. They are called at each tick, after the timer's own, in the order in which
/// their keys were added. Any thread; finalizers are called with no lock held.
final class NamedHandlers: Sendable {
  /// One handler with its key. The last holder calls the finalizer.
  private final class Entry: Sendable {
    private let key: String
    private let handler: TickFunction
    private let context: Context
    private let finalizer: ContextFunction?

    private enum Use {
      case waiting, called, removed
    }

    /// Decides between a call that starts and a removal.
    private let use = Locked(Use.waiting)

    init(_ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?) {
      self.key = key
      self.handler = handler
      self.context = context
      self.finalizer = finalizer
    }

    deinit { finalizer?(context) }

    /// Whether the keys are equal byte by byte: C has no canonical equivalence.
    func has(_ key: String) -> Bool { self.key.utf8.elementsEqual(key.utf8) }

    /// Calls the handler unless it was removed. Ticks of one timer never overlap, and neither do these calls. False if
    /// it has ended its thread.
    func call(_ tick: TickRecord) -> Bool {
      let starts = use.withLock { use in
        if use == .waiting { use = .called }
        return use == .called
      }
      if !starts { return true }
      var tick = tick
      tick.context = context
      let returned = handler(tick)
      use.withLock { use in if use == .called { use = .waiting } }
      return returned
    }

    /// No call starts any more. True if one is under way.
    func remove() -> Bool {
      use.withLock { use in
        defer { use = .removed }
        return use == .called
      }
    }
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false

    /// Whether the array, which a call may be using, can be copied and take one more.
    var canChange: Bool { Memory.provides(2 * (entries.count + 1) * MemoryLayout<Entry>.stride + 64) }
  }

  private let state = Locked(State())

  /// Adds a handler. One that already has the key is removed, and the new one takes its turn. Gives ok, or running if a
  /// call of the old one has not returned; invalidHandle if the timer has been released, noMemory: the context stays the
  /// caller's.
  func add(
    _ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    let (status, old): (Status, Entry?) = state.withLock { state in
      if state.isClosed { return (.invalidHandle, nil) }
      guard state.canChange else { return (Memory.refusal, nil) }
      let entry = Entry(key, handler, context, finalizer)
      if let index = state.entries.firstIndex(where: { $0.has(key) }) {
        let old = state.entries[index]
        state.entries[index] = entry
        return (.ok, old)
      }
      state.entries.append(entry)
      return (.ok, nil)
    }
    return old?.remove() == true ? .running : status
  }

  /// Gives ok, running if a call of the handler has not returned, ignored if the key names none; invalidHandle if the
  /// timer has been released, noMemory.
  func remove(_ key: String) -> Status {
    let (status, old): (Status, Entry?) = state.withLock { state in
      if state.isClosed { return (.invalidHandle, nil) }
      guard let index = state.entries.firstIndex(where: { $0.has(key) }) else { return (.ignored, nil) }
      guard state.canChange else { return (Memory.refusal, nil) }
      return (.ok, state.entries.remove(at: index))
    }
    return old?.remove() == true ? .running : status
  }

  /// Calls the timer's own handler, then all that were added before the tick started, each with its own context. False
  /// if one of them has ended its thread; those after it are not called.
  func call(_ tick: TickRecord, after own: TickFunction) -> Bool {
    let entries = state.withLock { $0.entries }
    return own(tick) && entries.allSatisfy { $0.call(tick) }
  }

  /// The timer's end: releases all, in the order in which they came.
  func close() {
    var entries = state.withLock { state in
      state.isClosed = true
      defer { state.entries = [] }
      return state.entries
    }
    while !entries.isEmpty { entries.removeFirst() }
  }
}

extension TimerRef {
  /// Adds a handler with a key; it is called after the timer's own at each tick.
  ///
  /// - Returns: ok; running if a call of the one that had the key has not returned; invalidHandle; unsupported where
  ///   ticks are taken as records; noMemory. On failure the context stays the caller's.
  package func addHandler(
    _ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    if control.givesRecords {
      return word == nil
        ? .invalidHandle : Status.unsupported.because("the timer's queue gives records, and calls no handlers")
    }
    let fresh = NamedHandlers()
    guard let word = beginWriting() else { return .invalidHandle }
    guard let sideRecord = slot.makeSideRecord() else {
      abandonWriting(word)
      return Memory.refusal
    }
    let named = sideRecord.named ?? fresh
    if unsafe sideRecord.value.named == nil { sideRecord.update { unsafe $0.named = Unmanaged.passRetained(fresh) } }
    abandonWriting(word)
    return named.add(key, handler, context, finalizer)
  }

  /// Removes the handler with that key; no call of it starts afterwards.
  /// - Returns: ok; running if a call of it has not returned; ignored if there is none; invalidHandle.
  package func removeHandler(_ key: String) -> Status {
    guard let word = beginWriting() else { return .invalidHandle }
    let named = slot.sideRecord?.named
    abandonWriting(word)
    return named?.remove(key) ?? .ignored
  }
}

import Synchronization

/// The handlers of one timer beside the one that it was made with: called after that, at each tick, in the order in
/// which their keys came. Any thread; finalizers are called with no lock held.
final class NamedHandlers: Sendable {
  /// One handler under its key. What holds it last calls the finalizer.
  private final class Entry: Sendable {
    private let key: String
    private let handler: TickFunction
    private let context: Context
    private let finalizer: ContextFunction?

    private enum Use {
      static let waiting: UInt8 = 0
      static let called: UInt8 = 1
      static let removed: UInt8 = 2
    }

    /// Decides between a call that starts and a removal (P15, Sources/README.md).
    private let use = Atomic<UInt8>(Use.waiting)

    init(_ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?) {
      self.key = key
      self.handler = handler
      self.context = context
      self.finalizer = finalizer
    }

    deinit { finalizer?(context) }

    /// Whether the keys' bytes are the same: C knows no canonical equivalence.
    func has(_ key: String) -> Bool { self.key.utf8.elementsEqual(key.utf8) }

    /// Calls the handler unless it was removed. Ticks of one timer never overlap, and neither do these calls. False when
    /// it has ended its thread.
    func call(_ tick: TickRecord) -> Bool {
      let start = use.compareExchange(expected: Use.waiting, desired: Use.called, ordering: .acquiringAndReleasing)
      guard start.exchanged else { return true }
      var tick = tick
      tick.context = context
      let returned = handler(tick)
      _ = use.compareExchange(expected: Use.called, desired: Use.waiting, ordering: .acquiringAndReleasing)
      return returned
    }

    /// No call starts any more. True when one is under way.
    func remove() -> Bool { use.exchange(Use.removed, ordering: .acquiringAndReleasing) == Use.called }
  }

  private struct State {
    var entries: [Entry] = []
    var isClosed = false

    /// Whether the array, which a call may be using, can be copied and take one more.
    var canChange: Bool { Memory.provides(2 * (entries.count + 1) * MemoryLayout<Entry>.stride + 64) }
  }

  private let state = Locked(State())

  /// Adds a handler; one that had the key is removed, and the new one takes its place. Gives ok, or running when a call
  /// of the old one has not returned; invalidHandle when the timer has been released, noMemory: the context stays the
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

  /// Gives ok, running when a call of the handler has not returned, ignored when the key names none, or noMemory.
  func remove(_ key: String) -> Status {
    let (status, old): (Status, Entry?) = state.withLock { state in
      guard let index = state.entries.firstIndex(where: { $0.has(key) }) else { return (.ignored, nil) }
      guard state.canChange else { return (Memory.refusal, nil) }
      return (.ok, state.entries.remove(at: index))
    }
    return old?.remove() == true ? .running : status
  }

  /// Calls the timer's own handler, then all that were there before it, each with its own context in the tick. False
  /// when one of them has ended its thread; those behind it are not called.
  func call(_ tick: TickRecord, after own: TickFunction) -> Bool {
    let entries = state.withLock { $0.entries }
    return own(tick) && entries.allSatisfy { $0.call(tick) }
  }

  /// The timer's end: lets go of all, in the order in which they came.
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
  /// Has `handler` called after the timer's own at each tick, under a key of its own.
  ///
  /// - Returns: ok; running when a call of the one that had the key has not returned; invalidHandle; unsupported where
  ///   ticks are taken as records; noMemory. On failure the context stays the caller's.
  package func addHandler(
    _ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    if control.givesRecords { return word == nil ? .invalidHandle : .unsupported }
    let fresh = NamedHandlers()
    guard let word = beginWriting() else { return .invalidHandle }
    guard let sideRecord = slot.makeSideRecord() else {
      abandonWriting(word)
      return .noMemory
    }
    let named = sideRecord.named ?? fresh
    if unsafe sideRecord.value.named == nil { sideRecord.update { unsafe $0.named = Unmanaged.passRetained(fresh) } }
    abandonWriting(word)
    return named.add(key, handler, context, finalizer)
  }

  /// Forgets the handler under that key; no call of it starts afterwards.
  /// - Returns: ok; running when a call of it has not returned; ignored when there is none; invalidHandle.
  package func removeHandler(_ key: String) -> Status {
    guard let word = beginWriting() else { return .invalidHandle }
    let named = slot.sideRecord?.named
    abandonWriting(word)
    return named?.remove(key) ?? .ignored
  }
}

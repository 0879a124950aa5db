import Synchronization

/// What threads of the pool run: a queue's passes, or a worker of a concurrent queue. An item has one turn at a time, on
/// whichever thread; it asks for one now (`run`) or at a time (`arm`). It counts as prepared.
@safe final class PoolItem: Worker, @unchecked Sendable {
  // Unchecked: all that changes is behind the pool's lock, or atomic, but for the links that are set before others see them.

  typealias Body = @Sendable (Wants) throws(Forked) -> Void

  /// What a turn is for.
  struct Wants: OptionSet {
    let rawValue: UInt8
    /// A pass, or whatever else the body does.
    static var pass: Wants { Wants(rawValue: 1) }
    /// What else the host wants done there.
    static var jobs: Wants { Wants(rawValue: 2) }
  }

  /// Whether it has a turn. Only who holds the pool's lock makes a resting item ready, and gives a ready one its turn; anybody
  /// may borrow the turn of a resting one.
  private enum Turn {
    static var resting: UInt8 { 0 }
    static var ready: UInt8 { 1 }
    static var running: UInt8 { 2 }
    static var borrowed: UInt8 { 3 }
  }

  let qos: QualityOfService
  /// What a turn does; gone when the item has been closed.
  var body: Body?
  var isClosed: Bool { body == nil }
  /// When it wants a turn, and where that is in the heap.
  var time = Int64.max
  var place = -1
  /// In the list of those that are ready, and when it came there.
  var next: PoolItem?
  var since: Int64 = 0

  /// Its mark among those that ask for turns, and the next item that has the same.
  var mark = 0
  var nextOfMark: UnsafeMutableRawPointer?
  /// What has been asked for since the last turn began. Pairs with `turn`: whoever asks stores this, and its mark, then loads
  /// that; the end of a turn, of whichever kind, stores that, then loads this (P23, P23d).
  private let asked = Atomic<UInt8>(0)
  private let turn = Atomic<UInt8>(Turn.resting)

  init(_ qos: QualityOfService) { self.qos = qos }

  /// - Parameter body: called once a turn. It is released when the item has been closed.
  func open(_ body: @escaping Body) {
    self.body = body
    PoolRequests.add(self)
  }

  /// One that makes a concurrent queue's callbacks.
  static func makeWorker(_ qos: QualityOfService, _ body: @escaping @Sendable () throws(Forked) -> Void) -> any Worker {
    Pool.prepareWorker()
    let item = PoolItem(qos)
    item.open { _ throws(Forked) in try body() }
    return item
  }

  /// Asks for a turn at a time, in place of any time before; `.max` for none.
  func arm(at time: Int64) {
    let rescue = Pool.state.withContendedLock { state in
      if isClosed { return PoolState.Rescue.none }
      state.place(self, at: time)
      // The thread that has the turn sees to the time at its end.
      return isRunning ? .none : state.lookFromOutside(Clock.monotonic.now)
    }
    Pool.rescue(rescue)
  }

  func run() { run(.pass) }

  /// Takes no lock, except where the system refuses the pool threads.
  func run(_ wants: Wants) { Pool.comeAfter(PoolRequests.ask(for: self, wants)) }

  /// No bell is rung: the end of the caller's turn looks at the marks.
  func runAfterTurn() { PoolRequests.mark(self, .pass) }

  /// Notes what is asked for, before the item's mark is set.
  func ask(_ wants: Wants) {
    if asked.load(ordering: .sequentiallyConsistent) & wants.rawValue == wants.rawValue { return }
    _ = asked.bitwiseOr(wants.rawValue, ordering: .sequentiallyConsistent)
  }

  /// Whether something has been asked for since its last turn began.
  var isAsked: Bool { asked.load(ordering: .sequentiallyConsistent) != 0 }

  /// Whether it has a turn, whose end looks at what was asked for.
  var hasTurn: Bool { turn.load(ordering: .sequentiallyConsistent) >= Turn.running }

  func close() {
    // A turn that is under way, perhaps the caller's, holds what it runs. Released outside the lock.
    _ = Pool.state.withContendedLock { $0.close(self) }
  }

  // MARK: With the pool's lock held

  var isReady: Bool { turn.load(ordering: .relaxed) == Turn.ready }
  var isRunning: Bool { turn.load(ordering: .relaxed) == Turn.running }

  /// Makes it ready for a turn; false if it is already, or has one.
  func beReady() -> Bool { leaveRest(for: Turn.ready) }

  private func leaveRest(for next: UInt8) -> Bool {
    turn.compareExchange(expected: Turn.resting, desired: next, ordering: .sequentiallyConsistent).exchanged
  }

  /// Gives the turn for which it is ready, and takes what was asked for.
  func beginTurn() -> Wants {
    turn.store(Turn.running, ordering: .sequentiallyConsistent)
    return Wants(rawValue: asked.exchange(0, ordering: .sequentiallyConsistent))
  }

  /// Whoever ends a turn then looks at what was asked for (P23).
  func rest() { turn.store(Turn.resting, ordering: .sequentiallyConsistent) }

  // MARK: A turn of the caller's

  /// Borrows the turn for the calling thread; false if another one has it, or is about to.
  func borrowTurn() -> Bool { !isAsked && leaveRest(for: Turn.borrowed) }

  /// Ends a turn that was borrowed. What was asked for meanwhile has waited for this (P23).
  func giveTurnBack() {
    rest()
    if isAsked { run([]) }
  }

  /// Runs a turn that waits for a thread of the pool which there may never be; false if it does not.
  func runStarvingTurn() throws(Forked) -> Bool {
    guard let (body, wants) = takeStarvingTurn() else { return false }
    // The callbacks that the thread is inside wait for this item: its own are not inside them.
    try ThreadState.outsideCallbacks { () throws(Forked) in try body(wants) }
    withoutCancellation { endStarvingTurn() }
    return true
  }

  private func takeStarvingTurn() -> (Body, Wants)? {
    // A waiter is registered before this, and told after the bell shows it (P23c).
    if !PoolRequests.starve { return nil }
    return Pool.state.withContendedLock { state in
      state.takeRequests()
      guard isReady, state.isStarving, let body else { return nil }
      return (body, state.take(self))
    }
  }

  private func endStarvingTurn() {
    let rescue = Pool.state.withContendedLock { state in
      let now = Clock.monotonic.now
      state.end(self, now)
      // What the turn held up, or armed.
      return state.lookFromOutside(now)
    }
    Pool.rescue(rescue)
  }
}

/// A serial place on the pool for work of the host's, such as an actor's, which a queue may share: then the work and the
/// queue's handlers exclude each other. It outlives the queue. Any thread.
package final class PoolWork: Sendable {
  private struct State {
    var jobs: [@Sendable () -> Void] = []
    var pass: (@Sendable () throws(Forked) -> Void)?
  }

  /// What the turns do; held by their item, so that the last job may release the work.
  private final class TurnBody: Sendable {
    let state = Locked(State())
    /// The number of the thread that has the turn; 0: none. Compared only with the caller's own (P18b).
    let thread = Atomic<UInt64>(0)

    func run(_ wants: PoolItem.Wants) throws(Forked) {
      let (jobs, pass) = state.withLock { state in (state.jobs.takeAll(), state.pass) }
      thread.store(ThreadNumber.current, ordering: .relaxed)
      for job in jobs { try Fork.guarded(job) }
      if wants.contains(.pass), let pass { try pass() }
      thread.store(0, ordering: .relaxed)
    }
  }

  let item: PoolItem
  private let turn = TurnBody()

  private init(_ qos: QualityOfService) {
    item = PoolItem(qos)
    item.open { [turn] wants throws(Forked) in try turn.run(wants) }
  }

  deinit { item.close() }

  /// A new one, or why there is none: resource, noMemory, forked.
  package static func make(_ qos: QualityOfService) throws(Status) -> PoolWork {
    if Fork.isChild { throw .inChild }
    try Pool.prepare().orThrow()
    return PoolWork(qos)
  }

  /// Runs a job in a turn, later, in the order of the calls.
  package func async(_ job: @escaping @Sendable () -> Void) {
    turn.state.withLock { $0.jobs.append(job) }
    item.run(.jobs)
  }

  /// Whether the caller is inside a turn.
  package var isCurrent: Bool { threadNumber == ThreadNumber.current }

  var threadNumber: UInt64 { turn.thread.load(ordering: .relaxed) }

  /// Sets what a queue does in the turns; `nil` for nothing any more.
  func share(_ pass: (@Sendable () throws(Forked) -> Void)?) {
    // The old one is released outside the lock.
    _ = turn.state.withLock { state in
      defer { state.pass = pass }
      return state.pass
    }
  }
}

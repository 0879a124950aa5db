import Synchronization

/// What threads of the pool run: a queue's passes, or a worker of a concurrent queue. An item has one turn at a time, on
/// whichever thread; it asks for one now (`run`) or at a time (`arm`). It counts as prepared.
final class PoolItem: Worker, @unchecked Sendable {
  // Unchecked: all that changes is behind the pool's lock, or atomic.

  typealias Body = @Sendable (Wants) throws(Forked) -> Void

  /// What a turn is for.
  struct Wants: OptionSet {
    let rawValue: UInt8
    /// A pass, or whatever else the body does.
    static var pass: Wants { Wants(rawValue: 1) }
    /// What else the host wants done there.
    static var jobs: Wants { Wants(rawValue: 2) }
  }

  enum State { case resting, ready, running }

  let qos: QualityOfService
  /// What a turn does; gone when the item has been closed.
  var body: Body?
  private(set) var state = State.resting
  /// What has been asked for since the last turn began.
  var wants: Wants = []
  var isClosed: Bool { body == nil }
  /// When it wants a turn, and where that is in the heap.
  var time = Int64.max
  var place = -1
  /// In the list of those that are ready, and when it came there.
  var next: PoolItem?
  var since: Int64 = 0

  /// Its mark among those that ask for turns, and the next item that has the same.
  var mark = 0
  var nextOfMark: PoolItem?
  /// What has been asked for without the lock. Stored before the mark, taken after it (P23d).
  private let asked = Atomic<UInt8>(0)
  /// Whether it is running. Pairs with the marks: whoever asks sets those, then loads this; the end of a turn stores this, then
  /// takes those (P23d).
  let hasTurn = Atomic<Bool>(false)

  init(_ qos: QualityOfService) { self.qos = qos }

  /// - Parameter body: called once a turn. It is released when the item has been closed.
  func open(_ body: @escaping Body) {
    self.body = body
    Pool.state.withBusyLock { $0.open(self) }
  }

  /// Asks for a turn at a time, in place of any time before; `.max` for none.
  func arm(at time: Int64) {
    let help = Pool.state.withBusyLock { state in
      if isClosed { return PoolState.Help.none }
      state.place(self, at: time)
      // The thread that has the turn sees to the time at its end.
      return self.state == .running ? .none : state.lookFromOutside(Clock.monotonic.now)
    }
    Pool.help(help)
  }

  func run() { run(.pass) }

  /// Takes no lock, except where the pool lacks a thread.
  func run(_ wants: Wants) {
    if PoolRequests.ask(for: self, wants) {
      Pool.help(Pool.state.withBusyLock { $0.lookFromOutside(Clock.monotonic.now) })
    }
  }

  /// No bell is rung: the end of the caller's turn looks at the marks.
  func runAfterTurn() { PoolRequests.mark(self, .pass) }

  /// Notes what is asked for, before the item's mark is set.
  @inline(__always)
  func ask(_ wants: Wants) {
    if asked.load(ordering: .sequentiallyConsistent) & wants.rawValue == wants.rawValue { return }
    _ = asked.bitwiseOr(wants.rawValue, ordering: .sequentiallyConsistent)
  }

  /// Takes what was asked for. With the pool's lock held.
  func takeAsked() -> Wants {
    if asked.load(ordering: .sequentiallyConsistent) == 0 { return [] }
    return Wants(rawValue: asked.exchange(0, ordering: .sequentiallyConsistent))
  }

  func close() {
    // A turn that is under way, perhaps the caller's, holds what it runs. Released outside the lock.
    _ = Pool.state.withBusyLock { $0.close(self) }
  }

  // MARK: Its state, with the pool's lock held

  func beReady() { state = .ready }

  func beginTurn() {
    state = .running
    hasTurn.store(true, ordering: .sequentiallyConsistent)
  }

  /// It rests; whoever ends a turn then takes what was asked for (P23d).
  func rest() {
    state = .resting
    hasTurn.store(false, ordering: .sequentiallyConsistent)
  }

  // MARK: A turn of the caller's

  /// Takes a turn on the calling thread; false if another one has it, or is about to.
  func takeTurn() -> Bool {
    Pool.state.withBusyLock { pool in
      pool.takeRequests()
      if state != .resting || isClosed { return false }
      beginTurn()
      return true
    }
  }

  /// Runs a turn that waits for a thread of the pool which there may never be; false if it does not.
  func runStarvingTurn() throws(Forked) -> Bool {
    guard let (body, wants) = takeStarvingTurn() else { return false }
    // The callbacks that the thread is inside wait for this item: its own are not inside them.
    try ThreadState.outsideCallbacks { () throws(Forked) in try body(wants) }
    withoutCancellation { endTurn() }
    return true
  }

  private func takeStarvingTurn() -> (Body, Wants)? {
    Pool.state.withBusyLock { state in
      state.takeRequests()
      guard self.state == .ready, state.isStarving, let body else { return nil }
      let wants = wants
      state.take(self)
      return (body, wants)
    }
  }

  func endTurn() {
    let help = Pool.state.withBusyLock { state in
      let now = Clock.monotonic.now
      state.end(self, now)
      // What the turn held up, or armed.
      return state.lookFromOutside(now)
    }
    Pool.help(help)
  }
}

/// Where a concurrent queue's handlers run.
final class PoolQueue: BlockQueue {
  private let qos: QualityOfService
  init(_ qos: QualityOfService) { self.qos = qos }

  func makeWorker(_ body: @escaping @Sendable () throws(Forked) -> Void) -> any Worker {
    Pool.prepareWorker()
    let item = PoolItem(qos)
    item.open { _ throws(Forked) in try body() }
    return item
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

internal import CPlatform
import Synchronization

/// Chime's own threads, on which serial and concurrent queues run, shared by all queues of the process.
///
/// A thread that has nothing to do waits in one poller for three things: the earliest time that any item wants, a bell,
/// and steps of the wall clock. The kernel wakes one thread, on Linux the one that went to sleep last. That thread runs the
/// item, which is a queue's pass, itself. Before that it sees to it that another thread wakes up for the next time that is
/// wanted, so a slow handler holds up no other queue. One wait has the time in it where that is enough: a queue that is
/// alone costs one system call a wake-up.
///
/// There are two threads as long as there is an item, so that one waits while the other has a turn; and more, up to one
/// for each item: the thread that takes the last turn begins another, and so does whoever wants something while none can
/// wait. But while every processor has a turn, the last
/// thread that waits takes none, unless no turn has ended for a millisecond: only handlers that stay long make threads.
/// Where the system refuses a thread, see `begin(triesLeft:)` and `rescue`. (P23, P23b, P23c.)
package enum Pool: ProcessState {
  static var threadLimit: Int { 255 }
  /// So many there are as long as there are items: one for a turn, and one that waits meanwhile.
  static var fewestThreads: Int { 2 }

  /// What a thread does next.
  enum Step {
    /// Gives an item its turn. `tries`: and begins another thread before that, with that many tries. `starves`: what else
    /// is ready waits for a thread that there may never be.
    case run(PoolItem, PoolItem.Body, PoolItem.Wants, tries: Int, starves: Bool)
    /// Waits without sleeping until the time, or until something is wanted.
    case spin(until: Int64)
    /// Sleeps; for so many nanoseconds at most, if not negative.
    case wait(limit: Int64, isKeeper: Bool)
    case end
  }

  static let state = Locked(PoolState())
  /// An item is ready: ends spinning, as a request does. A hint, looked at without the lock; nothing is read by what it says.
  static let isWanted = Atomic<Bool>(false)

  /// What floors above want to hear; they say so in their `makeGlobals`.
  struct Listeners {
    /// Who waits for a queue may have to give it its turn.
    var waitersMayRun: @Sendable () -> Void = {}
    /// The descriptor of `watch` was readable.
    var clockHasStepped: @Sendable () -> Void = {}
  }

  static let listeners = Locked(Listeners())

  private static func tellWaiters() { listeners.withLock { $0.waitersMayRun }() }

  static func makeGlobals() {
    state.withLock { _ in }
    listeners.withLock { _ in }
  }

  /// A child has no threads, and begins with a poller of its own.
  static func reinitialize() {
    reinitializeThreads()
    listeners.reinitialize()
    isWanted.store(false, ordering: .relaxed)
    inPoller.store(0, ordering: .relaxed)
  }

  static func reinitializeThreads() {
    state.reinitialize(PoolState())
    uncounted.store(0, ordering: .relaxed)
  }

  // MARK: Items

  /// Counts one more item, and sees to it that there is a thread; `unprepare`, or the item's end, takes it back.
  /// - Returns: ok; resource; noMemory.
  static func prepare() -> Status {
    guard Fork.watch() else { return Memory.refusal }
    if PoolCount.enter() {
      if PoolRequests.noThreadIsFree { beginUncounted() }
      return .ok
    }
    let (status, threads) = state.withLock { $0.prepare() }
    var missing = threads
    while missing > 0, begin() { missing -= 1 }
    if missing == 0 { return status }
    // It runs on those that there are.
    let (answer, isStarving): (Status, Bool) = state.withLock { state in
      state.wereRefused(threads: missing)
      if state.threads > 0 { return (.ok, state.isStarving) }
      state.leave()
      _ = PoolCount.close()
      return (.resource, false)
    }
    if isStarving { tellWaiters() }
    return answer
  }

  /// Counts one that wants no turn at a time: nothing is needed for it, and the threads are begun by those that there are.
  static func prepareWorker() {
    if !PoolCount.enter() { state.withLock { _ in PoolCount.open() } }
  }

  static func unprepare() { state.withLock { $0.leave() } }

  /// Has a thread listen to the descriptor of the wall clock's steps. Some item is prepared.
  static func watch(_ file: Int32) -> Bool {
    // Kept open by the item, and no other thread waits here for one that holds the lock.
    unsafe withUnsafePointer(to: PoolRequests.poller) { unsafe chime_poller_add($0, file) }
  }

  /// Ends that, before the descriptor is closed.
  static func endWatch(_ file: Int32) {
    var poller = unsafe PoolRequests.poller
    unsafe chime_poller_remove(&poller, file)
  }

  // MARK: Threads

  /// Begins a thread that was counted; false if there is none.
  private static func begin() -> Bool {
    Memory.promises { OwnThread.start(name: "chime.pool") { work(.born) } == .ok }
  }

  /// Begins a thread that was counted, and asks the system again and again where it refuses one: when the caller has its
  /// turn nobody is left to ask. Once the system has refused that long, it is asked once a turn.
  private static func begin(triesLeft: Int) {
    var triesLeft = triesLeft
    while !begin() {
      triesLeft -= 1
      if triesLeft <= 0 { break }
      chime_rest(1000)
    }
    if triesLeft > 0 { return }
    let isStarving = state.withLock { state in
      state.wereRefused(threads: 1)
      return state.isStarving
    }
    if isStarving { tellWaiters() }
  }

  /// Threads that were begun without the lock, and have not come: a thread is counted once it has been begun.
  private static let uncounted = Atomic<Int>(0)

  /// Begins a thread without the lock, unless one is on its way. It counts itself. Two threads may begin one each.
  private static func beginUncounted() {
    if uncounted.load(ordering: .sequentiallyConsistent) > 0 { return }
    if Memory.promises({ OwnThread.start(name: "chime.pool") { work(.uncounted) } == .ok }) {
      uncounted.add(1, ordering: .sequentiallyConsistent)
      return
    }
    let isStarving = state.withLock { state in
      state.wereRefused(threads: 0)
      return state.isStarving
    }
    if isStarving { tellWaiters() }
  }

  static func noteArrivalOfUncounted() { uncounted.subtract(1, ordering: .sequentiallyConsistent) }

  /// Does what is left to do for a turn that was asked for.
  static func comeAfter(_ answer: PoolRequests.Answer) {
    if answer != .heard { comeAfterAll(answer) }
  }

  @inline(never)
  private static func comeAfterAll(_ answer: PoolRequests.Answer) {
    if answer == .lacksThread { return withoutCancellation { beginUncounted() } }
    rescue(state.withContendedLock { $0.lookFromOutside(Clock.monotonic.now) })
  }

  /// Does for what is wanted what no thread of the pool can do (P23b, P23c).
  static func rescue(_ rescue: PoolState.Rescue) {
    if rescue != .none { giveRescue(rescue) }
  }

  @inline(never)
  private static func giveRescue(_ rescue: PoolState.Rescue) {
    if rescue == .thread { withoutCancellation { begin(triesLeft: 1) } } else { tellWaiters() }
  }

  /// A thread of the pool; `workerEvent`: what it has done so far.
  private static func work(_ workerEvent: WorkerEvent) {
    var workerEvent = workerEvent
    while true {
      var (step, poller) = state.withContendedLock { ($0.next(workerEvent), $0.poller) }
      switch step {
      case .run(let item, let body, let wants, let tries, let starves):
        if tries > 0 { begin(triesLeft: tries) }
        if starves { tellWaiters() }
        do throws(Forked) { try body(wants) } catch { return }
        workerEvent = .fromTurn(item)
        if ThreadEnd.isCaught, isReplaced(workerEvent) { return }
      case .spin(let time):
        spin(until: time)
        workerEvent = .fromSpin
      case .wait(let limit, let isKeeper):
        let event = wait(&poller, limit)
        if event == .file { listeners.withLock { $0.clockHasStepped }() }
        workerEvent = .fromWait(isKeeper: isKeeper, event)
        if ThreadEnd.isPending, isReplaced(workerEvent) { return }
      case .end: return
      }
    }
  }

  /// The thread is to end: another one works on in its place. False if there is none.
  private static func isReplaced(_ workerEvent: WorkerEvent) -> Bool {
    Memory.promises { OwnThread.start(name: "chime.pool") { work(workerEvent) } == .ok }
  }

  private static func spin(until time: Int64) {
    while !isWanted.load(ordering: .relaxed), PoolRequests.isEmpty, Clock.monotonic.now < time { chime_spin() }
  }

  /// Where a thread comes from that asks what to do.
  enum WorkerEvent: Sendable {
    case born
    /// It was begun without the lock.
    case uncounted
    case fromTurn(PoolItem)
    case fromSpin
    case fromWait(isKeeper: Bool, Event)
  }

  /// What has ended a thread's wait.
  enum Event: Sendable {
    case nothing, time, bell, file
  }

  private static func wait(_ poller: inout chime_poller, _ limit: Int64) -> Event {
    noteInPoller(1)
    defer { noteInPoller(-1) }
    switch Int(unsafe chime_poller_wait(&poller, limit)) {
    case CHIME_POLLER_TIME: return .time
    case CHIME_POLLER_BELL: return .bell
    case CHIME_POLLER_FILE: return .file
    default: return .nothing
    }
  }
}

extension Pool {
  /// Threads that are inside their wait, for a check.
  static let inPoller = Atomic<Int>(0)

  private static func noteInPoller(_ count: Int) {
    if invariantsAreChecked { inPoller.add(count, ordering: .sequentiallyConsistent) }
  }
}

extension QualityOfService {
  /// 0 to 4.
  var rank: Int {
    switch number {
    case QualityOfService.background.number: 0
    case QualityOfService.utility.number: 1
    case QualityOfService.userInitiated.number: 3
    case QualityOfService.userInteractive.number: 4
    default: 2
    }
  }
}

internal import CPlatform
import Synchronization

/// The threads of serial and concurrent queues that do without libdispatch, shared by all of them.
///
/// A thread that has nothing to do waits in one epoll, in which one kernel timer stands for the earliest time that any
/// item wants; the kernel wakes one thread for it, the one that came last. That thread runs the item, a queue's pass,
/// itself. Before, if other items want a time, it sets the timer for the next of those; so a slow handler holds up no
/// other queue, and no thread wakes up only to wake another one. There is always one more thread than run, until there
/// are as many as items: it is begun by the thread that takes the last turn.
package enum Pool: ProcessState {
  fileprivate static var mostThreads: Int { 255 }
  /// How long an item may wait for a turn while all processors have one.
  fileprivate static var patience: Int64 { 1_000_000 }
  /// Threads beyond the last one that waits end after so long without a turn.
  fileprivate static var idleMilliseconds: Int32 { 5_000 }

  fileprivate struct List {
    var first: PoolItem?
    var last: PoolItem?
  }

  fileprivate struct State {
    var poller: Int32 = -1
    var timer: Int32 = -1
    /// What wakes a thread at once: a kernel timer that is set for now takes an interrupt.
    var bell: Int32 = -1
    var isRung = false
    /// The time that the timer is set for; `.max`: for none, or it has come.
    var timerTime = Int64.max
    /// What wants a turn now: by class, in the order in which it came.
    var ready = (List(), List(), List(), List(), List())
    var readyCount = 0
    /// What wants a turn at a time: a heap.
    var heap: [PoolItem] = []
    var processors = 1
    /// How many items there are, with those that are about to be made.
    var items = 0
    var threads = 0
    var idle = 0
    /// When the last turn ended.
    var lastEnd = Int64.min
  }

  fileprivate static let state = Locked(State(), inherits: false)

  static func makeGlobals() { state.withLock { _ in } }

  /// A child has no threads, and begins with a poller of its own.
  static func reinitialize() {
    state.reinitialize()
    let (poller, timer, bell) = state.withLock { ($0.poller, $0.timer, $0.bell) }
    Fork.closeInherited(timer)
    if poller >= 0, chime_poller_is_one(poller) { close(poller) }
    if bell >= 0, chime_poller_is_one(bell) { close(bell) }
    state.reinitialize(State())
  }

  // MARK: Items

  /// Counts `count` more items, and has a thread for them; `end` takes them back.
  /// - Returns: ok; resource; noMemory; forked.
  static func prepare(_ count: Int) -> Status {
    Fork.watch()
    let (status, begins) = state.withLock { state -> (Status, Int) in
      if state.poller < 0 {
        let poller = chime_poller_make()
        guard poller >= 0 else { return (.noTimerFile, 0) }
        let bell = chime_bell_make()
        guard bell >= 0, chime_poller_add(poller, bell, 2), let timer = TimerFile.make(.monotonic),
          chime_poller_add(poller, timer, 0)
        else {
          let status = Status.noTimerFile
          close(poller)
          close(bell)
          return (status, 0)
        }
        state.bell = bell
        state.poller = poller
        state.timer = timer
        state.processors = Int(chime_processors())
      }
      guard state.heap.makesRoom(for: state.items + count - state.heap.count) else { return (Memory.refusal, 0) }
      state.items += count
      let begins = state.idle == 0 && state.threads < min(state.items, 2) ? 1 : 0
      state.threads += begins
      return (.ok, begins)
    }
    guard status == .ok else { return status }
    if begins > 0, !begin() {
      let isAlone = state.withLock { state in
        if state.threads == 0 { state.items -= count }
        return state.threads == 0
      }
      if isAlone { return .resource }
    }
    return .ok
  }

  /// Begins a thread that was counted; false if there is none.
  private static func begin() -> Bool {
    if OwnThread.start(name: "chime.pool", work) == .ok { return true }
    state.withLock { $0.threads -= 1 }
    return false
  }

  static func unprepare(_ count: Int) { state.withLock { $0.items -= count } }

  // MARK: Threads

  fileprivate enum Step {
    case run(PoolItem, @Sendable () -> Void, begins: Bool)
    case wait(Int32, milliseconds: Int32)
  }

  private static func work() {
    let epoch = Fork.epoch
    var done: PoolItem?
    while true {
      let step = state.withBusyLock { $0.next(after: done) }
      done = nil
      switch step {
      case .run(let item, let body, let begins):
        if begins { _ = Memory.promises { begin() } }
        body()
        if Fork.epoch != epoch { return }
        done = item
      case .wait(let poller, let milliseconds):
        let number = withoutCancellation { chime_poller_wait(poller, milliseconds) }
        if state.withBusyLock({ $0.ends(number >= 0 ? -1 : milliseconds) }) { return }
        if number == 1 { WallClock.hasStepped() }
      }
    }
  }

  /// Has steps of the wall clock told by one of the threads.
  static func watch(_ file: Int32) -> Bool { chime_poller_add(state.withLock { $0.poller }, file, 1) }
}

extension Pool.State {
  fileprivate mutating func next(after done: PoolItem?) -> Pool.Step {
    let now = Clock.monotonic.now
    if let done { end(done, now) }
    if timerTime <= now { timerTime = .max }
    isRung = false
    while let item = heap.first, item.time <= now {
      remove(item)
      want(item, now)
    }
    while mayTake(now), let item = popReady() {
      item.isReady = false
      guard let body = item.body else { continue }
      item.isRunning = true
      let begins = idle == 0 && threads < min(items, Pool.mostThreads)
      if begins { threads += 1 }
      setTimer(now)
      return .run(item, body, begins: begins)
    }
    idle += 1
    setTimer(now)
    return .wait(poller, milliseconds: idle > 1 ? Pool.idleMilliseconds : -1)
  }

  /// After a wait: whether the thread is to end.
  fileprivate mutating func ends(_ waited: Int32) -> Bool {
    idle -= 1
    guard waited > 0, idle > 0 else { return false }
    threads -= 1
    return true
  }

  /// Whether a thread that waits for nothing may take a turn. The last one that could wait for a time holds back while all
  /// processors have turns, as long as those come to an end: else it begins another thread first.
  private func mayTake(_ now: Int64) -> Bool {
    idle > 0 || threads - 1 < processors || threads >= min(items, Pool.mostThreads) || now - Pool.patience >= lastEnd
  }

  fileprivate mutating func end(_ item: PoolItem, _ now: Int64) {
    item.isRunning = false
    lastEnd = now
    if item.isWanted {
      item.isWanted = false
      want(item, now)
    }
  }

  fileprivate mutating func want(_ item: PoolItem, _ now: Int64) {
    if item.isClosed || item.isReady { return }
    if item.isRunning {
      item.isWanted = true
      return
    }
    item.isReady = true
    item.since = now
    readyCount += 1
    switch item.band {
    case 0: ready.0.append(item)
    case 1: ready.1.append(item)
    case 2: ready.2.append(item)
    case 3: ready.3.append(item)
    default: ready.4.append(item)
    }
  }

  private mutating func popReady() -> PoolItem? {
    if readyCount == 0 { return nil }
    readyCount -= 1
    return ready.4.popFirst() ?? ready.3.popFirst() ?? ready.2.popFirst() ?? ready.1.popFirst() ?? ready.0.popFirst()
  }

  /// Sets the kernel's timer, if a thread waits for it: at once for what is ready while a processor has no turn; after
  /// some patience where all have; else for the earliest time.
  /// - Parameter isNew: something was added from outside, and nobody has come to look at it.
  fileprivate mutating func setTimer(_ now: Int64, isNew: Bool = false) {
    if idle == 0 { return }
    var time = heap.first?.time ?? .max
    if readyCount > 0 {
      if threads - idle < processors || isNew && idle > 1 {
        if !isRung { chime_bell_ring(bell) }
        isRung = true
        return
      }
      time = min(time, max(lastEnd, 0) + Pool.patience)
    }
    if time >= timerTime { return }
    timerTime = time
    TimerFile.set(timer, time)
  }

  // MARK: The heap

  fileprivate mutating func place(_ item: PoolItem, at time: Int64) {
    if time == .max { return remove(item) }
    let old = item.time
    item.time = time
    if item.place < 0 {
      item.place = heap.count
      heap.append(item)
      rise(item.place)
    } else if time < old {
      rise(item.place)
    } else {
      sink(item.place)
    }
  }

  fileprivate mutating func remove(_ item: PoolItem) {
    let i = item.place
    item.time = .max
    if i < 0 { return }
    item.place = -1
    let last = heap.removeLast()
    if last === item { return }
    heap[i] = last
    last.place = i
    rise(i)
    sink(last.place)
  }

  private mutating func rise(_ start: Int) {
    var i = start
    while i > 0 {
      let parent = (i - 1) / 2
      if heap[parent].time <= heap[i].time { return }
      exchange(i, parent)
      i = parent
    }
  }

  private mutating func sink(_ start: Int) {
    var i = start
    while true {
      var least = i
      for child in [2 * i + 1, 2 * i + 2] where child < heap.count && heap[child].time < heap[least].time {
        least = child
      }
      if least == i { return }
      exchange(i, least)
      i = least
    }
  }

  private mutating func exchange(_ i: Int, _ j: Int) {
    heap.swapAt(i, j)
    heap[i].place = i
    heap[j].place = j
  }
}

extension Pool.List {
  fileprivate mutating func append(_ item: PoolItem) {
    if let last { last.next = item } else { first = item }
    last = item
  }

  fileprivate mutating func popFirst() -> PoolItem? {
    guard let item = first else { return nil }
    first = item.next
    item.next = nil
    if first == nil { last = nil }
    return item
  }
}

/// What threads of the pool run, one at a time: a closure, now or at a time. It counts as prepared.
final class PoolItem: Runner, @unchecked Sendable {
  // Unchecked: everything that changes is behind the pool's lock, the closure the one's whose turn it is.
  fileprivate let band: UInt8
  fileprivate var body: (@Sendable () -> Void)?
  fileprivate var next: PoolItem?
  fileprivate var time = Int64.max
  fileprivate var since: Int64 = 0
  fileprivate var place = -1
  fileprivate var isReady = false
  fileprivate var isRunning = false
  /// Wanted again, while it runs.
  fileprivate var isWanted = false
  fileprivate(set) var isClosed = false

  init(_ qos: QualityOfService) {
    band =
      switch qos.number {
      case QualityOfService.background.number: 0
      case QualityOfService.utility.number: 1
      case QualityOfService.userInitiated.number: 3
      case QualityOfService.userInteractive.number: 4
      default: 2
      }
  }

  func open(_ body: @escaping @Sendable () -> Void) { self.body = body }

  /// Has it run at a time; `.max` for none. Its own turn.
  func arm(at time: Int64) {
    Pool.state.withBusyLock { state in
      if isClosed { return }
      state.place(self, at: time)
      // Whoever has the turn sets the timer at its end.
      if !isRunning { state.setTimer(Clock.monotonic.now) }
    }
  }

  func run() {
    Pool.state.withBusyLock { state in
      if isRunning || isReady || isClosed {
        isWanted = isRunning
        return
      }
      let now = Clock.monotonic.now
      state.want(self, now)
      state.setTimer(now, isNew: true)
    }
  }

  func close() {
    let body = Pool.state.withBusyLock { state in
      if !isClosed { state.items -= 1 }
      isClosed = true
      state.remove(self)
      defer { self.body = nil }
      return self.body
    }
    // Freed here, or when the turn has ended that the caller is in.
    _ = body
  }

  /// Takes a turn on the calling thread; false if somebody has it, or is about to.
  func takeTurn() -> Bool {
    Pool.state.withBusyLock { _ in
      if isRunning || isReady || isClosed { return false }
      isRunning = true
      return true
    }
  }

  func endTurn() {
    Pool.state.withBusyLock { state in
      let now = Clock.monotonic.now
      state.end(self, now)
      // The time of its own may have come meanwhile, which was noted as wanted.
      state.setTimer(now, isNew: true)
    }
  }
}

/// Where a concurrent queue's handlers run.
final class PoolQueue: BlockQueue {
  private let qos: QualityOfService
  init(_ qos: QualityOfService) { self.qos = qos }

  func makeRunner(_ body: @escaping @Sendable () -> Void) -> any Runner {
    _ = Pool.prepare(1)
    let item = PoolItem(qos)
    item.open(body)
    return item
  }
}

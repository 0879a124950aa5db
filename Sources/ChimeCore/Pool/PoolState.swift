internal import CPlatform
import Synchronization

/// What the threads of the pool share, behind its lock: the items that want a turn, now or at a time; and which threads
/// look after that.
///
/// While something is wanted and a thread waits, one of these is true: the bell has been rung, or the poller's time or
/// the keeper's limit is not later than what is wanted, or a thread is about to ask for its next step. So no turn is
/// forgotten: a thread asks for its next step before it waits, with the lock held from the question to the decision to
/// wait (P23b). Who wants a turn asks without the lock, and begins a thread where none can wait; what was asked for stands in
/// `PoolRequests` until a thread takes it here (P23d).
struct PoolState {
  var poller = chime_poller(file: -1, bell: -1, timer: -1)
  /// What `PoolRequests` shows of the threads.
  private var shown: UInt64 = 0
  /// The time that the poller is set for; `.max`: none, or a thread has been woken by it. What woke a thread has been used
  /// up, whatever the clock says: other processors' clocks may be ahead.
  private var timerTime = Int64.max
  /// When the wait of the thread ends whose limit stands for a time; `.max`: there is none.
  private var keeperTime = Int64.max
  private var ready = ReadyItems()
  /// Set with the poller.
  private var heap: ItemHeap!
  private var processors = 1
  /// All threads; those that have not asked for anything yet; those that wait; those that spin; and turns on threads of
  /// the pool.
  var threads = 0
  var born = 0
  private var idle = 0
  private var spinning = 0
  private var running = 0
  /// Turns that are under way of items that have been closed.
  private var closedTurns = 0
  /// Until when the system is not asked for a thread again, which it has refused; `nil`: it has not.
  private var refusedUntil: Int64?
  /// Since when there are no items.
  private var emptySince = Int64.min / 2
  /// When a turn ended last.
  private var lastEnd = Int64.min / 2
  /// When the thread went to sleep that did so last, and how many bells in a row have come soon after that.
  private var lastWait = Int64.min / 2
  private var soonRung = 0

  // MARK: Items

  /// Counts an item. Gives how many threads the caller has to begin, which are counted.
  mutating func prepare() -> (Status, threads: Int) {
    if poller.file < 0 {
      guard let table = unsafe PoolRequests.prepare() else { return (Memory.refusal, 0) }
      heap = unsafe ItemHeap(table)
      guard unsafe chime_poller_open(&poller) else { return (.noTimerFile, 0) }
      unsafe PoolRequests.poller = poller
      processors = max(1, Int(chime_processors()))
    }
    PoolCount.open()
    let missing = max(0, Pool.fewestThreads - threads)
    threads += missing
    born += missing
    show()
    return (.ok, missing > 0 ? missing : countsThread(Clock.monotonic.now) ? 1 : 0)
  }

  /// An item is gone. Without any, the threads end in their time: who waits without limit has to learn of it.
  mutating func leave() {
    guard PoolCount.leave() else { return }
    emptySince = Clock.monotonic.now
    if idle > 0 { ring() }
  }

  /// Whether a thread must begin, so that one can wait, and the system may be asked for it; counts it.
  private mutating func countsThread(_ now: Int64) -> Bool {
    guard noThreadIsFree, threads < mostThreads, now >= refusedUntil ?? .min else { return false }
    threads += 1
    born += 1
    show()
    return true
  }

  /// Whether the thread that asks, and has waited long, may end.
  private var canSpareThread: Bool { threads > Pool.fewestThreads && !noThreadIsFree && ready.isEmpty }

  /// As many as there are items can have a turn, beside those that have been closed in theirs.
  private var mostThreads: Int { min(max(PoolCount.items + closedTurns, Pool.fewestThreads), Pool.threadLimit) }

  private var noThreadIsFree: Bool { idle + born + spinning == 0 }

  /// Whether an item may be without a turn and a thread that comes for it.
  private var lacksThread: Bool {
    noThreadIsFree && (refusedUntil != nil || threads < mostThreads || threads >= Pool.threadLimit)
  }

  /// Whether a bell would bring a thread that may take no turn, and looks at the marks soon anyway (P23d).
  private var looksSoon: Bool {
    running >= processors && idle == 1 && born + spinning == 0 && threads < mostThreads
      && min(timerTime, keeperTime) <= lastEnd + Tunables.readyItem
  }

  /// Threads that were counted have not begun.
  mutating func wereRefused(threads count: Int) {
    threads -= count
    born -= count
    refusedUntil = Clock.monotonic.now + Tunables.refusedThread
    // Who has relied on them has left it here.
    show()
    takeRequests()
  }

  /// What a thread that is not the pool's has to do for what is wanted, once it has let go of the lock: `Pool.rescue`.
  enum Rescue {
    case none
    /// Begins a thread, which was counted.
    case thread
    /// Tells those who wait for a queue: each can give that queue its turn.
    case turn
  }

  mutating func rescue(_ now: Int64) -> Rescue {
    if ready.isEmpty, heap.first == nil { return .none }
    if countsThread(now) { return .thread }
    return isStarving ? .turn : .none
  }

  /// Whether what is ready waits for threads that there may never be.
  var isStarving: Bool {
    !ready.isEmpty && noThreadIsFree && (refusedUntil != nil || threads >= Pool.threadLimit)
  }

  // MARK: What is asked for without the lock

  /// Shows what the threads do to those who ask for a turn. Who begins a step, waits, or leaves nobody to come, looks at the
  /// marks after that (P23d).
  @inline(never)
  private mutating func show(beginsStep: Bool = false) {
    typealias Bell = PoolRequests.Bell
    var now = Bell.waiting(idle) | (spinning > 0 ? Bell.spins : 0) | (born > 0 ? Bell.comes : 0)
    if looksSoon { now |= Bell.looksSoon }
    if !beginsStep, lacksThread {
      now |= refusedUntil != nil || threads >= Pool.threadLimit ? Bell.starves : Bell.lacksThread
    }
    if now == shown, !beginsStep { return }
    shown = now
    PoolRequests.show(now, beginsStep: beginsStep)
  }

  mutating func takeRequests() {
    if !PoolRequests.isEmpty { takeRequests(Clock.monotonic.now) }
  }

  @inline(never)
  private mutating func takeRequests(_ now: Int64) {
    PoolRequests.takeMarks { mark in
      PoolRequests.forEachItem(of: mark) { makeReadyIfAsked($0, now) }
    }
  }

  /// An item of which something was asked is ready for its turn, unless it has one, whose end looks here again.
  private mutating func makeReadyIfAsked(_ item: PoolItem, _ now: Int64) {
    if item.isAsked, item.beReady() { ready.append(item, now) }
  }

  /// `ensureWaiter` for a thread that does not ask for a step afterwards.
  @inline(never)
  mutating func lookFromOutside(_ now: Int64) -> Rescue {
    takeRequests(now)
    ensureWaiter(now)
    let rescue = rescue(now)
    checkThatSomebodyLooks(now)
    return rescue
  }

  /// Takes an item that is ready, for a turn on a thread that is not the pool's.
  mutating func take(_ item: PoolItem) -> PoolItem.Wants {
    ready.remove(item)
    return item.beginTurn()
  }

  mutating func place(_ item: PoolItem, at time: Int64) { heap.place(item, at: time) }

  /// Ends an item's turn.
  mutating func end(_ item: PoolItem, _ now: Int64) {
    lastEnd = now
    item.rest()
    if item.isClosed { closedTurns -= 1 } else { makeReadyIfAsked(item, now) }
  }

  /// Gives what the turns of the item have done, which the caller releases.
  mutating func close(_ item: PoolItem) -> PoolItem.Body? {
    guard let body = item.body.take() else { return nil }
    guard PoolRequests.remove(item) else { return body }
    leave()
    heap.remove(item)
    if item.isReady {
      ready.remove(item)
      item.rest()
    } else if item.isRunning {
      closedTurns += 1
    }
    return body
  }

  // MARK: The next step of a thread

  mutating func next(_ workerEvent: Pool.WorkerEvent) -> Pool.Step {
    let now = Clock.monotonic.now
    if !arrive(workerEvent, now) { return .end }
    takeRequests(now)
    while let item = heap.first, item.time <= now {
      heap.remove(item)
      item.ask(.pass)
      makeReadyIfAsked(item, now)
    }
    return nextStep(now)
  }

  private mutating func nextStep(_ now: Int64) -> Pool.Step {
    while true {
      if mayTake(now), let item = ready.popFirst(), let body = item.body { return turn(item, body, now) }
      if let time = spinsUntil(now) {
        spinning += 1
        Pool.isWanted.store(false, ordering: .relaxed)
        show()
        return .spin(until: time)
      }
      idle += 1
      show()
      if PoolRequests.isEmpty { break }
      idle -= 1
      takeRequests(now)
    }
    let step = rest(now)
    // The time that has been set may spare a bell.
    if running >= processors { show() }
    checkThatSomebodyLooks(now)
    return step
  }

  /// A turn for the thread.
  private mutating func turn(_ item: PoolItem, _ body: @escaping PoolItem.Body, _ now: Int64) -> Pool.Step {
    let wants = item.beginTurn()
    running += 1
    let tries = refusedUntil == nil ? Tunables.triesForThread : 1
    let begins = countsThread(now)
    show()
    if lacksThread { takeRequests(now) }
    ensureWaiter(now, isTaken: true)
    checkThatSomebodyLooks(now)
    return .run(item, body, wants, tries: begins ? tries : 0, starves: isStarving)
  }

  /// Notes where a thread comes from; false if it is to end.
  private mutating func arrive(_ workerEvent: Pool.WorkerEvent, _ now: Int64) -> Bool {
    switch workerEvent {
    case .born:
      born -= 1
      refusedUntil = nil
    case .uncounted:
      if !beCounted() {
        takeRequests(now)
        ensureWaiter(now)
        show()
        return false
      }
    case .fromTurn(let item):
      running -= 1
      end(item, now)
    case .fromSpin:
      spinning -= 1
      if ready.isEmpty, PoolRequests.isEmpty { soonRung = max(0, soonRung - 1) }
    case .fromWait(let isKeeper, let event):
      idle -= 1
      if event == .time { timerTime = .max }
      if event == .bell { soonRung = now - lastWait < Tunables.spin ? min(soonRung + 1, 4) : 0 }
      if isKeeper { keeperTime = .max }
    }
    show(beginsStep: true)
    guard case .fromWait(let isKeeper, let event) = workerEvent else { return true }
    if PoolCount.items == 0 {
      guard endsWithoutItems(now) else { return true }
      threads -= 1
      endLast()
    } else {
      guard event == .nothing, !isKeeper, canSpareThread else { return true }
      threads -= 1
    }
    return false
  }

  /// Counts a thread that was begun without the lock; false if it is not needed any more.
  private mutating func beCounted() -> Bool {
    Pool.noteArrivalOfUncounted()
    guard !PoolCount.isClosed, noThreadIsFree, threads < mostThreads else { return false }
    threads += 1
    refusedUntil = nil
    return true
  }

  /// Whether a thread has waited long enough for another item.
  private mutating func endsWithoutItems(_ now: Int64) -> Bool {
    if now < emptySince + Tunables.idleThread { return false }
    if threads > 1 || !PoolRequests.someRing { return PoolCount.close() }
    // The poller is not closed under the hands of who rings.
    emptySince = now
    return false
  }

  /// A thread ends, because there are no items any more.
  private mutating func endLast() {
    // The bell that told of the last item's end has woken one, perhaps not the one that waits without limit.
    if idle > 0 { return ring() }
    if threads > 0 { return }
    unsafe chime_poller_close(&poller)
    timerTime = .max
  }

  /// Whether a thread that has no turn may take one. The last one that could wait holds back while every processor has a
  /// turn, as long as turns end.
  private func mayTake(_ now: Int64) -> Bool {
    running < processors || !noThreadIsFree || threads >= mostThreads
      || now - Tunables.readyItem >= lastEnd
  }

  /// Until when a thread that has nothing to do waits without sleeping; `nil`: it sleeps.
  private func spinsUntil(_ now: Int64) -> Int64? {
    if spinning > 0 || !ready.isEmpty { return nil }
    let next = heap.first?.time ?? .max
    if next - now < Tunables.shortestSleep { return next }
    return soonRung >= 2 && running < processors ? min(next, now + Tunables.spin) : nil
  }

  /// The thread sleeps: for the next time that is wanted, if no other one looks after that.
  private mutating func rest(_ now: Int64) -> Pool.Step {
    lastWait = now
    let time = wanted(now)
    var limit =
      PoolCount.items == 0
      ? max(0, emptySince + Tunables.idleThread - now) : threads > Pool.fewestThreads ? Tunables.idleThread : -1
    if time >= min(timerTime, keeperTime) {
      if timerTime < keeperTime { checkThatTimeIsSet() }
      return .wait(limit: limit, isKeeper: false)
    }
    // Read again: a limit counts from when the wait begins.
    let left = time - Clock.monotonic.now
    let slack = chime_timer_slack()
    // The kernel adds a thousandth of a limit, if that is more than the slack, and none to threads that have none.
    let late = slack == 0 ? 0 : max(slack, left / 1000)
    if keeperTime == .max, chime_poller_keeps_time(), left > 2 * late, left < Tunables.longestLimit {
      keeperTime = time
      limit = left - late
      return .wait(limit: limit, isKeeper: true)
    }
    if set(time) { return .wait(limit: limit, isKeeper: false) }
    // The system refuses to set a time, as a sandbox may that was entered later.
    keeperTime = time
    return .wait(limit: max(0, left), isKeeper: true)
  }

  // MARK: Who looks after what is wanted

  /// When a thread that waits has something to do: a time in the past for at once.
  private func wanted(_ now: Int64) -> Int64 {
    let time = heap.first?.time ?? .max
    if ready.isEmpty { return time }
    return min(time, lastEnd + Tunables.readyItem)
  }

  /// Has a thread that waits look after what is wanted, if there is one.
  /// - Parameter isTaken: the caller is about to take a turn.
  @inline(never)
  mutating func ensureWaiter(_ now: Int64, isTaken: Bool = false) {
    if spinning > 0 {
      if !ready.isEmpty { Pool.isWanted.store(true, ordering: .relaxed) }
      return
    }
    if idle == 0 { return }
    if !ready.isEmpty, running < processors || !isTaken && idle > 1 {
      if !PoolRequests.isRung { ring() }
      return
    }
    var time = wanted(now)
    if isTaken { time = max(time, now + Tunables.turnThatBegins) }
    // Where no time can be set, a thread that waits hears of it, and waits with a limit.
    if time < min(timerTime, keeperTime), !set(time), !PoolRequests.isRung { ring() }
  }

  private mutating func ring() {
    unsafe chime_poller_ring(&poller)
    PoolRequests.noteRung()
  }

  /// Sets the poller's time; false if the system refuses that.
  private mutating func set(_ time: Int64) -> Bool {
    guard unsafe chime_poller_set(&poller, time) else { return false }
    timerTime = time
    return true
  }
}

// MARK: Checks

extension PoolState {
  /// With the lock about to be released: what is ready or wanted at a time has a thread that looks after it, or the
  /// system refuses one.
  fileprivate func checkThatSomebodyLooks(_ now: Int64) {
    guard invariantsAreChecked else { return }
    // An item that has a turn is looked after at its end.
    let time = heap.earliest { !$0.hasTurn }
    if ready.isEmpty, time == .max { return }
    if noThreadIsFree {
      if threads < Pool.threadLimit, refusedUntil == nil {
        invariantFailure("nobody looks after what is wanted of the pool", Int64(threads), Int64(PoolCount.items))
      }
    } else if born == 0, spinning == 0, !PoolRequests.isRung {
      let due = max(ready.isEmpty ? time : min(time, lastEnd + Tunables.readyItem), now + Tunables.turnThatBegins)
      // As long as a skewed clock may need.
      if min(timerTime, keeperTime) > due.saturatingAdd(10 * Tunables.slice) {
        invariantFailure("the pool's threads sleep longer than they may", due, min(timerTime, keeperTime))
      }
    }
  }

  /// A thread is about to rely on the poller's time: the system has it, too, or another thread is on its way here that
  /// was woken by it.
  fileprivate mutating func checkThatTimeIsSet() {
    guard invariantsAreChecked else { return }
    for _ in 0..<1000 {
      if unsafe chime_poller_is_set(&poller) || idle - 1 > Pool.inPoller.load(ordering: .sequentiallyConsistent) {
        return
      }
      // A thread that comes out of its wait has not said so yet.
      chime_rest(1000)
    }
    invariantFailure("the pool's timer is not set", timerTime)
  }
}

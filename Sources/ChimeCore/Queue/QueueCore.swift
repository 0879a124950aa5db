import Synchronization

/// One queue at work: its wheel, its pass, and what the pass keeps between two wake-ups. What other threads use often
/// is in its `QueueControlBlock`; they use this object only to wake the queue, and for operations on the whole queue.
///
/// Passes exclude each other by the pass lock. Fields marked "pass" belong to whoever has a `Pass`; the rest is constant,
/// atomic or behind a lock, which is why the class is `@unchecked Sendable`.
package final class QueueCore: ControlledQueue, @unchecked Sendable {
  let id: UInt64
  package let control: QueueControlBlock
  package let label: String
  package let counters = QueueCounters()  // debuggers find it, and what stands before it, here: CPlatform's layout.c
  let givesRecords: Bool
  /// No tick is a usual one (see `begin`). Constant, except where a test makes the queue one on the wall clock.
  var ticksAreRare: Bool
  let hooks: QueueHooks?
  /// Where deliveries are enqueued, on a concurrent queue; nil where handlers run inside the pass.
  let handOver: HandOver?
  /// Set once, before the queue's id is known to anyone.
  private(set) var driver: any QueueDriver = NoDriver()

  let passLock = PassLock()
  let closing = Closing()
  let functions = Functions()
  let suspensions = Suspensions()
  /// What `QueueCore.statistics` says of the wheel.
  let entries = Atomic<Int>(0)

  // The pass's.
  var wheel: Wheel
  var batch = Batch()
  /// The tick that the pass is delivering, kept here so that no pass has to make one.
  var tick = StartedTick(.none)
  /// Of a queue that gives records.
  var records = Records()
  /// How many callbacks passes have called or written down as records, in all.
  var delivered = 0
  /// How many of the functions that wait are to run before the ticks that are due next. See `runFunctions`.
  var functionsAhead = 0
  /// The first placement of the timers that passes have taken out of the inbox; the next wake-up is no later, even if
  /// that timer has ended. Past: none.
  var earliestAdmitted = Int64.max
  /// When timers are to be looked at again that another thread was writing when the wall clock was stepped; `Int64.max` for
  /// none. The pass's.
  var wallLookTime = Int64.max

  init(id: UInt64, control: QueueControlBlock, _ options: QueueOptions, makeWorker: WorkerMaker?) {
    self.id = id
    self.control = control
    label = options.label
    givesRecords = options.givesRecords
    ticksAreRare = options.givesRecords || control.isWall
    hooks = options.hooks
    handOver = makeWorker.map { HandOver($0) }
    wheel = Wheel(control: control, shift: control.shift, now: control.now)
    super.init()
  }

  /// Opens the queue: from here on its id names it.
  func open(_ driver: any QueueDriver) {
    self.driver = driver
    handOver?.open(self)
    control.begin(self)
    control.nextWakeUp = control.isVirtual ? QueueControlBlock.awake : .max
    control.id = id
    Trace.note(control)
  }

  // MARK: For its control block

  override func wakeDriver() { driver.wake(self) }

  override func counted(_ writing: borrowing Writing, fromEnd end: Int64, _ word: TimerWord) -> TimerWord? {
    writing.counted(fromEnd: end, word)
  }

  override func disposeInCall() throws(Forked) {
    // On a bound queue only the bound thread may. If a pass runs, it does so at its end.
    driver.mayDrive ? try asPass(disposeNow) : control.wake()
  }

  override var isHeldUp: Bool { closing.isHeldUp }

  // MARK: Into a pass

  /// Runs `body` as a pass, if it does not matter which thread does the work: the pass that is running picks the work up
  /// or runs again; on the way out, so does this one. So bodies that can meet on one queue must do each other's work.
  func asPass(_ body: (borrowing Pass) throws(Forked) -> Void) throws(Forked) {
    passLock.wantPass()
    try asPassIfWanted(body)
  }

  /// Runs `body` as a pass, as long as one is wanted and no other pass is running.
  private func asPassIfWanted(_ body: (borrowing Pass) throws(Forked) -> Void) throws(Forked) {
    var rounds = 0
    while passLock.takeIfWanted(waits: !driver.isOfHost) {
      if !closing.isClosed {
        try ThreadState.inside(control) { frame throws(Forked) in try body(Pass(frame)) }
        try announceEnd()
      }
      passLock.release()
      if passLock.hasRefused { wakeRefused() }
      rounds += 1
      // Other threads may release timers again and again: the host comes once more for them.
      if rounds >= QueueCore.roundsOfCall, driver.isOfHost, !closing.hasBegun { return driver.wake(self) }
    }
  }

  /// How many passes a call of the host's makes for others, before it returns.
  private static var roundsOfCall: Int { 16 }

  /// Runs `body` as a pass of the present call, which needs it done here and now.
  /// - Returns: what `body` gives; wouldDeadlock inside a callback of the queue, busy if another pass is running,
  ///   shutDown.
  @inline(__always)
  func asPassOfCall(_ body: (borrowing Pass) throws(Forked) -> Status) throws(Forked) -> Status {
    if ThreadState.frames.holds(control) { return control.callerIsInside(id) }
    guard passLock.takeFast(waits: !driver.isOfHost) || takeOrNoteRefusal() else {
      return QueueControlBlock.refuseAsBusy(id)
    }
    if closing.isClosed {
      passLock.release()
      return .queueHasEnded
    }
    let status = try ThreadState.inside(control) { frame throws(Forked) in try body(Pass(frame)) }
    try announceEnd()
    passLock.release()
    if passLock.hasRefused { wakeRefused() }
    if passLock.passIsWanted { try asPassIfWanted(disposeNow) }
    return status
  }

  @inline(never)
  private func takeOrNoteRefusal() -> Bool { driver.isOfHost && passLock.takeOrNoteRefusal() }

  /// Behind a pass of a queue whose call was refused meanwhile: its host waits for the descriptor, by edges perhaps, of which
  /// a thread that has only ended a timer makes none.
  @inline(never)
  private func wakeRefused() { if passLock.takeRefusal() { driver.wake(self) } }

  /// Runs `body`, which only looks, as a pass of the calling thread, or as part of the one that it is inside; `nil` where
  /// that thread does not drive the queue, or another one is in a pass.
  func asQuery(_ body: (borrowing Pass) -> Int64) -> Int64? {
    let isInside = ThreadState.frames.holds(control)
    guard isInside || driver.isDrivingThread && passLock.take(forQuery: true) else { return nil }
    defer { if !isInside { endQuery() } }
    var answer: Int64?
    // Nothing is called that could fork.
    try? ThreadState.inside(control) { frame throws(Forked) in answer = body(Pass(frame)) }
    return answer
  }

  /// Ends a query. It calls nothing: what another thread wanted meanwhile, and did not wait for, the host comes for.
  private func endQuery() {
    passLock.release()
    if driver.isOfHost, passLock.passIsWanted || passLock.hasRefused && passLock.takeRefusal() { driver.wake(self) }
  }
}

/// A pass, for as long as it lasts: made under the pass lock by the functions above, which lend it, so whoever has one may
/// change what is the pass's.
struct Pass: ~Copyable {
  let frame: CurrentFrame

  fileprivate init(_ frame: CurrentFrame) { self.frame = frame }
}

extension QueueCore {
  /// Runs `body`, which waits for nobody, if the queue has not been released; otherwise `nil`. Meanwhile its control block
  /// does not become another queue's.
  func whileItLives<Result>(_ body: () -> Result) -> Result? {
    control.pinned { control.id == id ? body() : nil }
  }

  /// The time of the queue with that id in which distances are measured, and which steps of the wall clock do not change;
  /// `nil` when it is stale.
  static func steadyNow(_ id: UInt64) -> Int64? { find(id).flatMap { core in core.whileItLives { core.control.now } } }
}

extension QueueControlBlock {
  /// The queue that lives here.
  var core: QueueCore? {
    // SAFETY: only `QueueCore.open` puts one in.
    queue.map { unsafe unsafeDowncast($0, to: QueueCore.self) }
  }
}

/// The check that a pass forgets nothing: it ends with every running timer in the wheel, where its deadline asks for or
/// before that, in the inbox, in the batch, being written, or with a callback under way.
extension QueueCore {
  /// At the end of a pass. On a concurrent queue the end of a callback holds its timer
  /// for a moment, too, so this check does not apply.
  func checkThatNothingIsForgotten(_ pass: borrowing Pass) {
    if invariantsAreChecked, handOver == nil, !closing.hasBegun { lookForForgottenTimers(pass) }
  }

  @inline(never)
  private func lookForForgottenTimers(_ pass: borrowing Pass) {
    if !batch.isOpen { batch.checkThatItIsEmpty() }
    // After the first passes not in all of them, and in one chunk of 256 slots each time: a test with a hundred thousand
    // timers would spend minutes here, above all under a sanitizer.
    let passes = counters.passes.load(ordering: .relaxed)
    if passes > 256 && passes % 16 != 0 { return }
    control.forEachSlot(inOneOfItsChunks: Int(truncatingIfNeeded: passes > 256 ? passes / 16 : passes)) { slot in
      // Read in this order: whatever takes a timer out of its position, except the pass itself, writes the timer first.
      let position = Slab.position(of: slot.index).tick
      let word = slot.wordInOrder
      if word.isOver, slot.flags.contains(.selfRelease), !word.isBusy, !word.hasWriter,
        !word.hasPendingCallback, slot.wordInOrder == word
      {
        invariantFailure(
          "a timer that releases itself was not released", Int64(slot.index.number), Int64(bitPattern: word.bits))
      }
      guard word.isRunning, !word.hasWriter, !word.isInInbox, !word.isBusy else { return }
      let due = slot.dueTime(word)
      // One that was held back for its writer comes a little later.
      let latest = wheel.latestTick(
        due: control.isVirtual ? due : max(due, control.now.saturatingAdd(Tunables.writer)), slot)
      if due == .max || position ?? .max <= latest || slot.wordInOrder != word || batch.contains(slot) { return }
      invariantFailure(
        position == nil ? "a running timer that no pass will find" : "a running timer that its pass will find too late",
        Int64(slot.index.number), Int64(bitPattern: word.bits))
    }
  }
}

/// Whether a queue's callbacks are held back, and which of them run outside its passes. Any thread.
struct Suspensions: ~Copyable {
  /// The suspends that no resume has taken back. Pairs with what begins callbacks: a pass with its lock, a worker of a
  /// concurrent queue, a `sync` on its caller's thread. Each says that it is at work, then reads this; a suspend adds to
  /// this, then looks who is at work; all sequentially consistent: store buffering (P28).
  private let suspends = Atomic<UInt32>(0)
  /// Functions of `sync` that run, or are about to, outside a pass.
  private let outsidePass = Atomic<Int>(0)

  var isHeld: Bool { suspends.load(ordering: .sequentiallyConsistent) != 0 }

  /// False if there are as many as can be counted.
  func add() -> Bool { change { $0 == .max ? nil : $0 + 1 } != nil }

  /// How many are left; `nil` if there was none.
  func takeBack() -> UInt32? { change { $0 == 0 ? nil : $0 - 1 } }

  private func change(_ next: (UInt32) -> UInt32?) -> UInt32? {
    var old = suspends.load(ordering: .relaxed)
    while let new = next(old) {
      let result = suspends.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent)
      if result.exchanged { return new }
      old = result.original
    }
    return nil
  }

  /// Whether functions run outside a pass.
  var hasFunctions: Bool { outsidePass.load(ordering: .sequentiallyConsistent) != 0 }

  func beginFunction() { outsidePass.add(1, ordering: .sequentiallyConsistent) }
  func endFunction() { outsidePass.subtract(1, ordering: .sequentiallyConsistent) }
}

/// Suspending a queue: no callback of it begins, and time goes on. The pass of a suspended queue ends at once. It sets no
/// time, and leaves the next wake-up at `awake`, so that no change of a timer wakes the queue: the resume does.
extension QueueCore {
  /// Whether no callback may begin. The end of a queue ends that, too.
  var isSuspended: Bool { suspensions.isHeld && !closing.hasBegun }

  /// Holds the callbacks of the queue with that id back, until as many resumes: ok; running while one of them runs.
  package static func suspend(_ id: UInt64) -> Status {
    guard let core = find(id) else { return unknown(id) }
    guard core.suspensions.add() else {
      return Status.limit.because("queue was suspended %n times more than resumed", Int64(UInt32.max))
    }
    return core.isAtWork ? .running : .ok
  }

  /// Takes a suspend back; ignored if there is none.
  package static func resume(_ id: UInt64) -> Status {
    guard let core = find(id) else { return unknown(id) }
    guard let left = core.suspensions.takeBack() else { return .ignored }
    if left == 0 { core.goOn() }
    return .ok
  }

  /// A wake-up for nothing is counted, too.
  @inline(never)
  func noteEmptyPass() { counters.count(passAt: control.now, due: 0, isEmpty: true) }

  /// Makes what was held back come. Whoever calls has seen to it that nothing is held back any more.
  func goOn() {
    handOver?.goOn()
    driver.wake(self)
  }

  /// Whether a callback runs, or a thread stands still that may be about to begin one. Called once the queue is suspended:
  /// a pass that has begun nothing ends in a moment, which is waited for.
  private var isAtWork: Bool {
    if ThreadState.frames.holds(control) { return true }
    var spinWait = SpinWait()
    while passLock.isInPass || suspensions.hasFunctions || handOver?.isAtWork == true {
      if !spinWait.spin() { return true }
    }
    return givesRecords && hasOutstandingRecords
  }

  /// Whether a tick was taken as a record, and has not ended.
  private var hasOutstandingRecords: Bool {
    var found = false
    control.forEachSlot { if $0.wordInOrder.isBusy { found = true } }
    return found
  }

  /// Runs a function of `sync` outside a pass, unless the queue is suspended: then, false.
  func runOutsidePass(_ body: () throws(Forked) -> Void) throws(Forked) -> Bool {
    suspensions.beginFunction()
    defer { suspensions.endFunction() }
    if isSuspended { return false }
    try body()
    return true
  }
}

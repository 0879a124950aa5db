internal import CPlatform
import Synchronization

/// Queues that the host's own loop drives: it polls one descriptor and calls `process`, or `takeTicks` for records
/// without callbacks.
extension QueueCore {
  package static func makeHost(_ options: QueueOptions) -> Result<UInt64, Status> {
    let clock = options.clock == .wall ? Clock.monotonic : options.clock
    guard let file = TimerFile.make(clock) else { return .failure(.noTimerFile) }
    let made = make(options, runsInCalls: true) { core in
      core.control.openHost(file)
      return HostDriver(core, owner: options.isBound ? ThreadNumber.current : nil)
    }
    if case .failure = made { TimerFile.close(file) }
    return made
  }

  /// The host-driven queue with that id; unsupported if it is of another kind.
  private static func findHost(_ id: UInt64) -> Result<(core: QueueCore, driver: HostDriver), Status> {
    guard let core = find(id) else { return .failure(.unknownHandle) }
    guard let driver = core.driver as? HostDriver else {
      return .failure(Status.unsupported.because("queue is not host-driven"))
    }
    return .success((core, driver))
  }

  /// Runs `body` as a pass on the calling thread, if that thread may.
  /// - Parameter watches: whether to choose a timer to watch afterwards, as `run` does before it sleeps.
  private func drive(_ driver: HostDriver, watches: Bool = false, _ body: (CurrentFrame) -> Void) -> Status {
    if !driver.mayDrive { return .wrongThread }
    return asPassOfCall { frame in
      driver.drivingThread.store(ThreadNumber.current, ordering: .relaxed)
      control.nextWakeUp = QueueControlBlock.awake
      body(frame)
      if isAbandoned { return .forked }
      afterSlice(frame)
      if !isClosed { watches ? watchTimer() : wakeWatcher() }
      return .ok
    }
  }

  // MARK: A timer that is watched

  /// Chooses a running timer whose end, whoever causes it, wakes the sleeper in `run`; none if nothing is left to run.
  /// The caller holds the pass lock.
  private func watchTimer() {
    if control.watched == QueueControlBlock.watchedEnded, runners.load(ordering: .sequentiallyConsistent) > 1 {
      control.wakeHost()
    }
    isIdle = false
    isWatching = false
    while !hasWorkNow, control.inboxIsEmpty {
      guard let next = wheel.earliest(), next != .max, let earliest = wheel.earliestSlot,
        let slot = earliest.isBackground ? timerInForeground : earliest
      else {
        // What was woken meanwhile is in the inbox, or among the functions.
        isIdle = control.inboxIsEmpty && !hasFunctions
        return
      }
      control.watched = slot.index &+ 1
      // If a timer is being written, its writer looks at `watched` at the end (P5, Sources/README.md).
      isWatching = QueueCore.isWorthWatching(slot)
      if isWatching { return }
    }
  }

  /// Whether a timer that `run` waits for is running, or may be once its writer is done.
  @inline(never)
  private static func isWorthWatching(_ slot: TimerSlot) -> Bool {
    let word = slot.wordInOrder
    // Read after the word: the slot may have been given another timer before that.
    return (word.isLive && word.hasWriter || word.isRunning && slot.dueTime(word) != .max) && !slot.isBackground
  }

  /// A timer to watch when the earliest is one in the background: the one that is watched already or, so that this is
  /// seldom looked for, the one that is due last.
  @inline(never)
  private var timerInForeground: TimerSlot? {
    let watched = control.watched
    if watched != 0, watched != QueueControlBlock.watchedEnded, Slab.owner(of: Slab.slot(watched &- 1)) == control,
      QueueCore.isWorthWatching(Slab.slot(watched &- 1))
    {
      return Slab.slot(watched &- 1)
    }
    var found: TimerSlot?
    var latest = Int64.min
    control.forEachSlot { slot in
      guard QueueCore.isWorthWatching(slot) else { return }
      let due = slot.dueTime(slot.word)
      if due >= latest { (found, latest) = (slot, due) }
    }
    return found
  }

  /// Wakes the sleeper in `run` on another thread, if the timer that it watches is no longer running: this pass may
  /// have taken away what would have woken it (P5b, Sources/README.md).
  private func wakeWatcher() {
    let watched = control.watched
    if watched == 0 { return }
    if runners.load(ordering: .sequentiallyConsistent) == 0 {
      control.watched = 0
    } else if watched == QueueControlBlock.watchedEnded || !Slab.slot(watched &- 1).wordInOrder.isRunning {
      control.wakeHost()
    }
  }

  /// Runs what is due, at most `most` callbacks. Gives how many were called.
  package static func process(_ id: UInt64, most: Int, watches: Bool = false) -> Result<Int, Status> {
    findHost(id).flatMap { core, driver in
      if core.givesRecords {
        return .failure(Status.unsupported.because("queue gives records: chime_queue_take_ticks takes them"))
      }
      var count = 0
      let status = core.drive(driver, watches: watches) { frame in
        let before = core.delivered
        var wasOpen: Bool
        // First what an earlier call left, then everything that is due now.
        repeat {
          wasOpen = core.batchIsOpen
          core.runSlice(Limit(count: most - (core.delivered - before)), frame)
        } while wasOpen && !core.isAbandoned && !core.batchIsOpen && core.delivered - before < most
        count = core.delivered - before
      }
      return status == .ok ? .success(count) : .failure(status)
    }
  }

  /// Writes down what is due as records, and ends the ticks taken before. Gives the number of records.
  package static func takeTicks(
    _ id: UInt64, _ records: UnsafeMutableRawPointer, stride: Int, capacity: Int
  ) -> Result<Int, Status> {
    findHost(id).flatMap { core, driver in
      if !core.givesRecords {
        return .failure(Status.unsupported.because("queue was made without CHIME_QUEUE_RECORDS, and gives no records"))
      }
      var count = 0
      let status = core.drive(driver) { frame in
        core.endOutstandingRecords(frame)
        unsafe core.recordBuffer = RecordBuffer(records, stride: stride, capacity: capacity)
        let before = core.delivered
        var wasOpen: Bool
        repeat {
          wasOpen = core.batchIsOpen
          core.runSlice(Limit(count: capacity - (core.delivered - before)), frame)
        } while wasOpen && !core.isAbandoned && !core.batchIsOpen && core.delivered - before < capacity
        count = core.recordBuffer?.count ?? 0
        core.recordBuffer = nil
      }
      return status == .ok ? .success(count) : .failure(status)
    }
  }

  /// The descriptor that is readable while there is something to process.
  package static func file(_ id: UInt64) -> Result<Int32, Status> {
    findHost(id).flatMap { core, _ in
      core.whileItLives { core.control.hostFile }.map(Result.success) ?? .failure(.unknownHandle)
    }
  }

  /// Whether the calling thread has taken records that it has not ended by taking again.
  var hasOutstandingRecordsHere: Bool {
    guard givesRecords, let driver = driver as? HostDriver else { return false }
    return driver.drivingThread.load(ordering: .relaxed) == ThreadNumber.current
  }

  /// When the queue needs to be processed, on its clock: now or earlier for at once, `Int64.max` for never. Exact on
  /// the thread that drives the queue; elsewhere it may be too early.
  package static func nextDeadline(_ id: UInt64) -> Result<Int64, Status> {
    guard let core = find(id) else { return .failure(.unknownHandle) }
    guard core.control.runsInCalls else {
      return .failure(Status.unsupported.because("queue is neither host-driven nor virtual"))
    }
    return core.whileItLives { core.control.wallTime(core.nextDeadline) }.map(Result.success)
      ?? .failure(.unknownHandle)
  }

  /// Looks, while the queue lives.
  private var nextDeadline: Int64 {
    let isInside = ThreadState.frames.holds(control)
    let isDrivingThread = (driver as? HostDriver)?.isDrivingThread ?? true
    guard isInside || isDrivingThread && takePassLock(forQuery: true) else {
      // Timers in the inbox are due after the next wake-up; otherwise they would have changed it.
      let nextWakeUp = control.nextWakeUp
      // That of a virtual queue is a matter of `notifyOfArming`.
      return nextWakeUp == QueueControlBlock.awake || control.isVirtual ? control.now : nextWakeUp
    }
    followWallClock()
    takeInbox()
    var next = hasWorkNow || readyNext < ready.count ? control.now : wheel.earliest() ?? .max
    if isInside {
      // Timers whose callbacks this thread is inside are not in the wheel.
      for frame in ThreadState.frames where frame.control == control {
        guard let snapshot = frame.slot.map({ Slab.slot($0).snapshot }) else { continue }
        if snapshot.word.hasPendingCallback { return control.now }
        if snapshot.word.isRunning { next = min(next, snapshot.due) }
      }
    } else {
      releasePassLock()
    }
    return next
  }

  /// The same as a timeout for poll(2): milliseconds from now, rounded up; 0: due, -1: never.
  package static func pollTimeout(_ id: UInt64) -> Result<Int32, Status> {
    findHost(id).flatMap { core, _ in
      let left = core.whileItLives {
        let next = core.nextDeadline
        return next == .max ? .max : max(0, next.saturatingSubtract(core.control.now))
      }
      guard let left else { return .failure(.unknownHandle) }
      return .success(left == .max ? -1 : Int32(clamping: left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0)))
    }
  }

  // MARK: Waiting

  /// Waits until something is due. Runs nothing. Waits for time.
  /// - Returns: ok, timedOut, stopped; wrongThread, busy, wouldDeadlock, shutDown.
  package static func wait(_ id: UInt64, timeout: Int64) -> Status {
    switch findHost(id) {
    case .failure(let status): return status
    case .success(let (core, driver)):
      let end = Clock.monotonic.now.saturatingAdd(timeout)
      while true {
        if core.control.takeStop(id) { return .stopped }
        if core.isClosing.load(ordering: .sequentiallyConsistent) { return .shutDown }
        // The queue may have been woken by a timer that is due later: it is placed, and nothing runs.
        let status = core.drive(driver) { _ in
          core.followWallClock()
          core.takeInbox()
        }
        if status != .ok { return status }
        if core.whileItLives({ core.nextDeadline <= core.control.now }) == true { return .ok }
        let left = end == .max ? Int64.max : end - Clock.monotonic.now
        if left <= 0 { return .timedOut }
        core.pollHost(left)
      }
    }
  }

  /// Processes until no timer is running and nothing is left to call, or until `stop`. Waits for time.
  /// - Returns: ok, stopped; wrongThread, busy, wouldDeadlock, shutDown, unsupported for a queue that gives records.
  package static func run(_ id: UInt64, untilStopped: Bool) -> Status {
    switch findHost(id) {
    case .failure(let status): return status
    case .success(let (core, driver)):
      if !untilStopped { core.runners.add(1, ordering: .sequentiallyConsistent) }
      defer { if !untilStopped { core.runners.subtract(1, ordering: .sequentiallyConsistent) } }
      var backoff = Backoff()
      let wasEnding = ThreadEnd.isCaught
      while true {
        if core.control.takeStop(id) { return .stopped }
        if case .failure(let status) = process(id, most: .max, watches: !untilStopped) {
          // A thread that releases a timer may be inside for a moment, with its finalizer.
          if status == .busy, driver.isDrivingThread || driver.drivingThread.load(ordering: .relaxed) == 0 {
            backoff.pause()
            continue
          }
          return status == .invalidHandle ? .shutDown : status
        }
        if core.isClosing.load(ordering: .sequentiallyConsistent) { return .shutDown }
        if ThreadEnd.isCaught, !wasEnding { return .stopped }
        // As it was at the end of that pass. A timer that came later is another thread's and has not run yet.
        if !untilStopped, core.isIdle { return .ok }
        // Something came in the meantime, and a thread that ended a timer may have taken it in.
        if !untilStopped, !core.isWatching { continue }
        core.pollHost(.max)
      }
    }
  }

  /// Makes `run` or `wait` return; if none is under way, the next one returns at once. Ignored while a stop is pending.
  /// Async-signal-safe.
  package static func stop(_ id: UInt64) -> Status {
    guard let control = QueueControlBlocks.find(id) else { return .unknownHandle }
    guard control.hostFile >= 0 else { return .unsupported }
    if !control.requestStop(id) { return .ignored }
    control.wakeHost()
    return .ok
  }
}

/// A host-driven queue's driver: a kernel timer, whose descriptor the host polls.
final class HostDriver: QueueDriver {
  private let control: QueueControlBlock
  private let id: UInt64
  /// The only thread that may drive the queue; nil for any.
  private let owner: UInt64?
  /// The thread that last processed or took records; 0 for none yet (P11d, Sources/README.md).
  let drivingThread = Atomic<UInt64>(0)

  init(_ core: QueueCore, owner: UInt64?) {
    control = core.control
    id = core.id
    self.owner = owner
  }

  var mayDrive: Bool { owner == nil || owner == ThreadNumber.current }
  var isDrivingThread: Bool { (owner ?? drivingThread.load(ordering: .relaxed)) == ThreadNumber.current }

  func arm(at time: Int64?) {
    TimerFile.set(control.hostFile, time ?? .max, clock: control.clockNumber)
    // A thread that wanted a pass may have set it for now just before: then it must stay so (P11b, Sources/README.md).
    if control.nextWakeUp != time ?? .max || control.stopsPoller(id) { control.wakeHost() }
  }

  func wake(_ core: QueueCore) { control.wakeHost() }
  func close() { control.closeHost() }
  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status { .unsupported }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) -> Bool {
    guard let sinceLastPass else {
      text.add("its host-driven queue was never processed")
      return true
    }
    text.add("its host-driven queue was last processed ")
    text.add(duration: sinceLastPass)
    text.add(" ago")
    return true
  }
  var isOnQueue: Bool { false }
  var mayNeverRun: Bool { true }
  var shouldYield: Bool { false }
}

/// The descriptor of a host-driven queue, in its control block, so that a waker needs no lock: it pins the control block,
/// reads the descriptor and sets the timer. Whoever closes the queue takes the descriptor away, waits for the pins, and
/// closes it. So a late waker never touches a descriptor that the host has opened since (P7, Sources/README.md).
extension QueueControlBlock {
  var hostFile: Int32 { unsafe storage.pointee.hostFile.load(ordering: .sequentiallyConsistent) }

  func openHost(_ file: Int32) { unsafe storage.pointee.hostFile.store(file, ordering: .sequentiallyConsistent) }

  /// Makes the descriptor readable. Async-signal-safe.
  func wakeHost() {
    pinned {
      let file = hostFile
      if file < 0 { return }
      let saved = Errno.current
      TimerFile.set(file, 0)
      Errno.current = saved
    }
  }

  func closeHost() {
    let file = unsafe storage.pointee.hostFile.exchange(-1, ordering: .sequentiallyConsistent)
    if file < 0 { return }
    TimerFile.set(file, 0)  // wakes whoever polls
    waitForPins()
    withoutCancellation { TimerFile.close(file) }
  }

  func stopIsPending(_ id: UInt64) -> Bool { unsafe storage.pointee.stopRequest.isPending(for: id) }

  /// Whether whoever has to stop may be waiting for the descriptor.
  func stopsPoller(_ id: UInt64) -> Bool { stopIsPending(id) && isPinned }

  /// See `QueueControlBlockStorage.watched`.
  var watched: UInt32 {
    get { unsafe storage.pointee.watched.load(ordering: .sequentiallyConsistent) }
    nonmutating set { unsafe storage.pointee.watched.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// A timer that ran does not run any more, or will never be due: whoever sleeps in `run` looks again if it is the one
  /// that is watched (P5, Sources/README.md).
  @inline(__always)
  func noteEnd(of slot: TimerSlot) {
    if isWatching(slot) { wakeRunner(watching: slot.index &+ 1) }
  }

  @inline(__always)
  func isWatching(_ slot: TimerSlot) -> Bool { watched == slot.index &+ 1 }

  /// The timer that was watched has ended, and nobody has looked since (P5b, Sources/README.md).
  static var watchedEnded: UInt32 { .max }

  @inline(never)
  private func wakeRunner(watching slot: UInt32) {
    let result = unsafe storage.pointee.watched.compareExchange(
      expected: slot, desired: QueueControlBlock.watchedEnded, ordering: .sequentiallyConsistent)
    if result.exchanged { wakeHost() }
  }

  /// The queue may have ended since it was found; the next queue's stop must not be lost.
  func requestStop(_ id: UInt64) -> Bool { unsafe storage.pointee.stopRequest.make(for: id, while: { self.id == id }) }

  func takeStop(_ id: UInt64) -> Bool { unsafe storage.pointee.stopRequest.take(for: id) }
}

extension QueueCore {
  /// Waits until the descriptor is readable, the queue ends or is to stop, a signal arrives, or `timeout` nanoseconds
  /// (rounded up to milliseconds) are over.
  private func pollHost(_ timeout: Int64) {
    control.pinned {
      let file = control.hostFile
      // Read after the descriptor, which may be that of the next queue in the control block. A stop that came before the
      // queue was armed has left nothing but the request; one that comes from here on finds this thread's pin (P11c,
      // Sources/README.md).
      if file < 0 || isClosing.load(ordering: .sequentiallyConsistent) || control.stopIsPending(id) { return }
      Descriptors.wait(file, timeout: timeout)
    }
  }
}

import Synchronization

/// Queues that the host's own loop drives: it polls one descriptor and calls `process`, or `takeTicks` for records
/// without callbacks.
extension QueueCore {
  package static func makeHost(_ options: QueueOptions) throws(Status) -> UInt64 {
    let made = options.clock == .wall ? TimerFile.makeForWall() : TimerFile.make(options.clock)
    guard let file = made else { throw .noTimerFile }
    do {
      return try make(options, runsInCalls: true) { core in
        core.control.openHost(file)
        return HostDriver(core, owner: options.isBound ? ThreadNumber.current : nil)
      }
    } catch {
      TimerFile.close(file)
      throw error
    }
  }

  /// The host-driven queue with that id; unsupported if it is of another kind.
  static func findHost(_ id: UInt64) throws(Status) -> (core: QueueCore, driver: HostDriver) {
    guard let core = find(id) else { throw unknown(id) }
    guard let driver = core.driver as? HostDriver else {
      throw Status.unsupported.because("queue is not host-driven")
    }
    return (core, driver)
  }

  /// Runs what is due, at most `most` callbacks; or writes it down as records, and ends the ticks taken before. Gives how
  /// many were called or written down.
  package static func process(
    _ id: UInt64, most: Int, isOfRun: Bool = false, watches: Bool = false, into buffer: RecordBuffer? = nil
  ) throws(Status) -> Int {
    let (core, driver) = try findHost(id)
    try core.requireRecords(buffer != nil)
    var count = 0
    try driver.drive(core, watches: watches) { pass throws(Forked) in
      if buffer != nil { try core.endOutstandingRecords(pass) }
      core.records.buffer = buffer
      let limit = Limit(count: most, isOfRun: isOfRun, endsWhenIdle: watches)
      if core.isSuspended { core.noteEmptyPass() } else { count = try core.runSlices(limit, pass) }
      if let written = core.records.buffer?.count { count = written }
      core.records.buffer = nil
    }.orThrow()
    return count
  }

  /// Unsupported where the queue gives records and `wanted` is false, or the other way round.
  private func requireRecords(_ wanted: Bool) throws(Status) {
    if givesRecords == wanted { return }
    throw Status.unsupported.because(
      givesRecords
        ? "queue gives records: chime_queue_take_ticks takes them"
        : "queue was made without CHIME_QUEUE_FLAG_RECORDS, and gives no records")
  }

  /// Writes down what is due as records, and ends the ticks taken before. Gives the number of records.
  package static func takeTicks(
    _ id: UInt64, _ records: UnsafeMutableRawPointer, stride: Int, capacity: Int
  ) throws(Status) -> Int {
    try unsafe process(id, most: capacity, into: RecordBuffer(records, stride: stride, capacity: capacity))
  }

  /// First what an earlier call left, then everything that is due now. Gives how many callbacks were called or written
  /// down.
  func runSlices(_ whole: Limit, _ pass: borrowing Pass) throws(Forked) -> Int {
    let before = delivered
    var limit = whole
    var wasOpen: Bool
    repeat {
      wasOpen = batch.isOpen
      limit.count = whole.count - (delivered - before)
      try runSlice(limit, pass)
    } while wasOpen && !batch.isOpen && delivered - before < whole.count && !isOver(limit)
    return delivered - before
  }

  /// The descriptor that is readable while there is something to process.
  package static func file(_ id: UInt64) throws(Status) -> Int32 {
    let core = try findHost(id).core
    guard let file = core.whileItLives({ core.control.hostFile }) else { throw unknown(id) }
    return file
  }

  /// When the queue needs to be processed, on its clock: now or earlier for at once, `Int64.max` for never. Exact on
  /// the thread that drives the queue; elsewhere it may be too early.
  package static func nextDeadline(_ id: UInt64) throws(Status) -> Int64 {
    guard let core = find(id) else { throw unknown(id) }
    guard core.control.runsInCalls else {
      throw Status.unsupported.because("queue is neither host-driven nor virtual")
    }
    guard let next = core.whileItLives({ core.nextDeadlineOnItsClock }) else { throw unknown(id) }
    return next
  }

  private var nextDeadlineOnItsClock: Int64 {
    control.isWall ? control.lookAtWallClock().time(of: nextDeadline) : nextDeadline
  }

  /// Looks, while the queue lives. A step of the wall clock is for the next pass to follow, which is wanted at once.
  var nextDeadline: Int64 {
    if isSuspended { return .max }
    if control.isWall, control.stepIsPending || !control.knowsWallOffset { return control.now }
    if let next = asQuery(nextDeadline) { return next }
    // Timers in the inbox are due after the next wake-up; otherwise they would have changed it.
    let nextWakeUp = control.nextWakeUp
    // Virtual queues report theirs through `notifyOfArming`.
    return nextWakeUp == QueueControlBlock.awake || control.isVirtual ? control.now : nextWakeUp
  }

  private func nextDeadline(_ pass: borrowing Pass) -> Int64 {
    takeInbox(pass)
    batch.dropOutdated()
    var next = hasWorkNow ? control.now : wheel.earliest() ?? .max
    // Timers whose callbacks this thread is inside are not in the wheel.
    for frame in ThreadState.frames where frame.control == control {
      guard let snapshot = frame.slot.map({ Slab.slot($0).snapshot }) else { continue }
      if snapshot.word.hasPendingCallback { return control.now }
      if snapshot.word.isRunning { next = min(next, snapshot.due) }
    }
    return next
  }

  /// `nextDeadline` as a timeout for poll(2): milliseconds from now, rounded up; 0: due, or in the tick of the wheel that
  /// contains now, which may be due; -1: never.
  package static func pollTimeout(_ id: UInt64) throws(Status) -> Int32 {
    let core = try findHost(id).core
    let left = core.whileItLives {
      let next = core.nextDeadline
      return next == .max ? .max : max(0, next.saturatingSubtract(core.control.now))
    }
    guard let left else { throw unknown(id) }
    if left <= WheelTicks.rest(shift: core.control.shift) { return 0 }
    return left == .max ? -1 : Int32(clamping: left / 1_000_000 + (left % 1_000_000 > 0 ? 1 : 0))
  }
}

/// The call by which a host that has no loop of its own runs a host-driven queue.
extension QueueCore {
  /// Processes until no timer is running and nothing is left to call, or until `stop`. Waits for time, unless it is not
  /// to: then it returns instead. `once`: returns when something has been called, too; ignored if nothing was, and
  /// nothing is left.
  /// - Returns: ok, stopped, timeIsOver where it may not wait; wrongThread, busy, wouldDeadlock, shutDown, unsupported for a
  ///   queue that gives records.
  package static func run(_ id: UInt64, untilStopped: Bool, waits: Bool = true, once: Bool = false) -> Status {
    .of { () throws(Status) in
      let (core, driver) = try findHost(id)
      try core.requireRecords(false)
      if !untilStopped { driver.sleepers.add(1, ordering: .sequentiallyConsistent) }
      defer { if !untilStopped { driver.sleepers.subtract(1, ordering: .sequentiallyConsistent) } }
      var spinWait = SpinWait()
      let wasEnding = ThreadEnd.isCaught
      while true {
        let count: Int
        do throws(Status) {
          if try core.takeStop(driver) { return .stopped }
          count = try process(id, most: .max, isOfRun: true, watches: !untilStopped)
        } catch {
          // A thread that releases a timer may be inside for a moment, with its finalizer.
          if error == .busy, driver.isDrivingThread || driver.drivingThread.load(ordering: .relaxed) == 0 {
            spinWait.pause()
            continue
          }
          throw error == .invalidHandle ? .queueHasEnded : error
        }
        if core.closing.hasBegun { return .queueHasEnded }
        if ThreadEnd.isCaught, !wasEnding { return .stopped }
        // A stop inside the last callback is this run's.
        if core.control.stopIsPending(id) { continue }
        if once, count > 0 { return .ok }
        // As it was at the end of that pass. A timer that came later is another thread's and has not run yet.
        if !untilStopped, driver.isIdle { return once ? .ignored : .ok }
        // Something came in the meantime, and a thread that ended a timer may have taken it in.
        if !untilStopped, !driver.isWatching { continue }
        if !waits { return .timeIsOver }
        core.pollHost(.max)
      }
    }
  }

  /// Takes a stop that is pending; false if there is none. Only who could process the queue now takes it: inside a
  /// handler, or on a thread that may not, it would be the stop of another run.
  private func takeStop(_ driver: HostDriver) throws(Status) -> Bool {
    guard control.stopIsPending(id) else { return false }
    if !driver.mayDrive { throw driver.refuseAsBoundElsewhere() }
    let status = Status.of { () throws(Forked) in try asPassOfCall { _ in control.takeStop(id) ? .stopped : .ok } }
    if status != .stopped { try status.orThrow() }
    return status == .stopped
  }

  /// Makes `run` return; if none is under way, the next one returns at once. Ignored while a stop is pending.
  /// Async-signal-safe.
  package static func stop(_ id: UInt64) -> Status {
    guard let control = QueueControlBlocks.find(id) else {
      return Fork.isChild ? .inChildOfFork : Status.invalidHandle.asConstant("queue names no queue, or was released")
    }
    guard control.hostFile >= 0 else { return Status.unsupported.asConstant("queue is not host-driven") }
    if !control.requestStop(id) { return .ignored }
    control.wakeHost()
    return .ok
  }

  /// Waits until the descriptor is readable, the queue ends or is to stop, a signal arrives, or `timeout` nanoseconds
  /// (rounded up to milliseconds) are over.
  private func pollHost(_ timeout: Int64) {
    control.pinned {
      let file = control.hostFile
      // Read after the descriptor, which may be that of the next queue in the control block. A stop that came before the
      // queue was armed has left nothing but the request; one that comes from here on finds this thread's pin (P11c).
      if file < 0 || closing.hasBegun || control.stopIsPending(id) { return }
      Descriptors.wait(file, timeout: timeout)
    }
  }
}

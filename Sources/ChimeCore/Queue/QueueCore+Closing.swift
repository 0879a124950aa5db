import Synchronization

/// The end of a queue. Release makes ids stale and stops ticks at once; the last pass runs the last callbacks and gives
/// the control block back.
extension QueueCore {
  /// Releases the queue with that id, and its timers. Ignored if the queue has ended.
  package static func release(_ id: UInt64) -> Status {
    .of { () throws(Forked) in try beginClosing(id)?.status ?? endedOrUnknown(id) }
  }

  private static func endedOrUnknown(_ id: UInt64) -> Status {
    QueueControlBlocks.hasEnded(id) ? .ignored : unknown(id)
  }

  /// Releases unless that was done, then waits until no callback of the queue runs or will run. Waits for a handler.
  /// Ignored if the queue has ended.
  /// - Parameter timeout: 0 or more; `Int64.max` without limit.
  package static func shutdown(_ id: UInt64, timeout: Int64) -> Status {
    .of { () throws(Status) in
      let core = try beginShutdown(id)
      if ThreadState.frames.holds(core.control) { return core.control.callerIsInside(core.id) }
      return core.waitForEnd(timeout: timeout)
    }
  }

  /// Releases, and runs the last callbacks if the caller is where they belong: `shutdown` without waiting. Gives what
  /// there is to wait for.
  package static func beginShutdown(_ id: UInt64) throws(Status) -> QueueCore {
    let core = try Status.orForked { () throws(Forked) -> QueueCore? in
      // Or it was released before, and perhaps has not ended.
      let known = try beginClosing(id)?.core ?? QueueControlBlocks.block(of: id)?.core
      guard let core = known, core.id == id else { return nil }
      if !ThreadState.frames.holds(core.control), core.driver.isOnQueue { try core.closeHere() }
      return core
    }
    guard let core else { throw endedOrUnknown(id) }
    return core
  }

  /// Whether no callback of it runs or will run.
  package var isOver: Bool { closing.isOver }

  /// Waits until no callback of a queue that was released runs or will run. Waits for a handler.
  /// - Parameter timeout: 0 or more; `Int64.max` without limit.
  package func waitForEnd(timeout: Int64) -> Status { .of { () throws(Forked) in try waitForItsEnd(timeout) } }

  private func waitForItsEnd(_ timeout: Int64) throws(Forked) -> Status {
    let end = Clock.monotonic.now.saturatingAdd(timeout)
    var status = WaitRegistry.wait(for: .context(self), timeout: timeout)
    if status == .ok && !closing.isOver {
      try closeHere()
      // The thread that is ending may also be closing the queue: then it is the one to wait for.
      let left = timeout == .max ? .max : max(0, end.saturatingSubtract(Clock.monotonic.now))
      status = WaitRegistry.wait(for: .queue(self), timeout: left)
    }
    if status == .timedOut && driver.mayNeverRun {
      try closeHere()
      return closing.isOver ? .ok : status
    }
    return status
  }

  /// Takes the id away and releases the timers. `nil` if the id is stale.
  @inline(never)
  private static func beginClosing(_ id: UInt64) throws(Forked) -> (core: QueueCore, status: Status)? {
    guard let control = QueueControlBlocks.find(id), let core = control.core, core.id == id, control.clearID(id)
    else { return nil }
    // No pass ends the queue until the timers have been visited: the next queue of the control block has timers of its
    // own (P7c).
    core.closing.begin()
    let isRunning = try core.releaseTimers() || core.closing.someCallRuns
    // What this thread keeps of the queue's slots would keep their memory, whichever thread runs the last pass (P14g).
    control.emptyOwnCache()
    core.closing.timersAreReleased()
    if core.suspensions.isHeld { core.goOn() }
    if control.runsInCalls || core.driver.hasEnded {
      try core.closeHere()
    } else {
      control.wake()
    }
    return (core, isRunning ? .running : .ok)
  }

  /// Releases every live timer, and makes sure that no slot becomes a timer any more. Called once the id has been taken
  /// away (P8). True if the handler of a timer runs.
  private func releaseTimers() throws(Forked) -> Bool {
    var isRunning = false
    try control.forEachSlot { slot throws(Forked) in
      var word = slot.wordInOrder
      while word.isFree, !slot.invalidate(word) { word = slot.wordInOrder }
      if word.isLive {
        let timer = TimerRef(slot: slot, version: slot.version)
        if try Fork.guarded({ timer.release(withQueue: true) }) == .running { isRunning = true }
      } else if word.isReleased, word.isBusy {
        isRunning = true
      }
    }
    return isRunning
  }

  /// The execution context of the passes has ended; the caller is in it, or knows that nobody is. A queue that has been
  /// released runs its last callbacks here.
  package func contextHasEnded() throws(Forked) {
    if closing.hasBegun { try closeHere() }
    WaitRegistry.queueEnded(self)
  }

  /// Closes on the caller's thread, unless a pass is running, which will then do it.
  @inline(never)
  private func closeHere() throws(Forked) {
    try asPass { pass throws(Forked) in try closeIfPossible(pass) }
  }

  /// Runs the last callbacks and ends the queue, unless a handler is still running, whose end comes back here.
  func closeIfPossible(_ pass: borrowing Pass) throws(Forked) {
    if closing.isClosed { return }
    handOver?.hasten()
    functions.close()
    // From here on no wake is swallowed: whoever ends a handler after the look below, or has released the last timer, comes
    // again (P7b, P7c).
    control.countPass()
    control.nextWakeUp = .max
    if closing.isReleasing { return }
    try endOutstandingRecords(pass)
    repeat {
      takeInbox(pass)
      try disposeReleased(pass)
      while let item = functions.next() {
        if let handOver { handOver.add(item) } else { try closing.counting { () throws(Forked) in try item.drop() } }
      }
    } while !control.inboxIsEmpty
    batch.close()

    // The end of the last that is on its way comes here again, and so does whoever sorts the functions.
    if closing.isHeldUp || !functions.isEmpty { return }
    var isIdle = true
    control.forEachSlot { slot in
      let word = slot.word
      if !word.isFree || word.isEnqueued || word.hasWriter { isIdle = false }
    }
    guard isIdle, !control.isLimited || control.givenOut == 0 else { return }
    closing.close()
    wheel.close()
    records = Records()
    if let scratch = batch.leaveScratch() { control.leaveScratch(scratch) }
    driver.close()
    handOver?.close()
    if control.isWall || control.isBoottime, !control.runsInCalls { WallClock.remove(id) }
  }

  /// Ends the queue, and tells waiting threads, once nothing of it runs any more, the host's hooks included.
  func announceEnd() throws(Forked) {
    if closing.isClosed, !closing.isOver { try announceEndNow() }
  }

  @inline(never)
  private func announceEndNow() throws(Forked) {
    if let hooks {
      try ThreadState.inside(control) { _ throws(Forked) in
        try onHostsTerms { () throws(Forked) in try hooks.owned.end() }
      }
    }
    // Who looks for the queue finds it until its id says that it has ended.
    QueueControlBlocks.noteEnd(of: control, id: id)
    control.endQueue()
    QueueControlBlocks.takeBack(control)
    closing.noteEnd()
    WaitRegistry.queueEnded(self)
  }
}

/// Timers that were released outside a pass: their last callbacks, and their finalizers.
extension QueueCore {
  /// Whether a pass now would do something.
  var hasWorkNow: Bool {
    batch.wantsSlice || records.endIsWanted || functions.hasNext
  }

  /// Whether all of that is ticks of timers in the background.
  var hasWorkForBackgroundOnly: Bool { functions.isEmpty && !records.endIsWanted && batch.isForBackground }

  /// What a pass does that is made for their sake.
  func disposeNow(_ pass: borrowing Pass) throws(Forked) {
    if isSuspended { return }
    takeInbox(pass)
    try disposeReleased(pass)
    if !batch.released.isEmpty { driver.wake(self) }
    if closing.hasBegun { try closeIfPossible(pass) }
  }
}

/// How far the end of a queue has come. Any thread.
struct Closing: ~Copyable {
  /// It only grows.
  private let stage = Atomic<UInt8>(Closing.notBegun)
  private static var notBegun: UInt8 { 0 }
  /// Its id has gone, and its timers are being released.
  private static var releasing: UInt8 { 1 }
  private static var released: UInt8 { 2 }
  /// The last pass was made.
  private static var closed: UInt8 { 3 }
  /// Nothing of the queue runs or will run.
  private static var over: UInt8 { 4 }
  /// Functions and deliveries on their way on a concurrent queue: while there are some the queue does not end. Counted,
  /// then `hasBegun` or the functions' list is looked at; a closing pass says that it closes, then reads this; all
  /// sequentially consistent: store buffering (P7b).
  private let outstanding = Atomic<Int>(0)

  /// Callbacks of which no timer's word tells, functions and ends of contexts, that have begun and not returned. Counted, then
  /// `hasBegun` is looked at; a release begins, then reads this; all sequentially consistent: store buffering (P7d).
  private let calls = Atomic<Int>(0)

  var someCallRuns: Bool { calls.load(ordering: .sequentiallyConsistent) != 0 }

  func counting(_ call: () throws(Forked) -> Void) throws(Forked) {
    calls.add(1, ordering: .sequentiallyConsistent)
    try call()
    calls.subtract(1, ordering: .sequentiallyConsistent)
  }

  /// The queue was released: nothing is delivered any more but what a release owes.
  var hasBegun: Bool { stage.load(ordering: .sequentiallyConsistent) != Closing.notBegun }

  func begin() { stage.store(Closing.releasing, ordering: .sequentiallyConsistent) }

  /// The timers are being released, some of their ids are not stale yet: until then no last callback is called, which might
  /// use one of them, and the queue does not end (P7c).
  var isReleasing: Bool { stage.load(ordering: .sequentiallyConsistent) == Closing.releasing }

  func timersAreReleased() { stage.store(Closing.released, ordering: .sequentiallyConsistent) }

  /// The caller, who makes a pass, was the last.
  func close() { stage.store(Closing.closed, ordering: .sequentiallyConsistent) }

  var isClosed: Bool { stage.load(ordering: .sequentiallyConsistent) >= Closing.closed }

  func noteEnd() { stage.store(Closing.over, ordering: .sequentiallyConsistent) }

  var isOver: Bool { stage.load(ordering: .sequentiallyConsistent) == Closing.over }

  var isHeldUp: Bool { outstanding.load(ordering: .sequentiallyConsistent) != 0 }

  func enter(_ count: Int = 1) { outstanding.add(count, ordering: .sequentiallyConsistent) }

  /// What was counted has come to its end. True if the queue may have waited for it.
  func leave(_ count: Int = 1) -> Bool {
    outstanding.subtract(count, ordering: .sequentiallyConsistent)
    return hasBegun
  }
}

/// The end of a released timer: its last callbacks, its finalizer, and its slot.
extension QueueCore {
  /// `dispose` on a thread of a concurrent queue, unless the queue's other timers are just being released: then the closing
  /// pass does it.
  func disposeOrRetire(_ released: consuming Writing, _ frame: CurrentFrame) throws(Forked) {
    if closing.isReleasing { released.retire(control) } else { try dispose(released, frame) }
  }

  /// Runs a released timer's last callbacks, then frees its slot.
  func dispose(_ released: consuming Writing, _ frame: CurrentFrame) throws(Forked) {
    let slot = released.slot
    if let sideRecord = released.sideRecord, !givesRecords {
      frame.slot = slot.index
      // Busy, in case the queue is released in the meantime.
      _ = slot.set(TimerWord.busyBit)
      while !isSuspended, let delivery = popCallback(sideRecord, control.now) {
        let held = sideRecord.target?.retain() == true ? sideRecord.target : nil
        let record = lastCallback(of: slot, delivery.kind, held?.object ?? .none)
        try Trace.noteCall(record)
        try delivery.function(record)
        try Trace.note(.returned, TimerRef(slot: slot, version: slot.version))
        try held?.release()
      }
      if slot.clear(TimerWord.busyBit | TimerWord.waitedBit).isWaited { WaitRegistry.timerEnded(slot.index) }
      if isSuspended {
        // The rest comes after the resume. One that came before this has woken a pass that found nothing.
        frame.slot = nil
        released.retire(control)
        return control.wake()
      }
      try closing.counting { () throws(Forked) in
        try sideRecord.named?.close()
        try sideRecord.writerFields.finalizer?(slot.context)
      }
      frame.slot = nil
    }
    try released.free(control)
  }

  func lastCallback(of slot: TimerSlot, _ kind: TickKind, _ target: Context) -> CoreTick {
    let now = control.wallTime(control.now)
    return CoreTick(
      timer: Handle.id(.timer, index: slot.index.number, version: slot.version), generation: slot.generation(slot.word),
      sequence: 0, missed: 0, scheduled: now, actual: now, context: slot.context, target: target, kind: kind.rawValue)
  }
}

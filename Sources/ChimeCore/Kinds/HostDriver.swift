internal import CPlatform
import Synchronization

/// A host-driven queue's driver: a kernel timer, whose descriptor the host polls.
final class HostDriver: QueueDriver, @unchecked Sendable {
  // Unchecked for `isIdle` and `isWatching`, which are the pass's.
  let control: QueueControlBlock
  private let id: UInt64
  /// The only thread that may drive the queue; nil for any.
  private let owner: UInt64?
  /// What the system calls the thread that made the queue.
  let systemThread = chime_system_thread()
  /// The thread that last processed or took records; 0 for none yet (P11d).
  let drivingThread = Atomic<UInt64>(0)
  /// Threads inside `run` that return when nothing is left to run (P5b).
  let sleepers = Atomic<Int>(0)
  /// Whether the last pass for `run` left nothing to run, and whether it watches a timer.
  var isIdle = false
  var isWatching = false
  /// The timer that has kept a `run` from its end last. The pass's.
  private var foreground: TimerSlot?

  init(_ core: QueueCore, owner: UInt64?) {
    control = core.control
    id = core.id
    self.owner = owner
  }

  var mayDrive: Bool { owner == nil || owner == ThreadNumber.current }
  /// Whether the calling thread was the last that drove the queue.
  var isLastThread: Bool { drivingThread.load(ordering: .relaxed) == ThreadNumber.current }
  var isDrivingThread: Bool { (owner ?? drivingThread.load(ordering: .relaxed)) == ThreadNumber.current }

  func arm(at time: Int64?) {
    let isCurrent = set(control.hostFile, time ?? .max)
    // A thread that wanted a pass may have set it for now just before: then it must stay so (P11b).
    if !isCurrent || control.nextWakeUp != time ?? .max || control.stopsPoller(id) { control.wakeHost() }
    if !control.isWall { TimerFile.checkThatIsSet(control.hostFile, time ?? .max, clock: control.clockNumber) }
  }

  func rest(_ core: QueueCore) {
    TimerFile.set(control.hostFile, .max, clock: control.clockNumber)
    // A resume, the queue's end or a stop may have set it for now just before: then it must stay so (P28).
    if !core.isSuspended || control.stopsPoller(id) { control.wakeHost() }
  }

  /// Sets the descriptor, on the wall clock so that a step makes it readable, too. False if the clock was stepped since
  /// the pass has looked at it: behind the setting, so that no step is missed (P13c).
  private func set(_ file: Int32, _ time: Int64) -> Bool {
    guard control.isWall, time != .max else {
      TimerFile.set(file, time, clock: control.clockNumber)
      return true
    }
    TimerFile.setForWall(file, time, offset: WallClock.offset.high)
    return control.knowsWallOffset
  }

  func wake(_ core: QueueCore) { control.wakeHost() }
  func close() { control.closeHost() }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    guard let sinceLastPass else { return text.add("its host-driven queue was never processed") }
    text.add(phrase: "its host-driven queue was last processed %d ago", sinceLastPass)
  }
  var takesSync: Bool { false }
  var mayNeverRun: Bool { true }
  var isOfHost: Bool { true }
}

extension HostDriver {
  @inline(never)
  func refuseAsBoundElsewhere() -> Status {
    Status.wrongThread.because(
      "queue is bound to thread %n, which created it, and this is thread %n", systemThread, chime_system_thread())
  }
}

/// Driving the queue, and the timer that `run` watches meanwhile.
extension HostDriver {
  /// Runs `body` as a pass on the calling thread, if that thread may.
  /// - Parameter watches: whether to choose a timer to watch afterwards, as `run` does before it sleeps.
  func drive(_ core: QueueCore, watches: Bool = false, _ body: (borrowing Pass) throws(Forked) -> Void) -> Status {
    if !mayDrive { return refuseAsBoundElsewhere() }
    return .of { () throws(Forked) in
      try core.asPassOfCall { pass throws(Forked) in
        drivingThread.store(ThreadNumber.current, ordering: .relaxed)
        control.nextWakeUp = QueueControlBlock.awake
        try body(pass)
        try core.afterSlice(pass)
        if !core.closing.isClosed { watches ? watchTimer(core, pass) : wakeWatcher() }
        return .ok
      }
    }
  }

  // MARK: A timer that is watched

  /// Chooses a running timer whose end, whoever causes it, wakes the sleeper in `run`; none if nothing is left to run.
  private func watchTimer(_ core: QueueCore, _ pass: borrowing Pass) {
    if control.watched == .end, sleepers.load(ordering: .sequentiallyConsistent) > 1 {
      control.wakeHost()
    }
    isIdle = false
    isWatching = false
    if core.isSuspended { return watchWhileSuspended(core, pass) }
    while !core.hasWorkNow || control.hasHadBackground && core.hasWorkForBackgroundOnly, control.inboxIsEmpty {
      guard let next = core.wheel.earliest(), next != .max, let earliest = core.wheel.earliestSlot,
        let slot = earliest.isBackground ? timerInForeground : earliest
      else {
        // What was woken meanwhile is in the inbox, or among the functions.
        isIdle = control.inboxIsEmpty && core.functions.isEmpty
        // Others in `run` are to see it, too: this pass has taken away the tick that would have woken them.
        if isIdle, sleepers.load(ordering: .sequentiallyConsistent) > 1 { control.wakeHost() }
        return
      }
      control.watched = SlotLink(slot)
      // If a timer is being written, its writer looks at `watched` at the end (P5).
      isWatching = HostDriver.isWorthWatching(slot)
      if isWatching { return }
    }
  }

  /// `watchTimer` while nothing may be called: what waits for the resume is waited for, and every timer that runs.
  @inline(never)
  private func watchWhileSuspended(_ core: QueueCore, _ pass: borrowing Pass) {
    core.takeInbox(pass)
    core.batch.dropOutdated()
    isWatching = core.batch.hasOtherTurns || !core.functions.isEmpty
    while !isWatching, control.inboxIsEmpty {
      guard let slot = timerInForeground else {
        isIdle = control.inboxIsEmpty && core.functions.isEmpty
        if isIdle, sleepers.load(ordering: .sequentiallyConsistent) > 1 { control.wakeHost() }
        return
      }
      let link = SlotLink(slot)
      control.watched = link
      isWatching = HostDriver.isWorthWatching(slot)
    }
  }

  /// Whether nothing is left that `run` waits for: a function, a callback that is no tick of a timer in the background, or
  /// another timer that runs. In a pass.
  func hasNothingToWaitFor(_ core: QueueCore) -> Bool {
    // Of an open batch the next turn answers, nearly always.
    guard core.batch.isForBackground, core.functions.isEmpty, control.inboxIsEmpty, !core.closing.hasBegun else {
      return false
    }
    if !core.batch.isOpen {
      guard core.wheel.earliest() != nil, let slot = core.wheel.earliestSlot else { return true }
      if !slot.isBackground { return false }
    }
    if let slot = foreground, HostDriver.isWorthWatching(slot), Slab.owner(of: slot) == control { return false }
    foreground = timerInForeground
    return foreground == nil
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
    if let slot = control.watched.slot, Slab.owner(of: slot) == control, HostDriver.isWorthWatching(slot) {
      return slot
    }
    var found: TimerSlot?
    var latest = Int64.min
    control.forEachSlot { slot in
      guard HostDriver.isWorthWatching(slot) else { return }
      let due = slot.dueTime(slot.word)
      if due >= latest { (found, latest) = (slot, due) }
    }
    return found
  }

  /// Wakes the sleeper in `run` on another thread, if the timer that it watches is no longer running: this pass may
  /// have taken away what would have woken it (P5b).
  private func wakeWatcher() {
    let watched = control.watched
    if watched == .none { return }
    if sleepers.load(ordering: .sequentiallyConsistent) == 0 {
      control.watched = .none
    } else if watched.slot?.wordInOrder.isRunning != true {
      control.wakeHost()
    }
  }
}

/// The descriptor of a host-driven queue, in its control block, so that a waker needs no lock: it pins the control block,
/// reads the descriptor and sets the timer. Whoever closes the queue takes the descriptor away, waits for the pins, and
/// closes it. So a late waker never touches a descriptor that the host has opened since (P7).
extension QueueControlBlock {
  func openHost(_ file: Int32) { storage.hostFile.store(file, ordering: .sequentiallyConsistent) }

  func closeHost() {
    let file = storage.hostFile.exchange(-1, ordering: .sequentiallyConsistent)
    if file < 0 { return }
    TimerFile.set(file, 0)  // wakes whoever polls
    waitForPins()
    withoutCancellation { TimerFile.close(file) }
  }

  func stopIsPending(_ id: UInt64) -> Bool { storage.stopRequest.isPending(for: id) }

  /// Whether whoever has to stop may be waiting for the descriptor.
  func stopsPoller(_ id: UInt64) -> Bool { stopIsPending(id) && isPinned }

  /// The queue may have ended since it was found; the next queue's stop must not be lost.
  func requestStop(_ id: UInt64) -> Bool { storage.stopRequest.make(for: id, while: { self.id == id }) }

  func takeStop(_ id: UInt64) -> Bool { storage.stopRequest.take(for: id) }
}

import Synchronization

/// Driving the queue, and the timer that `run` watches meanwhile.
extension HostDriver {
  /// Runs `body` as a pass on the calling thread, if that thread may.
  /// - Parameter watches: whether to choose a timer to watch afterwards, as `run` does before it sleeps.
  func drive(_ core: QueueCore, watches: Bool = false, _ body: (CurrentFrame) -> Void) -> Status {
    if !mayDrive { return isBoundElsewhere }
    return core.asPassOfCall { frame in
      drivingThread.store(ThreadNumber.current, ordering: .relaxed)
      control.nextWakeUp = QueueControlBlock.awake
      body(frame)
      if core.isAbandoned { return .inChild }
      core.afterSlice(frame)
      if !core.isClosed { watches ? watchTimer(core) : wakeWatcher() }
      return .ok
    }
  }

  // MARK: A timer that is watched

  /// Chooses a running timer whose end, whoever causes it, wakes the sleeper in `run`; none if nothing is left to run.
  /// The caller holds the pass lock.
  private func watchTimer(_ core: QueueCore) {
    if control.watched == QueueControlBlock.watchedEnded, sleepers.load(ordering: .sequentiallyConsistent) > 1 {
      control.wakeHost()
    }
    isIdle = false
    isWatching = false
    while !core.hasWorkNow, control.inboxIsEmpty {
      guard let next = core.wheel.earliest(), next != .max, let earliest = core.wheel.earliestSlot,
        let slot = earliest.isBackground ? timerInForeground : earliest
      else {
        // What was woken meanwhile is in the inbox, or among the functions.
        isIdle = control.inboxIsEmpty && core.functions.isEmpty
        // Others in `run` are to see it, too: this pass has taken away the tick that would have woken them.
        if isIdle, sleepers.load(ordering: .sequentiallyConsistent) > 1 { control.wakeHost() }
        return
      }
      control.watched = slot.index &+ 1
      // If a timer is being written, its writer looks at `watched` at the end (P5).
      isWatching = HostDriver.isWorthWatching(slot)
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
    if watched != 0, watched != QueueControlBlock.watchedEnded {
      let slot = Slab.slot(watched &- 1)
      if Slab.owner(of: slot) == control, HostDriver.isWorthWatching(slot) { return slot }
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
    if watched == 0 { return }
    if sleepers.load(ordering: .sequentiallyConsistent) == 0 {
      control.watched = 0
    } else if watched == QueueControlBlock.watchedEnded || !Slab.slot(watched &- 1).wordInOrder.isRunning {
      control.wakeHost()
    }
  }
}

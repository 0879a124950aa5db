import Synchronization

/// Running a loop, stopping it from anywhere, and loops on threads of their own.
extension Loop {
  /// Runs the calling thread's loop in a mode. Waits for time, even if nothing is in that mode yet.
  ///
  /// The main thread's loop drains libdispatch's main queue while it runs in a common mode.
  ///
  /// - Parameters:
  ///   - mode: not the common modes, which are a set of modes.
  ///   - timeout: 0 or more; `Int64.max` without limit.
  ///   - untilTick: return after the first pass of a queue that delivered a tick.
  /// - Returns: stopped; ok after a tick; timeIsOver; invalidArgument for a mode that nobody has ever used on this loop;
  ///   resource, limit; forked.
  package static func run(in mode: LoopMode, timeout: Int64, untilTick: Bool) -> Status {
    .of { () throws(Status) in
      let loop = try current
      if loop.hasEnded { return .stopped }
      guard mode != .common, let index = loop.state.withLock({ $0.index(of: mode) }) else {
        return Status.invalidArgument.because(
          "mode is one in which the calling thread's run loop has never had a queue or a timer, or the common modes")
      }
      var mainQueue: Int32 = -1
      if MainThread.isCurrent, MainThread.hasDispatch, loop.state.withLock({ $0.modes[index].isCommon }) {
        guard let file = withoutCancellation({ MainQueue.fileToDrain() }) else { return .resource }
        mainQueue = file
      }
      let end = Clock.monotonic.now.saturatingAdd(timeout)
      return loop.run(Run(mode: index, untilTick: untilTick), until: end, mainQueue)
    }
  }

  /// What a run does next.
  enum Step {
    case stop
    /// A pass of one queue.
    case visit(RunLoopDriver, QueueCore)
    /// Every queue that was due has made a pass.
    case endRound
    /// Waits for the descriptor, which is set for the next deadline.
    case wait(Int32)
    /// The time is up, and nothing of it is left to do.
    case end
  }

  /// Which queues have a turn.
  enum RoundKind {
    /// Those that are due; where none is, the run waits.
    case running
    /// The time was up after a wait: what has become due in it comes still.
    case lastRound
    /// The time is up: those whose pass has left some of what it collected.
    case remainders
  }

  /// - Parameters:
  ///   - other: a descriptor that is waited for, too: the main queue's, or where the run is of the main queue, that of
  ///     its stop; -1 for none.
  func run(_ run: Run, until end: Int64, _ other: Int32) -> Status {
    let isThere = state.withLock { state in
      guard state.runs.reserve() else { return false }
      state.runs.append(run)
      if !run.isOfMainQueue { swap(&state.runs[state.runs.count - 1].isStopped, &state.nextIsStopped) }
      noteRuns(state)
      return true
    }
    if !isThere { return Memory.refusal }
    let status: Status
    do { status = try goRound(run, until: end, other) } catch { return .inChild }
    state.withLock { state in
      state.runs.removeLast()
      noteRuns(state)
    }
    return status
  }

  /// In rounds: a turn for each queue that is due, followed by the main queue and the run's end. There is no array of
  /// what is due: a tick allocates nothing (promise 19).
  private func goRound(_ run: Run, until end: Int64, _ other: Int32) throws(Forked) -> Status {
    // 0: a round begins with the next visit.
    var round: UInt64 = 0
    var kind = RoundKind.running
    while true {
      var ticked = false
      var hasWaited = false
      switch state.withLock({ next(&$0, in: run.mode, until: end, &round, kind) }) {
      case .stop: return .stopped
      case .end: return .timeIsOver
      case .visit(let driver, let core):
        let before = core.counters.ticks
        try core.pass()
        let isRemainder = core.batch.isOpen
        state.withLock { _ in driver.endPass(leaves: isRemainder) }
        if threadEnds { return .stopped }
        if run.untilTick, core.counters.ticks != before { return state.withLock({ takeStop($0) }) ? .stopped : .ok }
        continue
      case .endRound: if other >= 0, Descriptors.wait(-1, other, timeout: 0) { ticked = try drain(other, run) }
      case .wait(let file):
        if Descriptors.wait(file, other) { ticked = try drain(other, run) }
        hasWaited = true
        // A loop is bound to its thread, which goes on; the callbacks that come do not end for it.
        if isOwn { _ = ThreadEnd.isPending }
        state.withLock { $0.fileTime = .min }
      }
      isWaiting.store(false, ordering: .sequentiallyConsistent)
      let isOver = end != .max && Clock.monotonic.now >= end
      if threadEnds { return .stopped }
      if run.untilTick, ticked { return state.withLock({ takeStop($0) }) ? .stopped : .ok }
      if isOver { kind = hasWaited ? .lastRound : .remainders }
    }
  }

  /// Does the main queue's work; or where the run is of the main queue, notes that a stop was asked for. Gives whether a
  /// queue has delivered a tick.
  private func drain(_ file: Int32, _ run: Run) throws(Forked) -> Bool {
    if !run.isOfMainQueue {
      return try Fork.guarded { MainQueue.drain(file, of: self, untilTick: run.untilTick) }
    }
    MainQueue.emptyStopFile()
    return false
  }

  /// Whether a callback has ended this thread, which goes on to its end in the caller.
  private var threadEnds: Bool { ThreadEnd.isCaught && !isOwn }

  /// The next step; with the loop's lock held.
  private func next(
    _ state: inout State, in mode: Int, until end: Int64, _ round: inout UInt64, _ kind: RoundKind
  ) -> Step {
    if takeStop(state) { return .stop }
    let now = Clock.monotonic.now
    let count = state.drivers.count
    for step in 0..<count {
      // Drivers may have come and gone since the visit before: so the search goes round the whole list.
      let index = (state.cursor + step) % count
      let driver = state.drivers[index]
      guard round == 0 || driver.lastRound != round, state.isIn(mode, driver),
        kind != .remainders || driver.hasRemainder, let core = driver.beginPass(at: now)
      else { continue }
      if round == 0 {
        state.lastRound += 1
        round = state.lastRound
      }
      driver.lastRound = round
      state.cursor = index + 1
      return .visit(driver, core)
    }
    if round != 0 {
      round = 0
      return .endRound
    }
    if kind != .running { return .end }
    // Nothing is due: the timer is set for the next deadline, or the run's end.
    var time = end
    for driver in state.drivers where state.isIn(mode, driver) { time = min(time, driver.nextPass) }
    if time != state.fileTime {
      state.fileTime = time
      TimerFile.set(file, time)
    }
    TimerFile.checkThatIsSet(file, time)
    isWaiting.store(true, ordering: .sequentiallyConsistent)
    // Woken before the thread said that it waits: there may be no signal.
    if state.drivers.contains(where: { $0.isWoken && state.isIn(mode, $0) }) { TimerFile.wake(file) }
    return .wait(file)
  }

  // MARK: Stopping

  /// Makes the innermost run return; if none is under way, the next one returns at once. Ignored while a stop of that run
  /// is pending.
  package func stop() -> Status {
    state.withLock { state in
      let run = state.runs.lastIndex { !$0.isOfMainQueue }
      if run.map({ state.runs[$0].isStopped }) ?? state.nextIsStopped { return .ignored }
      if let run { state.runs[run].isStopped = true } else { state.nextIsStopped = true }
      noteRuns(state)
      wakeThread()
      return .ok
    }
  }

  /// Whether the innermost run is to return now.
  private func takeStop(_ state: State) -> Bool {
    if state.isEnding { return true }
    guard let run = state.runs.last, !run.isOfMainQueue else { return MainQueue.takeStop() }
    return run.isStopped
  }

  // MARK: On a thread of its own

  /// Starts a thread that runs its loop in the default mode until `stop`. The thread ends then, and with it the loop.
  package static func start(label: String) throws(Status) -> UInt64 {
    if Fork.isChild { throw .inChild }
    guard ThreadState.prepare() else { throw .noThreadKey }
    let loop = try make(isOwn: true)
    let status = OwnThread.start(name: label.isEmpty ? "chime.run-loop" : label) {
      try? ThreadState.with { thread throws(Forked) in
        // Whatever ends this thread in a callback is caught, and no call of the loop's own passes it on: the loop's
        // last callbacks come all the same.
        try thread.asBoundary { () throws(Forked) in
          loop.bind(to: thread)
          _ = run(in: .default, timeout: .max, untilTick: false)
          try loop.end()
        }
      }
    }
    if status == .ok { return loop.id }
    try Status.orForked { () throws(Forked) in try loop.end() }
    throw status
  }

  /// Ends a loop that `start` made: its id is stale, and its thread ends after the callback it is in. Ignored for the
  /// loop of a thread of the host's.
  package func release() -> Status {
    guard isOwn else { return .ignored }
    guard Loop.table.remove(id) != nil else { return hasEndedStatus }
    // Not a stop, which would end the innermost run only.
    state.withLock { state in
      state.isEnding = true
      noteRuns(state)
      wakeThread()
    }
    return .ok
  }
}

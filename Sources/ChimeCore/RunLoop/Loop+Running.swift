internal import CPlatform
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
  /// - Returns: stopped; ok after a tick; timedOut; invalidArgument for a mode that nobody has ever used on this loop;
  ///   resource, limit; forked.
  package static func run(in mode: LoopMode, timeout: Int64, untilTick: Bool) -> Status {
    switch current {
    case .failure(let status): return status
    case .success(let loop):
      if loop.hasEnded { return .stopped }
      guard let index = loop.state.withLock({ $0.index(of: mode) }) else {
        return Status.invalidArgument.because(
          "mode is one in which the calling thread's run loop has never had a queue or a timer, or the common modes")
      }
      var mainQueue: Int32 = -1
      if loop.drainsMainQueue(index) {
        guard let file = withoutCancellation({ MainQueue.fileToDrain() }) else { return .resource }
        mainQueue = file
      }
      let epoch = Fork.epoch
      let isThere = loop.state.withLock { state in
        guard state.runs.makesRoom() else { return false }
        state.runs.append(Run(mode: mode))
        return true
      }
      if !isThere { return Memory.refusal }
      let status = loop.run(
        in: index, until: Clock.monotonic.now.saturatingAdd(timeout), untilTick: untilTick, mainQueue, epoch
      ) { MainQueue.drain(mainQueue) }
      // A callback has forked, and this is the child: the lock may be held by a thread that does not exist here.
      if epoch != Fork.epoch { return .forked }
      loop.state.withLock { _ = $0.runs.removeLast() }
      return status
    }
  }

  private func drainsMainQueue(_ mode: Int) -> Bool {
    MainQueue.isMainThread && MainQueue.isOnDispatch && state.withLock { $0.modes[mode].isCommon }
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
  }

  /// A turn for each queue that is due, followed by the main queue and the run's end. There is no array of what is due:
  /// a tick allocates nothing (promise 19).
  struct Round {
    /// 0: begins with the next visit.
    var number: UInt64 = 0
    /// Where the search goes on.
    var cursor = 0
  }

  /// - Parameters:
  ///   - other: a descriptor that is waited for, too; -1 for none.
  ///   - drain: called when that can be read.
  func run(
    in mode: Int, until end: Int64, untilTick: Bool, _ other: Int32, _ epoch: UInt32, _ drain: () -> Void
  ) -> Status {
    var round = Round()
    while true {
      switch state.withLock({ next(&$0, in: mode, until: end, &round) }) {
      case .stop: return .stopped
      case .visit(let driver, let core):
        let before = core.counters.ticks
        driver.runCalls()
        if epoch != Fork.epoch { return .forked }
        core.pass()
        if epoch != Fork.epoch { return .forked }
        let status = state.withLock { state in
          driver.endPass()
          if core.counters.ticks != before { state.runs[state.runs.count - 1].hasTicked = true }
          return afterCallbacks(&state, untilTick: untilTick)
        }
        if let status { return status }
        continue
      case .endRound: if other >= 0, Descriptors.wait(-1, other, timeout: 0) { drain() }
      case .wait(let file): if Descriptors.wait(file, other) { drain() }
      }
      if epoch != Fork.epoch { return .forked }
      let status = state.withLock { state -> Status? in
        state.isWaiting = false
        if let status = afterCallbacks(&state, untilTick: untilTick) { return status }
        return end != .max && Clock.monotonic.now >= end ? .timedOut : nil
      }
      if let status { return status }
    }
  }

  private func next(_ state: inout State, in mode: Int, until end: Int64, _ round: inout Round) -> Step {
    if takeStop(&state) { return .stop }
    if let (driver, core) = state.beginPass(in: mode, at: Clock.monotonic.now, &round) { return .visit(driver, core) }
    if round.number == 0 { return state.wait(mode, until: end) }
    round.number = 0
    return .endRound
  }

  /// Why the innermost run returns now, if it does.
  private func afterCallbacks(_ state: inout State, untilTick: Bool) -> Status? {
    // A callback has ended this thread, which goes on to its end in the caller.
    if ThreadEnd.isCaught, !isOwn { return .stopped }
    if untilTick, state.runs[state.runs.count - 1].hasTicked { return .ok }
    return takeStop(&state) ? .stopped : nil
  }

  // MARK: Wake-ups

  /// A queue on the loop wants a pass now. Any thread.
  func wake(_ driver: RunLoopDriver) {
    state.withLock { state in
      driver.isWoken = true
      state.wakeThread()
    }
  }

  // MARK: Stopping

  /// Makes the innermost run return; if none is under way, the next one returns at once. Ignored while a stop is
  /// pending.
  package func stop() -> Status {
    guard stopRequest.make() else { return .ignored }
    state.withLock { $0.wakeThread() }
    return .ok
  }

  private func takeStop(_ state: inout State) -> Bool {
    if state.isEnding { return true }
    if state.runs.last?.isOfMainQueue == true { return MainQueue.takeStop() }
    return stopRequest.take()
  }

  // MARK: On a thread of its own

  /// Starts a thread that runs its loop in the default mode until `stop`. The thread ends then, and with it the loop.
  package static func start(label: String) -> Result<UInt64, Status> {
    if Fork.isChild { return .failure(.forked) }
    guard ThreadState.prepare() else { return .failure(.noThreadKey) }
    return make(isOwn: true).flatMap { loop in
      let status = OwnThread.start(name: label.isEmpty ? "chime.run-loop" : label) {
        ThreadState.with { thread in
          loop.bind(to: thread)
          _ = run(in: .default, timeout: .max, untilTick: false)
        }
        // Here, not with the thread's state, so that the host's end hook comes after the last finalizer.
        loop.end()
      }
      if status == .ok { return .success(loop.id) }
      loop.end()
      return .failure(status)
    }
  }

  /// Ends a loop that `start` made: its id is stale, and its thread ends after the callback it is in. Ignored for the
  /// loop of a thread of the host's.
  package func release() -> Status {
    guard isOwn else { return .ignored }
    guard retireID() else { return .unknownHandle }
    // Not a stop, which would end the innermost run only.
    state.withLock { state in
      state.isEnding = true
      _ = stopRequest.make()
      state.wakeThread()
    }
    return .ok
  }
}

extension Loop.State {
  /// A mode's index; `nil` for a mode that was never used, and for the common modes.
  func index(of mode: LoopMode) -> Int? { modes.firstIndex { $0.name == mode } }

  /// Begins the pass of a queue that is due and had no turn in the round; `nil` when there is none.
  fileprivate mutating func beginPass(
    in mode: Int, at now: Int64, _ round: inout Loop.Round
  ) -> (RunLoopDriver, QueueCore)? {
    let count = modes[mode].drivers.count
    for step in 0..<count {
      // Drivers may have come and gone since the visit before: so the search goes round the whole list.
      let index = (round.cursor + step) % count
      let driver = modes[mode].drivers[index]
      if round.number != 0, driver.lastRound == round.number { continue }
      guard let core = driver.beginPass(at: now) else { continue }
      if round.number == 0 {
        lastRound += 1
        round.number = lastRound
      }
      driver.lastRound = round.number
      round.cursor = index + 1
      return (driver, core)
    }
    return nil
  }

  /// Nothing is due: sets the timer for the next deadline, or the run's end.
  fileprivate mutating func wait(_ mode: Int, until end: Int64) -> Loop.Step {
    var next = end
    for driver in modes[mode].drivers { next = min(next, driver.nextPass) }
    if next != fileTime {
      fileTime = next
      TimerFile.set(file, next)
    }
    isWaiting = true
    return .wait(file)
  }

  /// Ends the wait of the loop's thread, if it waits.
  mutating func wakeThread() {
    guard isWaiting, file >= 0 else { return }
    isWaiting = false
    fileTime = .min
    let saved = Errno.current
    TimerFile.set(file, 0)
    Errno.current = saved
  }
}

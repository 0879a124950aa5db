import Synchronization

/// Modes, and the queues in them.
extension Loop {
  /// Makes a queue on the loop and gives its id: invalidHandle if the loop's thread has ended; limit, noMemory,
  /// resource.
  package func makeQueue(
    in modes: LoopModes, _ options: QueueOptions, isMainQueue: Bool = false
  ) throws(Status) -> UInt64 {
    guard !hasEnded else { throw hasEndedStatus }
    var indices: [Int] = []
    let isThereRoom = state.withLock { state in
      for mode in modes.all {
        guard let index = state.makeIndex(of: mode) else { return false }
        indices.append(index)
      }
      return state.drivers.reserve()
    }
    guard isThereRoom else { throw Memory.refusal }
    let made = try QueueCore.make(options) { core in
      let driver = RunLoopDriver(core, self, indices, isMainQueue: isMainQueue)
      ExecutionContexts.hasRunLoops.store(true, ordering: .relaxed)
      state.withLock { state in
        if !hasEnded { state.drivers.append(driver) }
      }
      return driver
    }
    // A thread that ended meanwhile has not seen the new queue.
    if hasEnded {
      _ = QueueCore.release(made)
      throw hasEndedStatus
    }
    return made
  }

  /// Makes a mode one of the loop's common modes.
  package func addCommonMode(_ mode: LoopMode) -> Status {
    if mode == .common { return Status.invalidArgument.because("mode is the common modes themselves") }
    return state.withLock { state in
      guard let index = state.makeIndex(of: mode) else { return Memory.refusal }
      state.modes[index].isCommon = true
      // The loop may be waiting in that mode, for others' deadlines.
      wakeThread()
      return .ok
    }
  }

  package func weakTimerQueue(in modes: LoopModes) throws(Status) -> (id: UInt64, isNew: Bool) {
    func find(_ state: State) -> UInt64? { state.weakTimerQueues.first { $0.modes == modes }?.queue }
    if let queue = state.withLock({ find($0) }) {
      if QueueCore.find(queue) != nil { return (queue, false) }
      // A caller that found it in the list of queues has ended it.
      dropWeakTimerQueue(queue)
    }
    let made = try makeQueue(in: modes, QueueOptions(label: "chime.weak-timers"))
    // If two threads have created one, the first wins and the other's is released. So is one that the loop's end has
    // not seen.
    var kept: UInt64 = 0
    defer { if kept != made { _ = QueueCore.release(made) } }
    kept = try state.withLock { state throws(Status) in
      if let queue = find(state) { return queue }
      if hasEnded { throw hasEndedStatus }
      guard state.weakTimerQueues.reserve() else { throw Memory.refusal }
      state.weakTimerQueues.append((modes, made))
      return made
    }
    return (kept, kept == made)
  }

  package func dropWeakTimerQueue(_ id: UInt64) {
    state.withLock { state in
      if let index = state.weakTimerQueues.firstIndex(where: { $0.queue == id }) {
        state.weakTimerQueues.remove(at: index)
      }
    }
    _ = QueueCore.release(id)
  }
}

extension Loop.State {
  /// A mode's index; `nil` for one that was never named.
  func index(of mode: LoopMode) -> Int? { modes.firstIndex { $0.name == mode } }

  /// A mode's index; a new mode gets one. `nil` without memory.
  mutating func makeIndex(of mode: LoopMode) -> Int? {
    if let index = index(of: mode) { return index }
    guard modes.reserve() else { return nil }
    modes.append(Loop.Mode(name: mode))
    return modes.count - 1
  }

  /// Whether a queue ticks in a mode.
  func isIn(_ mode: Int, _ driver: RunLoopDriver) -> Bool {
    driver.modes.contains(mode) || modes[mode].isCommon && driver.modes.contains(Loop.commonModes)
  }
}

/// A loop that weak timers tick on: Chime's own, or Foundation's.
package protocol WeakTimerLoop: AnyObject, Sendable {
  /// Whether the loop's thread has ended.
  var hasEnded: Bool { get }
  /// The answer where it has.
  var hasEndedStatus: Status { get }
  /// The id of the queue of the weak timers in these modes, and whether this call has made it.
  func weakTimerQueue(in modes: LoopModes) throws(Status) -> (id: UInt64, isNew: Bool)
  /// Releases such a queue, for which there was no timer after all.
  func dropWeakTimerQueue(_ id: UInt64)
}

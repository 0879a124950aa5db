import Synchronization

/// Modes, and the queues in them.
extension Loop {
  /// Makes a queue on the loop and gives its id: invalidArgument without a mode, invalidHandle if the loop's thread
  /// has ended, unsupported for a clock other than the monotonic and the wall clock; limit, noMemory, resource.
  package func makeQueue(
    in modes: LoopModes, _ options: QueueOptions, isMainQueue: Bool = false
  ) -> Result<UInt64, Status> {
    guard !modes.all.isEmpty, !modes.contains(LoopMode("")) else {
      return .failure(Status.invalidArgument.because("mode is empty"))
    }
    guard !hasEnded else { return .failure(.unknownHandle) }
    guard options.clock != .boottime else { return .failure(.noBootTime) }
    guard state.withLock({ $0.makesRoom(for: modes) }) else { return .failure(Memory.refusal) }
    let made = QueueCore.make(options) { core in
      let driver = RunLoopDriver(core, self, modes, isMainQueue: isMainQueue)
      add(driver)
      return driver
    }
    // A thread that ended meanwhile has not seen the new queue.
    if hasEnded, case .success(let id) = made {
      _ = QueueCore.release(id)
      return .failure(.unknownHandle)
    }
    return made
  }

  private func add(_ driver: RunLoopDriver) {
    ExecutionContexts.hasRunLoops.store(true, ordering: .relaxed)
    state.withLock { state in
      if hasEnded { return }
      for mode in driver.modes.all {
        if mode == .common {
          state.commonDrivers.append(driver)
          for i in state.modes.indices where state.modes[i].isCommon && !driver.modes.contains(state.modes[i].name) {
            state.modes[i].drivers.append(driver)
          }
        } else {
          let index = state.makeIndex(of: mode)
          state.modes[index].drivers.append(driver)
        }
      }
    }
  }

  /// Called by the driver, at its queue's end. Any thread.
  func remove(_ driver: RunLoopDriver) {
    state.withLock { state in
      driver.endForGood()
      for i in state.modes.indices { state.modes[i].drivers.removeLast(driver) }
      state.commonDrivers.removeLast(driver)
    }
  }

  /// Makes a mode one of the loop's common modes.
  package func addCommonMode(_ mode: LoopMode) -> Status {
    guard mode != .common, !mode.isEmpty else {
      return Status.invalidArgument.because("mode is the common modes themselves, or empty")
    }
    return state.withLock { state in
      guard state.makesRoom(for: LoopModes([mode])) else { return Memory.refusal }
      let index = state.makeIndex(of: mode)
      if state.modes[index].isCommon { return .ok }
      guard state.modes[index].drivers.makesRoom(for: state.commonDrivers.count) else { return Memory.refusal }
      state.modes[index].isCommon = true
      for driver in state.commonDrivers where !driver.modes.contains(mode) {
        state.modes[index].drivers.append(driver)
      }
      // The loop may be waiting in that mode, for others' deadlines.
      state.wakeThread()
      return .ok
    }
  }

  package func weakTimerQueue(in modes: LoopModes) -> Result<(id: UInt64, isNew: Bool), Status> {
    func find(_ state: State) -> UInt64? { state.weakTimerQueues.first { $0.modes == modes }?.queue }
    if let queue = state.withLock({ find($0) }) { return .success((queue, false)) }
    return makeQueue(in: modes, QueueOptions(label: "chime.weak-timers")).flatMap { made in
      // If two threads have created one, the first wins and the other's is released. So is one that the loop's end has
      // not seen.
      let other = state.withLock { state -> Result<UInt64, Status>? in
        if let queue = find(state) { return .success(queue) }
        if hasEnded { return .failure(.unknownHandle) }
        guard state.weakTimerQueues.makesRoom() else { return .failure(Memory.refusal) }
        state.weakTimerQueues.append((modes, made))
        return nil
      }
      guard let other else { return .success((made, true)) }
      _ = QueueCore.release(made)
      return other.map { ($0, false) }
    }
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
  /// Makes sure that a queue in these modes can be added; false without memory.
  mutating func makesRoom(for modes: LoopModes) -> Bool {
    for mode in modes.all {
      if mode == .common {
        guard commonDrivers.makesRoom() else { return false }
        for i in self.modes.indices where self.modes[i].isCommon {
          guard self.modes[i].drivers.makesRoom() else { return false }
        }
      } else {
        guard index(of: mode) != nil || self.modes.makesRoom() else { return false }
        guard self.modes[makeIndex(of: mode)].drivers.makesRoom() else { return false }
      }
    }
    return true
  }

  /// Takes out a driver that stands in some mode.
  mutating func takeDriver() -> RunLoopDriver? {
    for i in modes.indices {
      if let driver = modes[i].drivers.popLast() { return driver }
    }
    return commonDrivers.popLast()
  }

  /// A mode's index; a new mode gets one.
  mutating func makeIndex(of mode: LoopMode) -> Int {
    if let index = index(of: mode) { return index }
    modes.append(Loop.Mode(name: mode))
    return modes.count - 1
  }
}

extension Array where Element == RunLoopDriver {
  /// Removes an object, sought from the end; nothing when it is not there.
  fileprivate mutating func removeLast(_ object: RunLoopDriver) {
    if let index = lastIndex(where: { $0 === object }) { remove(at: index) }
  }
}

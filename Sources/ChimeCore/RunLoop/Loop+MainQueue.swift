/// The main queue where it is not libdispatch's: a queue on the main thread's loop, in a mode of its own and in the common
/// modes, so that `chime_main_run` runs it, and so does the main thread's loop, as that would drain libdispatch's.
extension Loop {
  static func makeMainQueue(_ options: QueueOptions) -> Result<UInt64, Status> {
    guard MainQueue.prepare() else { return .failure(.resource) }
    return main.flatMap { loop in
      loop.makeQueue(in: LoopModes([.common, .mainQueue]), options, isMainQueue: true)
    }
  }

  /// Runs the main queue until `MainQueue.takeStop`. The main thread. Waits for time.
  /// - Parameter stopFile: readable when a stop was asked for.
  static func runMainQueue(_ stopFile: Int32) -> Status {
    switch current {
    case .failure(let status): return status
    case .success(let loop):
      let epoch = Fork.epoch
      let mode = loop.state.withLock { state -> Int? in
        guard state.makesRoom(for: LoopModes([.mainQueue])), state.runs.makesRoom() else { return nil }
        state.runs.append(Run(mode: .mainQueue, isOfMainQueue: true))
        return state.makeIndex(of: .mainQueue)
      }
      guard let mode else { return Memory.refusal }
      let status = loop.run(in: mode, until: .max, untilTick: false, stopFile, epoch) { MainQueue.emptyStopFile() }
      // A callback has forked, and this is the child: the lock may be held by a thread that does not exist here.
      if epoch != Fork.epoch { return .forked }
      loop.state.withLock { _ = $0.runs.removeLast() }
      return status
    }
  }
}

extension RunLoopDriver {
  /// Whether the caller is in a callback of a main queue that is on the loop.
  static var isInMainQueue: Bool {
    ThreadState.frames.contains { ($0.control.core?.driver as? RunLoopDriver)?.isMainQueue == true }
  }
}

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
      guard let mode = loop.state.withLock({ $0.makeIndex(of: .mainQueue) }) else { return Memory.refusal }
      return loop.run(Run(mode: mode, isOfMainQueue: true), until: .max, stopFile)
    }
  }
}

extension RunLoopDriver {
  /// Whether the caller is in a callback of a main queue that is on the loop.
  static var isInMainQueue: Bool {
    ThreadState.frames.contains { ($0.control.core?.driver as? RunLoopDriver)?.isMainQueue == true }
  }
}

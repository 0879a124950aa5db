import Chime

/// What is the main actor's is changed by handlers of a `MainTimerQueue`, and by no other queue's.
@MainActor final class MainStateModel { var count = 0 }

#if PROBE
  func mainState(_ queue: TimerQueue, _ model: MainStateModel) throws -> ChimeTimer {
    // refused: main actor-isolated property 'count' can not be mutated from a nonisolated context
    try queue.schedule(every: .seconds(1)) { _ in model.count += 1 }
  }
#else
  func mainState(_ queue: MainTimerQueue, _ model: MainStateModel) throws -> ChimeTimer {
    try queue.schedule(every: .seconds(1)) { _ in model.count += 1 }
  }
#endif

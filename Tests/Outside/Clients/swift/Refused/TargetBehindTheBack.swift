import Chime

/// The handler of a target gets it; captured past that, it is somebody else's: here the main actor's.
@MainActor final class Screen {
  var count = 0

  func start(on queue: TimerQueue, _ main: MainTimerQueue) throws -> ChimeTimer {
    #if PROBE
      // refused: main actor-isolated property 'count' can not be mutated from a nonisolated context
      try queue.schedule(.every(.seconds(1)), target: self) { _, _ in self.count += 1 }
    #else
      try main.schedule(.every(.seconds(1)), target: self) { screen, _ in screen.count += 1 }
    #endif
  }
}

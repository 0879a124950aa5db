import Chime

/// A handler keeps an object for itself, or shares it with whoever made the timer.
final class Total { var value = 0 }

func sharedCapture(_ queue: TimerQueue) throws -> ChimeTimer {
  let total = Total()
  // refused: sending value of non-Sendable type
  let timer = try queue.schedule(every: .seconds(1)) { _ in total.value += 1 }
  #if PROBE
    total.value = 0
  #endif
  return timer
}

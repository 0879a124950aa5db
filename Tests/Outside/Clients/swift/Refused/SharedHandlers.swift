import Chime

/// The handlers of one timer share an object among themselves, and with nobody else.
final class Sum { var value = 0 }

func sharedHandlers(_ queue: TimerQueue) throws -> ChimeTimer {
  let sum = Sum()
  // refused: sending value of non-Sendable type
  let timer = try queue.makeTimer(handlers: { .init(registration: { sum.value = 0 }) { _ in sum.value += 1 } })
  #if PROBE
    sum.value = 1
  #endif
  return timer
}

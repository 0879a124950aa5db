import ChimeCompat

/// A countdown's handler is where its queue is.
@MainActor final class Label { var text = "" }

#if PROBE
  func countdownOnAnotherQueue(_ queue: TimerQueue, _ label: Label) throws -> Countdown {
    // refused: main actor-isolated property 'text' can not be mutated from a nonisolated context
    try Countdown(from: .seconds(60), on: queue) { left in label.text = "\(left)" }
  }
#else
  func countdownOnAnotherQueue(_ queue: MainTimerQueue, _ label: Label) throws -> Countdown {
    try Countdown(from: .seconds(60), on: queue) { left in label.text = "\(left)" }
  }
#endif

import Chime

/// A target is used by the queue, and may be used elsewhere meanwhile: it is `Sendable`.
#if PROBE
  final class SharedTarget { var count = 0 }
#else
  final class SharedTarget: Sendable { let count = 0 }
#endif

func sharedTarget(_ queue: TimerQueue, _ target: SharedTarget) throws -> ChimeTimer {
  // refused: type 'SharedTarget' does not conform to the 'Sendable' protocol
  try queue.schedule(.every(.seconds(1)), target: target) { target, _ in print(target.count) }
}

import Chime

/// A handler on an actor uses the actor's state, and nothing else that changes.
actor Meter { var total = 0 }

func actorHandlerCapture(_ queue: TimerQueue, _ meter: Meter) throws -> ChimeTimer {
  #if PROBE
    var total = 0
    // refused: mutation of captured var 'total' in concurrently-executing code
    return try queue.scheduleTask(.every(.seconds(1)), actor: meter) { _, _ in total += 1 }
  #else
    return try queue.scheduleTask(.every(.seconds(1)), actor: meter) { meter, _ in meter.total += 1 }
  #endif
}

import Chime

/// A variable that a handler changes is not read beside it.
func countedHere(_ queue: TimerQueue) throws -> ChimeTimer {
  var count = 0
  // refused: sending value of non-Sendable type
  let timer = try queue.schedule(every: .seconds(1)) { _ in
    count += 1
    print(count)
  }
  #if PROBE
    print(count)
  #endif
  return timer
}

import Chime

/// What a function takes along to the queue is gone here.
final class Batch { var lines: [String] = [] }

func performCapture(_ queue: TimerQueue) throws {
  let batch = Batch()
  // refused: sending value of non-Sendable type
  try queue.perform { batch.lines.append("on the queue") }
  #if PROBE
    batch.lines.append("here")
  #endif
}

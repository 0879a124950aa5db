import Chime

/// An asynchronous handler is a new task at each tick, which may run on any thread.
final class Samples { var all: [Int] = [] }

actor Store { func add(_ value: Int) {} }

func taskCapture(_ queue: TimerQueue, _ store: Store) throws -> ChimeTimer {
  #if PROBE
    let samples = Samples()
    return try queue.scheduleTask(.every(.seconds(1))) { _ in
      await Task.yield()
      // refused: capture of 'samples' with non-Sendable type 'Samples' in a '@Sendable' closure
      samples.all.append(1)
    }
  #else
    return try queue.scheduleTask(.every(.seconds(1))) { _ in await store.add(1) }
  #endif
}

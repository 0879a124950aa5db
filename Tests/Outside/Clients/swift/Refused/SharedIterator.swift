import Chime

/// Tasks share a sequence of ticks, each with an iterator of its own.
func sharedIterator(_ ticks: some AsyncSequence<ChimeTimer.Tick, Never> & Sendable) async {
  #if PROBE
    var iterator = ticks.makeAsyncIterator()
    // refused: sending value of non-Sendable type
    let reader = Task { _ = await iterator.next(isolation: nil) }
    _ = await iterator.next(isolation: nil)
  #else
    var iterator = ticks.makeAsyncIterator()
    let reader = Task {
      var own = ticks.makeAsyncIterator()
      _ = await own.next(isolation: nil)
    }
    _ = await iterator.next(isolation: nil)
  #endif
  await reader.value
}

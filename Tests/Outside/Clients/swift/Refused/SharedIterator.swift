import Chime

/// Tasks share a sequence of ticks, each with an iterator of its own.
func sharedIterator(_ ticks: Ticks) async {
  #if PROBE
    var iterator = ticks.makeAsyncIterator()
    // refused: sending value of non-Sendable type
    let reader = Task { _ = await iterator.next() }
    _ = await iterator.next()
  #else
    var iterator = ticks.makeAsyncIterator()
    let reader = Task {
      var own = ticks.makeAsyncIterator()
      _ = await own.next()
    }
    _ = await iterator.next()
  #endif
  await reader.value
}

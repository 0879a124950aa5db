import Chime

/// The body of a timeout is over when the call returns: it may use what a handler, which stays, may not.
func timeoutBody(_ queue: TimerQueue, _ total: inout Int) async throws {
  #if PROBE
    // refused: escaping closure captures 'inout' parameter 'total'
    _ = try queue.schedule(every: .seconds(1)) { _ in total += 1 }
  #else
    try await queue.withTimeout(.seconds(1)) { total += 1 }
  #endif
}

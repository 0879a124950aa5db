import Chime

/// Without waiting, handlers of the main actor run inside the call: so the call is the main actor's.
#if PROBE
  // refused: call to main actor-isolated instance method 'advanceTimers(by:)' in a synchronous nonisolated context
  nonisolated func timeOfTheMainQueue(_ queue: MainTimerQueue) throws { try queue.advanceTimers(by: .seconds(1)) }
#else
  nonisolated func timeOfTheMainQueue(_ queue: MainTimerQueue) async throws { try await queue.advance(by: .seconds(1)) }
#endif

import ChimeCompat

/// A value that vanishes is read by any thread.
final class Token { var uses = 0 }

func limitedValue(_ queue: TimerQueue) throws {
  #if PROBE
    // refused: type 'Token' does not conform to the 'Sendable' protocol
    _ = try TimeLimited(Token(), lifetime: .seconds(1), on: queue)
  #else
    _ = try TimeLimited("token", lifetime: .seconds(1), on: queue)
  #endif
}

import ChimeCore

/// The delays between attempts: each longer than the one before, and none quite the same, so that many clients do not come
/// back together.
public struct Backoff: Sequence, IteratorProtocol, Sendable {
  private var delay: Duration
  private let factor: Double
  private let longest: Duration
  private let jitter: Double
  private var generator: any RandomNumberGenerator & Sendable

  /// Delays without end. A number that is out of range counts as the nearest that is not, and NaN as the least.
  ///
  /// - Parameters:
  ///   - first: the first delay; 0 or more.
  ///   - factor: how much longer each is than the one before; 1 or more, infinity included.
  ///   - longest: none is longer; 0 or more.
  ///   - jitter: what part of each delay is left to chance, from 0 to 1: 0.5 for a delay between a half and the whole.
  ///   - generator: where the chance comes from. A copy of the backoff has one of its own, in the same state.
  public init(
    from first: Duration, factor: Double = 2, upTo longest: Duration = .seconds(60), jitter: Double = 0.5,
    using generator: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()
  ) {
    self.longest = Swift.min(Swift.max(longest, .zero), .seconds(Int64.max))
    delay = Swift.min(Swift.max(first, .zero), self.longest)
    self.factor = Swift.max(1, factor)
    self.jitter = Swift.min(Swift.max(jitter, 0), 1)
    self.generator = generator
  }

  /// The next delay.
  ///
  /// - Returns: never `nil`.
  public mutating func next() -> Duration? {
    defer { delay = longer }
    return jitter > 0 ? delay * (1 - Double.random(in: 0...jitter, using: &generator)) : delay
  }

  /// The delay that follows. The product is made only where it is at most `longest`: beyond what a `Duration` holds it
  /// would trap.
  private var longer: Duration {
    if delay == .zero { return .zero }
    return delay >= longest / factor ? longest : Swift.min(delay * factor, longest)
  }
}

extension AnyTimerQueue {
  /// Calls `body` until it returns, and waits between two attempts, on the queue's clock: a virtual
  /// one in tests.
  ///
  /// - Parameters:
  ///   - attempts: how many at most; less than 1 counts as 1.
  ///   - backoff: how long to wait after each.
  ///   - isWorthwhile: whether to try again after that error; any error but `CancellationError` unless given.
  ///   - body: gets the number of the attempt, from 1.
  /// - Returns: what `body` returns.
  /// - Throws: what the last attempt throws; `CancellationError`; `ChimeError` if the queue was shut down.
  public nonisolated(nonsending) func retry<Value>(
    attempts: Int, backoff: Backoff, when isWorthwhile: (any Error) -> Bool = { _ in true },
    _ body: nonisolated(nonsending) (Int) async throws -> Value
  ) async throws -> Value {
    var delays = backoff
    var attempt = 1
    while true {
      do {
        return try await body(attempt)
      } catch  where attempt < attempts && !(error is CancellationError) && isWorthwhile(error) {
        try await clock.sleep(for: delays.next() ?? .zero)
        attempt += 1
      }
    }
  }
}

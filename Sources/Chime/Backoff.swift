import ChimeCore

/// The delays between attempts: each longer than the one before, and none quite the same, so that many clients do not come
/// back together.
public struct Backoff: Sequence, IteratorProtocol, Sendable {
  private var delay: Duration
  private let factor: Double
  private let longest: Duration
  private let jitter: Double

  /// Delays without end.
  ///
  /// - Parameters:
  ///   - first: the first delay; 0 or more.
  ///   - factor: how much longer each is than the one before; 1 or more.
  ///   - longest: none is longer.
  ///   - jitter: what part of each delay is left to chance, from 0 to 1: 0.5 for a delay between a half and the whole.
  public init(from first: Duration, factor: Double = 2, upTo longest: Duration = .seconds(60), jitter: Double = 0.5) {
    delay = Swift.min(Swift.max(first, .zero), longest)
    self.factor = Swift.max(1, factor)
    self.longest = longest
    self.jitter = Swift.min(Swift.max(jitter, 0), 1)
  }

  /// The next delay.
  ///
  /// - Returns: never `nil`.
  public mutating func next() -> Duration? {
    defer { delay = Swift.min(delay * factor, longest) }
    return jitter > 0 ? delay * (1 - Double.random(in: 0...jitter)) : delay
  }
}

/// Calls `body` until it returns, and waits between two attempts.
///
/// - Parameters:
///   - attempts: how many at most, 1 or more.
///   - backoff: how long to wait after each.
///   - queue: whose clock decides; a virtual one in tests.
///   - body: gets the number of the attempt, from 1.
/// - Returns: what `body` returns.
/// - Throws: what the last attempt throws; `CancellationError`; `ChimeError` if the queue was shut down.
public nonisolated(nonsending) func retry<Value>(
  attempts: Int, backoff: Backoff, on queue: TimerQueue, _ body: (Int) async throws -> Value
) async throws -> Value {
  var delays = backoff
  var attempt = 1
  while true {
    do {
      return try await body(attempt)
    } catch  where attempt < attempts && !(error is CancellationError) {
      try await TimerQueueClock(queue).sleep(for: delays.next() ?? .zero)
      attempt += 1
    }
  }
}

extension TimerQueue {
  /// Calls `handler` about every `interval`: each tick comes up to `jitter` after its point on the grid, by chance, so that
  /// what many programs do at the same interval does not come at the same moment. The grid itself does not drift.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - jitter: 0 or more, below the interval.
  ///   - handler: runs on the queue; calls never overlap. Points of the grid that pass while it runs are skipped.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public func schedule(
    every interval: Duration, jitter: Duration, handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try Schedule.checkInterval(interval)
    guard jitter >= .zero, jitter < interval else {
      throw .argument("jitter is \(jitter): it must be 0 or more, and below the interval, \(interval)")
    }
    let (length, most) = (interval.nanoseconds, jitter.nanoseconds)
    func schedule(_ point: Int64) -> Schedule {
      Schedule(first: point.saturatingAdd(.random(in: 0...most)), firstIsDeadline: true)
    }
    var point = now.nanoseconds.saturatingAdd(length)
    return try ChimeTimer.start(on: self, schedule(point)) { tick in
      if tick.isExtra { return handler(tick) }
      var tick = tick
      let passed = Swift.max(0, tick.start.saturatingSubtract(point)) / length
      tick.missed = UInt64(passed)
      point = point.saturatingAdd(length.multipliedReportingOverflow(by: passed + 1).partialValue)
      // Before the handler, which may change or end the timer.
      _ = try? tick.timer.restart(schedule(point))
      handler(tick)
    }
  }
}

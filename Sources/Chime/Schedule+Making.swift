import ChimeCore
import Dispatch

/// Ways to write a schedule in Swift. A `Duration` beyond `Int64.max` nanoseconds (292 years) counts as for ever. A
/// `TimeInterval` or `DispatchTimeInterval` beyond that is refused, and so is NaN.
extension Schedule {
  // MARK: Durations and deadlines

  /// One tick, `delay` from the start.
  ///
  /// - Parameters:
  ///   - delay: 0 or more.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  ///   - resume: what happens to the remaining time during suspension.
  /// - Throws: `invalidArgument`.
  public static func once(
    after delay: Duration, leeway: Duration = .zero, resume: ResumePolicy = .coalesce
  ) throws(ChimeError) -> Schedule {
    try Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds, resumePolicy: resume).checked()
  }

  /// One tick, at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - deadline: nanoseconds; one in the past is due at once, `Int64.max` never.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  /// - Throws: `invalidArgument`.
  public static func once(at deadline: Int64, leeway: Duration = .zero) throws(ChimeError) -> Schedule {
    try Schedule(first: deadline, firstIsDeadline: true, leeway: leeway.nanoseconds).checked()
  }

  /// A tick every `interval`, on a grid that begins `delay` from the start.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first tick, 0 or more; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - limit: the timer finishes after this many due times, missed ones included; 0 for no limit.
  ///   - missed: what happens to due times that are missed.
  ///   - resume: what happens to the grid during suspension.
  /// - Throws: `invalidArgument`.
  public static func every(
    _ interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero, limit: UInt64 = 0,
    missed: MissedPolicy = .coalesce, resume: ResumePolicy = .coalesce
  ) throws(ChimeError) -> Schedule {
    guard interval > .zero else { throw .invalidArgument }
    return try Schedule(
      first: (delay ?? interval).nanoseconds, interval: interval.nanoseconds, leeway: leeway.nanoseconds,
      tickLimit: limit, missedPolicy: missed, resumePolicy: resume
    ).checked()
  }

  /// A tick every `interval`, on a grid that begins at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - deadline: of the first tick, in nanoseconds; one in the past is due at once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - limit: the timer finishes after this many due times, missed ones included; 0 for no limit.
  ///   - missed: what happens to due times that are missed.
  /// - Throws: `invalidArgument`.
  public static func every(
    _ interval: Duration, from deadline: Int64, leeway: Duration = .zero, limit: UInt64 = 0,
    missed: MissedPolicy = .coalesce
  ) throws(ChimeError) -> Schedule {
    guard interval > .zero else { throw .invalidArgument }
    return try Schedule(
      first: deadline, firstIsDeadline: true, interval: interval.nanoseconds, leeway: leeway.nanoseconds,
      tickLimit: limit, missedPolicy: missed
    ).checked()
  }

  // MARK: Like Foundation's Timer

  /// One tick after a number of seconds, or one every that many seconds.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds, rounded up to whole nanoseconds; 0 or more, above 0 when it repeats.
  ///   - repeats: whether ticks repeat.
  ///   - tolerance: seconds by which a tick may be late in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also for NaN, infinity, and anything beyond 292 years.
  public init(timeInterval: Double, repeats: Bool, tolerance: Double = 0) throws(ChimeError) {
    let interval = try Schedule.nanoseconds(timeInterval)
    if repeats, interval == 0 { throw .invalidArgument }
    self = try Schedule(
      first: interval, interval: repeats ? interval : 0, leeway: Schedule.nanoseconds(tolerance)
    ).checked()
  }

  // MARK: Like DispatchSourceTimer

  /// A tick at `deadline`, and one every `repeating` from then on.
  ///
  /// - Parameters:
  ///   - deadline: for queues on the monotonic clock, whose zero is that of `DispatchTime`.
  ///   - repeating: above 0, or `.never`.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also beyond 292 years.
  public init(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ChimeError) {
    let interval = try Schedule.nanoseconds(repeating)
    guard interval != 0, let leeway = try Schedule.nanoseconds(leeway) else { throw .invalidArgument }
    self = try Schedule(
      first: Int64(clamping: deadline.uptimeNanoseconds), firstIsDeadline: true, interval: interval ?? 0,
      leeway: leeway
    ).checked()
  }

  /// A tick every `repeating`, for the first time one interval from the start.
  ///
  /// - Parameters:
  ///   - repeating: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also for `.never` and beyond 292 years.
  public init(
    repeating: DispatchTimeInterval, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ChimeError) {
    guard let interval = try Schedule.nanoseconds(repeating), interval > 0,
      let leeway = try Schedule.nanoseconds(leeway)
    else { throw .invalidArgument }
    self = try Schedule(first: interval, interval: interval, leeway: leeway).checked()
  }

  // MARK: Checks

  private func checked() throws(ChimeError) -> Schedule {
    guard isValid else { throw .invalidArgument }
    return self
  }

  /// Seconds as nanoseconds, rounded up.
  private static func nanoseconds(_ seconds: Double) throws(ChimeError) -> Int64 {
    let nanoseconds = (seconds * 1e9).rounded(.up)
    guard let exact = Int64(exactly: nanoseconds) else { throw .invalidArgument }
    return exact
  }

  /// `nil` for `.never`.
  private static func nanoseconds(_ interval: DispatchTimeInterval) throws(ChimeError) -> Int64? {
    let (count, unit): (Int, Int64)
    switch interval {
    case .seconds(let seconds): (count, unit) = (seconds, 1_000_000_000)
    case .milliseconds(let milliseconds): (count, unit) = (milliseconds, 1_000_000)
    case .microseconds(let microseconds): (count, unit) = (microseconds, 1_000)
    case .nanoseconds(let nanoseconds): (count, unit) = (nanoseconds, 1)
    case .never: return nil
    @unknown default: throw .invalidArgument
    }
    let (product, overflows) = Int64(count).multipliedReportingOverflow(by: unit)
    if overflows { throw .invalidArgument }
    return product
  }
}

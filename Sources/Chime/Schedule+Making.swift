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
  /// - Returns: a schedule for any queue.
  /// - Throws: `invalidArgument`.
  public static func once(
    after delay: Duration, leeway: Duration = .zero, resume: ResumePolicy = .coalesce
  ) throws(ChimeError) -> Schedule {
    try Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds, resumePolicy: resume).checked()
  }

  /// One tick, at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - deadline: on the clock of the queue; one in the past is due at once.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  /// - Returns: a schedule for timers of queues on that clock.
  /// - Throws: `invalidArgument`.
  public static func once(at deadline: TimerInstant, leeway: Duration = .zero) throws(ChimeError) -> Schedule {
    try Schedule(first: deadline.nanoseconds, firstIsDeadline: true, leeway: leeway.nanoseconds).checked(deadline)
  }

  /// A tick every `interval`, on a grid that begins `delay` from the start.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - delay: of the first tick, 0 or more; `nil` for one interval.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - jitter: each tick is due at its time of the grid plus a random part, uniform in 0 to this; 0 or more, at most the
  ///     interval. What many programs do at one interval then does not come at one moment, and the grid does not drift.
  ///   - limit: the timer finishes after this many due times, missed ones included; 1 or more, `nil` for no limit.
  ///   - missed: what happens to due times that are missed.
  ///   - resume: what happens to the grid during suspension.
  /// - Returns: a schedule for any queue.
  /// - Throws: `invalidArgument`.
  public static func every(
    _ interval: Duration, after delay: Duration? = nil, leeway: Duration = .zero, jitter: Duration = .zero,
    limit: UInt64? = nil, missed: MissedPolicy = .coalesce, resume: ResumePolicy = .coalesce
  ) throws(ChimeError) -> Schedule {
    try checkInterval(interval)
    return try Schedule(
      first: (delay ?? interval).nanoseconds, interval: interval.nanoseconds, leeway: leeway.nanoseconds,
      jitter: jitter.nanoseconds, tickLimit: checkLimit(limit), missedPolicy: missed, resumePolicy: resume
    ).checked()
  }

  /// A tick every `interval`, on a grid that begins at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - deadline: of the first tick, on the clock of the queue; one in the past is due at once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - jitter: each tick is due at its time of the grid plus a random part, uniform in 0 to this; 0 or more, at most the
  ///     interval.
  ///   - limit: the timer finishes after this many due times, missed ones included; 1 or more, `nil` for no limit.
  ///   - missed: what happens to due times that are missed.
  /// - Returns: a schedule for timers of queues on that clock.
  /// - Throws: `invalidArgument`.
  public static func every(
    _ interval: Duration, from deadline: TimerInstant, leeway: Duration = .zero, jitter: Duration = .zero,
    limit: UInt64? = nil, missed: MissedPolicy = .coalesce
  ) throws(ChimeError) -> Schedule {
    try checkInterval(interval)
    return try Schedule(
      first: deadline.nanoseconds, firstIsDeadline: true, interval: interval.nanoseconds, leeway: leeway.nanoseconds,
      jitter: jitter.nanoseconds, tickLimit: checkLimit(limit), missedPolicy: missed
    ).checked(deadline)
  }

  // MARK: Like Foundation's Timer

  /// One tick after a number of seconds, or one every that many seconds.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds, rounded up to whole nanoseconds; 0 or more, above 0 when it repeats.
  ///   - repeats: whether ticks repeat.
  ///   - leeway: seconds by which a tick may be late in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also for NaN, infinity, and anything beyond 292 years.
  public init(timeInterval: Double, repeats: Bool, leeway: Double = 0) throws(ChimeError) {
    let interval = try Schedule.nanoseconds(timeInterval)
    if repeats, interval == 0 { throw .argument("timeInterval is \(timeInterval): it must be above 0 to repeat") }
    self = try Schedule(
      first: interval, interval: repeats ? interval : 0, leeway: Schedule.nanoseconds(leeway)
    ).checked()
  }

  // MARK: Like DispatchSourceTimer

  /// A tick at `deadline`, and one every `repeating` from then on.
  ///
  /// - Parameters:
  ///   - deadline: for queues on the monotonic clock; others refuse it.
  ///   - repeating: above 0, or `.never`.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also beyond 292 years.
  public init(
    deadline: DispatchTime, repeating: DispatchTimeInterval = .never, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws(ChimeError) {
    let interval = try Schedule.nanoseconds(repeating)
    guard interval != 0 else { throw .argument("repeating is 0: it must be above 0, or .never") }
    guard let leeway = try Schedule.nanoseconds(leeway) else {
      throw .argument("leeway is .never: it must have an end")
    }
    let deadline = TimerInstant(deadline)
    self = try Schedule(
      first: deadline.nanoseconds, firstIsDeadline: true, interval: interval ?? 0, leeway: leeway
    ).checked(deadline)
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
    guard let interval = try Schedule.nanoseconds(repeating), interval > 0 else {
      throw .argument("repeating is \(repeating): it must be above 0, and have an end")
    }
    guard let leeway = try Schedule.nanoseconds(leeway) else {
      throw .argument("leeway is .never: it must have an end")
    }
    self = try Schedule(first: interval, interval: interval, leeway: leeway).checked()
  }

  // MARK: Checks

  /// The schedule, if it is one.
  ///
  /// - Parameter deadline: its first deadline; `nil` for a delay.
  func checked(_ deadline: TimerInstant? = nil) throws(ChimeError) -> Schedule {
    var schedule = self
    schedule.timeline = deadline?.timeline
    try schedule.checkParts()
    return schedule
  }

  /// Throws unless a timer can have this schedule on a queue with that clock.
  @inline(__always)
  package func check(for queue: TimerInstant.Timeline) throws(ChimeError) {
    if isValid, timeline == nil { return }
    try checkParts()
    if let timeline { try Schedule.check(TimerInstant(timeline, nanoseconds: first), for: queue) }
  }

  /// Throws if a deadline is on another clock than the queue's.
  @inline(__always)
  static func check(_ deadline: TimerInstant, for queue: TimerInstant.Timeline) throws(ChimeError) {
    if deadline.timeline != queue {
      throw .argument("the deadline is \(deadline), and the queue on \(queue.name): convert it first")
    }
  }

  private static func checkLimit(_ limit: UInt64?) throws(ChimeError) -> UInt64 {
    if limit == 0 { throw .argument("limit is 0: it must be 1 or more, or nil") }
    return limit ?? 0
  }

  @inline(__always)
  static func checkInterval(_ interval: Duration) throws(ChimeError) {
    if interval <= .zero { throw .argument("interval is \(interval): it must be above 0") }
  }

  @inline(never)
  private func checkParts() throws(ChimeError) {
    func duration(_ nanoseconds: Int64) -> Duration { .nanoseconds(nanoseconds) }
    if !firstIsDeadline, first < 0 { throw .argument("delay is \(duration(first)): it must be 0 or more") }
    if interval < 0 { throw .argument("interval is \(duration(interval)): it must be 0 or more") }
    if leeway < 0 { throw .argument("leeway is \(duration(leeway)): it must be 0 or more") }
    if interval > 0, leeway >= interval {
      throw .argument("leeway is \(duration(leeway)): it must be below the interval, \(duration(interval))")
    }
    if jitter < 0 { throw .argument("jitter is \(duration(jitter)): it must be 0 or more") }
    if jitter > interval {
      throw .argument("jitter is \(duration(jitter)): it must be at most the interval, \(duration(interval))")
    }
    guard isValid else { throw .argument("the resume policy .remaining does not go with a deadline") }
  }

  /// Seconds as nanoseconds, rounded up.
  private static func nanoseconds(_ seconds: Double) throws(ChimeError) -> Int64 {
    let nanoseconds = (seconds * 1e9).rounded(.up)
    guard let exact = Int64(exactly: nanoseconds) else {
      throw .argument("an interval is \(seconds) s: it must be a number, of 292 years at most")
    }
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
    @unknown default: throw .argument("an interval is of an unknown kind")
    }
    let (product, overflows) = Int64(count).multipliedReportingOverflow(by: unit)
    if overflows { throw .argument("an interval is \(interval): it must be 292 years at most") }
    return product
  }
}

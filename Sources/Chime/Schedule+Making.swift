import ChimeCore

/// Ways to write a schedule in Swift. A `Duration` counts in whole nanoseconds, rounded up; one beyond `Int64.max` of them
/// (292 years) counts as for ever. <doc:Limits> says which leeways are kept exactly.
extension Schedule {
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
  ) throws -> Schedule {
    try Schedule(first: delay.nanoseconds, leeway: leeway.nanoseconds, resumePolicy: resume).checked()
  }

  /// One tick, at a point on the queue's clock.
  ///
  /// - Parameters:
  ///   - deadline: on the clock of the queue; one in the past is due at once.
  ///   - leeway: how late the tick may be in order to share a wake-up; 0 or more.
  /// - Returns: a schedule for timers of queues on that clock.
  /// - Throws: `invalidArgument`.
  public static func once(at deadline: TimerInstant, leeway: Duration = .zero) throws -> Schedule {
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
  ) throws -> Schedule {
    try checkInterval(interval)
    return try Schedule(
      first: (delay ?? interval).nanoseconds, interval: interval.nanoseconds, leeway: leeway.nanoseconds,
      jitter: jitter.nanoseconds, tickLimit: checkLimit(limit), missedPolicy: missed, resumePolicy: resume
    ).checked()
  }

  /// A tick every `interval`, on a grid that begins at a point on the queue's clock. While it is suspended the grid stays.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - deadline: of the first tick, on the clock of the queue; one in the past is due at once.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - jitter: the longest random part of a due time; see `every(_:after:leeway:jitter:limit:missed:resume:)`.
  ///   - limit: the timer finishes after this many due times, missed ones included; 1 or more, `nil` for no limit.
  ///   - missed: what happens to due times that are missed.
  /// - Returns: a schedule for timers of queues on that clock.
  /// - Throws: `invalidArgument`.
  public static func every(
    _ interval: Duration, at deadline: TimerInstant, leeway: Duration = .zero, jitter: Duration = .zero,
    limit: UInt64? = nil, missed: MissedPolicy = .coalesce
  ) throws -> Schedule {
    try checkInterval(interval)
    return try Schedule(
      first: deadline.nanoseconds, firstIsDeadline: true, interval: interval.nanoseconds, leeway: leeway.nanoseconds,
      jitter: jitter.nanoseconds, tickLimit: checkLimit(limit), missedPolicy: missed
    ).checked(deadline)
  }

  // MARK: Checks

  /// The schedule, if it is one.
  ///
  /// - Parameter deadline: its first deadline; `nil` for a delay.
  package func checked(_ deadline: TimerInstant? = nil) throws(ChimeError) -> Schedule {
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
  package static func checkInterval(_ interval: Duration) throws(ChimeError) {
    if interval <= .zero { throw .argument("interval is \(interval): it must be above 0") }
  }

  @inline(never)
  private func checkParts() throws(ChimeError) {
    func duration(_ nanoseconds: Int64) -> Duration { .nanoseconds(nanoseconds) }
    if !firstIsDeadline, first < 0 { throw ChimeError.argument("delay is \(duration(first)): it must be 0 or more") }
    if interval < 0 { throw ChimeError.argument("interval is \(duration(interval)): it must be 0 or more") }
    if leeway < 0 { throw ChimeError.argument("leeway is \(duration(leeway)): it must be 0 or more") }
    if interval > 0, leeway >= interval {
      throw ChimeError.argument("leeway is \(duration(leeway)): it must be below the interval, \(duration(interval))")
    }
    if jitter < 0 { throw ChimeError.argument("jitter is \(duration(jitter)): it must be 0 or more") }
    if jitter > interval {
      throw ChimeError.argument("jitter is \(duration(jitter)): it must be at most the interval, \(duration(interval))")
    }
    guard isValid else { throw ChimeError.argument("the resume policy .remaining does not go with a deadline") }
  }
}

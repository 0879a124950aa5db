import Chime
import ChimeCore
import Dispatch

/// Schedules by the names and types of Foundation's `Timer` and of `DispatchSourceTimer`. What is beyond 292 years is
/// refused, and so is NaN.
extension Schedule {
  // MARK: Like Foundation's Timer

  /// One tick after a number of seconds, or one every that many seconds.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds, rounded up to whole nanoseconds; 0 or more, above 0 when it repeats.
  ///   - repeats: whether ticks repeat.
  ///   - leeway: seconds by which a tick may be late in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also for NaN, infinity, and anything beyond 292 years.
  public init(timeInterval: Double, repeats: Bool, leeway: Double = 0) throws {
    let interval = try Schedule.nanoseconds(timeInterval)
    if repeats, interval == 0 {
      throw ChimeError.argument("timeInterval is \(timeInterval): it must be above 0 to repeat")
    }
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
  ) throws {
    let interval = try Schedule.nanoseconds(repeating)
    guard interval != 0 else { throw ChimeError.argument("repeating is 0: it must be above 0, or .never") }
    guard let leeway = try Schedule.nanoseconds(leeway) else {
      throw ChimeError.argument("leeway is .never: it must have an end")
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
  ) throws {
    guard let interval = try Schedule.nanoseconds(repeating), interval > 0 else {
      throw ChimeError.argument("repeating is \(repeating): it must be above 0, and have an end")
    }
    guard let leeway = try Schedule.nanoseconds(leeway) else {
      throw ChimeError.argument("leeway is .never: it must have an end")
    }
    self = try Schedule(first: interval, interval: interval, leeway: leeway).checked()
  }

  /// A tick at `deadline`, and one every `repeating` seconds from then on.
  ///
  /// - Parameters:
  ///   - deadline: for queues on the monotonic clock; others refuse it.
  ///   - repeating: seconds, above 0; `.infinity` for a single tick.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also for NaN and beyond 292 years.
  public init(
    deadline: DispatchTime, repeating: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) throws {
    self = try Schedule(deadline: deadline, repeating: Schedule.interval(repeating), leeway: leeway)
  }

  /// A tick every `repeating` seconds, for the first time one interval from the start.
  ///
  /// - Parameters:
  ///   - repeating: seconds, above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  /// - Throws: `invalidArgument`, also for NaN, infinity, and beyond 292 years.
  public init(repeating: Double, leeway: DispatchTimeInterval = .nanoseconds(0)) throws {
    self = try Schedule(repeating: Schedule.interval(repeating), leeway: leeway)
  }

  private static func interval(_ seconds: Double) throws(ChimeError) -> DispatchTimeInterval {
    seconds == .infinity ? .never : .nanoseconds(Int(try nanoseconds(seconds)))
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

extension TimerInstant {
  /// A point on the monotonic clock, as libdispatch names it.
  ///
  /// - Parameter time: `.distantFuture` is never, and so is whatever is beyond `Int64.max` nanoseconds.
  public init(_ time: DispatchTime) {
    self.init(.monotonic, nanoseconds: Int64(clamping: time.uptimeNanoseconds))
  }
}

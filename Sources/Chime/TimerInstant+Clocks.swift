import ChimeCore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

extension TimerInstant: InstantProtocol {
  /// The point that much later, or earlier; clamped to `Int64`.
  ///
  /// - Parameter duration: rounded up to whole nanoseconds.
  /// - Returns: a point on the same clock; never stays never.
  public func advanced(by duration: Duration) -> TimerInstant {
    nanoseconds == .max ? self : TimerInstant(timeline, nanoseconds: nanoseconds.saturatingAdd(duration.nanoseconds))
  }

  /// The distance to `other`, negative if that is earlier; clamped to `Int64` nanoseconds.
  ///
  /// - Parameter other: on the same clock. Two clocks have no distance: the result is then the longest there is, by which
  ///   no sum comes out as something plausible.
  /// - Returns: the distance.
  public func duration(to other: TimerInstant) -> Duration {
    guard timeline == other.timeline else { return .nanoseconds(self < other ? Int64.max : -Int64.max) }
    return .nanoseconds(other.nanoseconds.saturatingSubtract(nanoseconds))
  }

  /// Whether `a` comes first. Instants of different clocks are never equal, and are sorted by clock.
  public static func < (a: TimerInstant, b: TimerInstant) -> Bool {
    a.timeline == b.timeline ? a.nanoseconds < b.nanoseconds : a.timeline.order < b.timeline.order
  }
}

extension TimerInstant {
  /// The point that much later; see `advanced(by:)`.
  public static func + (instant: TimerInstant, duration: Duration) -> TimerInstant { instant.advanced(by: duration) }

  /// The point that much earlier; see `advanced(by:)`.
  public static func - (instant: TimerInstant, duration: Duration) -> TimerInstant {
    instant.advanced(by: .zero - duration)
  }

  /// Moves the point; see `advanced(by:)`.
  public static func += (instant: inout TimerInstant, duration: Duration) { instant = instant + duration }

  /// Moves the point back; see `advanced(by:)`.
  public static func -= (instant: inout TimerInstant, duration: Duration) { instant = instant - duration }

  /// How much later `a` is than `b`; see `duration(to:)`.
  public static func - (a: TimerInstant, b: TimerInstant) -> Duration { b.duration(to: a) }
}

extension TimerInstant.Timeline {
  /// For people.
  package var name: String {
    switch self {
    case .monotonic: "the monotonic clock"
    case .boottime: "the boottime clock"
    case .wall: "the wall clock"
    case .virtual: "virtual time"
    }
  }

  fileprivate var order: Int {
    switch self {
    case .monotonic: 0
    case .boottime: 1
    case .wall: 2
    case .virtual: 3
    }
  }
}

extension TimerInstant: CustomStringConvertible {
  /// The clock and the time since its zero: for people.
  public var description: String {
    nanoseconds == .max ? "never, on \(timeline.name)" : "\(Duration.nanoseconds(nanoseconds)) on \(timeline.name)"
  }
}

/// Between the zero of the wall clock, in 1970, and that of dates, in 2001.
private let secondsTo2001: Int64 = 978_307_200

extension TimerInstant {
  /// A point on the wall clock. Unless it is within 200 days of the beginning of 2001, `Date(instant)` is the same date.
  ///
  /// - Parameter date: rounded up to whole nanoseconds; beyond 292 years from 1970, the nearest there is. NaN is never.
  public init(_ date: Date) {
    self.init(.wall, nanoseconds: Self.nanoseconds(date.timeIntervalSinceReferenceDate))
  }

  /// Exact, unlike a `Double` of so many nanoseconds, or of seconds from 1970.
  private static func nanoseconds(_ sinceReference: Double) -> Int64 {
    let whole = sinceReference.rounded(.down)
    let seconds = whole + Double(secondsTo2001)
    guard seconds < 0x1p63 / 1e9 else { return .max }  // NaN, too
    guard seconds > -0x1p63 / 1e9 else { return .min }
    let fraction = sinceReference - whole
    var nanoseconds = (fraction * 1e9).rounded(.up)
    let rest = (-nanoseconds).addingProduct(fraction, 1e9)  // one rounding, so the sign is right
    if rest > 0 { nanoseconds += 1 }
    if rest <= -1 { nanoseconds -= 1 }
    return (Int64(seconds) * 1_000_000_000).saturatingAdd(Int64(nanoseconds))
  }
}

extension Date {
  /// A point on the wall clock as a date, which is as exact as a `Double`: to less than a microsecond in this century.
  ///
  /// - Parameter instant: `nil` comes of one on another clock.
  public init?(_ instant: TimerInstant) {
    guard instant.timeline == .wall else { return nil }
    // Whole seconds and their fraction apart, and from 2001: only the sum is rounded to what a date can be.
    let (seconds, fraction) = instant.nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
    self.init(timeIntervalSinceReferenceDate: Double(seconds - secondsTo2001) + Double(fraction) / 1e9)
  }
}

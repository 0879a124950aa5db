import ChimeCore

// What a schedule says.
extension Schedule {
  /// How long after the timer's start the first tick is due; `nil` if that is at a deadline.
  package var firstDelay: Duration? { firstIsDeadline ? nil : .nanoseconds(first) }

  /// At which point on the queue's clock the first tick is due; `nil` if that is after a delay.
  package var firstDeadline: TimerInstant? {
    firstIsDeadline ? TimerInstant(timeline ?? .monotonic, nanoseconds: first) : nil
  }

  /// The time between ticks; `nil` for a single tick.
  package var repeatInterval: Duration? { interval > 0 ? .nanoseconds(interval) : nil }

  /// How late a tick may be in order to share a wake-up.
  package var allowedLeeway: Duration { .nanoseconds(leeway) }

  /// The longest random part of a due time; 0 for ticks on the grid itself.
  package var longestJitter: Duration { .nanoseconds(jitter) }

  /// After how many due times the timer finishes; `nil` for no limit.
  package var limit: UInt64? { tickLimit > 0 ? tickLimit : nil }

  /// What happens to due times that are missed.
  package var missedPolicy: MissedPolicy { missed == 0 ? .coalesce : .delay }

  /// What happens to the schedule during suspension.
  package var resumePolicy: ResumePolicy { resume == 0 ? .coalesce : .remaining }
}

extension Schedule {
  /// The clock that the first deadline is on; `nil` for a delay, and for a deadline on whatever clock the queue has.
  package var timeline: TimerInstant.Timeline? {
    get {
      switch size >> 16 {
      case 1: .monotonic
      case 2: .boottime
      case 3: .wall
      case 4: .virtual
      default: nil
      }
    }
    set {
      let number: UInt32 =
        switch newValue {
        case nil: 0
        case .monotonic: 1
        case .boottime: 2
        case .wall: 3
        case .virtual: 4
        }
      size = (size & 0xFFFF) | (number << 16)
    }
  }
}

extension Schedule: CustomStringConvertible {
  /// The schedule in words: for people.
  public var description: String {
    var parts: [String] = []
    switch (firstDeadline, repeatInterval) {
    case (nil, nil): parts.append("once after \(Duration.nanoseconds(first))")
    case (let deadline?, nil): parts.append("once at \(deadline)")
    case (nil, let interval?):
      let delay = Duration.nanoseconds(first)
      parts.append(delay == interval ? "every \(interval)" : "every \(interval), first after \(delay)")
    case (let deadline?, let interval?): parts.append("every \(interval), first at \(deadline)")
    }
    if leeway > 0 { parts.append("leeway \(allowedLeeway)") }
    if jitter > 0 { parts.append("jitter \(longestJitter)") }
    if let limit { parts.append("\(limit) times") }
    if missedPolicy == .delay { parts.append("counted from the handler's end") }
    if resumePolicy == .remaining { parts.append("keeping the remaining time when suspended") }
    return parts.joined(separator: ", ")
  }
}

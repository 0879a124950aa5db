/// The state of a timer, or of the machine around a DispatchSourceTimer, between two calls.
public enum TimerState: Sendable, CaseIterable {
  /// Created, never activated.
  case idle
  /// Ticks come as the schedule says.
  case running
  /// Ticks are held back until `resume` or `restart`.
  case suspended
  /// The last tick of a one-shot or of a tick limit has started.
  case finished
  /// Stopped by `cancel`; can be activated again.
  case cancelled
}

extension TimerState {
  /// The number of `chime_state` in `chime.h`.
  package var rawValue: UInt8 {
    switch self {
    case .idle: 0
    case .running: 1
    case .suspended: 2
    case .finished: 3
    case .cancelled: 4
    }
  }

  package init?(rawValue: UInt8) {
    switch rawValue {
    case 0: self = .idle
    case 1: self = .running
    case 2: self = .suspended
    case 3: self = .finished
    case 4: self = .cancelled
    default: return nil
    }
  }

  /// Idle, finished or cancelled.
  var isAtRest: Bool { self != .running && self != .suspended }

  /// For people. (Embedded Swift does not know the names of cases.)
  package var name: StaticString {
    switch self {
    case .idle: "idle"
    case .running: "running"
    case .suspended: "suspended"
    case .finished: "finished"
    case .cancelled: "cancelled"
    }
  }
}

/// What can happen to a timer.
package enum TimerEvent: Sendable, CaseIterable {
  /// Starts a timer that is at rest.
  case activate
  /// Counts from now, whatever the state.
  case restart
  /// Holds ticks back.
  case suspend
  /// Lets them through again.
  case resume
  /// Puts another schedule in place and leaves the state alone.
  case reschedule
  /// Moves the next deadline later.
  case postpone
  /// Asks for a tick outside the schedule.
  case fire
  /// The one tick of a one-shot, or the last of a limit, starts.
  case lastTick
  /// Stops the timer.
  case cancel
}

/// The state of a timer, or of the machine around a DispatchSourceTimer, between two calls.
///
/// The raw values are those of `chime_state` in `chime.h`.
public enum TimerState: UInt8, Sendable, CaseIterable {
  /// Created, never activated.
  case idle = 0
  /// Ticks come as the schedule says.
  case running = 1
  /// Ticks are held back until `resume` or `restart`.
  case suspended = 2
  /// The last tick of a one-shot or of a tick limit has started.
  case finished = 3
  /// Stopped by `cancel`; can be activated again.
  case cancelled = 4
}

extension TimerState {
  /// For people. (Embedded Swift does not know the names of cases.)
  var name: StaticString {
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
public enum TimerEvent: UInt8, Sendable, CaseIterable {
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

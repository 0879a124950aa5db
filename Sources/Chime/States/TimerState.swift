/// Where a timer, or the machine around a DispatchSourceTimer, stands between two calls.
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

/// What can happen to a timer.
public enum TimerEvent: UInt8, Sendable, CaseIterable {
  case activate
  case restart
  case suspend
  case resume
  case reschedule
  case postpone
  case fire
  case lastTick
  case cancel
}

/// The state machine that every timer and every `DispatchSourceTimerMachine` obeys.
///
/// Pure: no clock, no lock, no callback. It says which state follows and what the caller has to do, after it has
/// released all locks.
///
/// | state \ event | activate | restart | suspend | resume | reschedule | postpone | fire | lastTick | cancel |
/// | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
/// | idle | running | running | – | – | idle | – | + | | – |
/// | running | – | running | suspended | – | running | running | + | finished | cancelled |
/// | suspended | – | running | – | running | suspended | suspended | + | | cancelled |
/// | finished | running | running | – | – | finished | – | + | | – |
/// | cancelled | running | running | – | – | cancelled | – | – | | – |
///
/// `–` is ignored, `+` is one extra tick; an empty cell cannot happen (only a running timer ticks) and is ignored too.
package enum Transition: Equatable, Sendable {
  /// Nothing happens, and the call says so.
  case ignored
  /// The timer starts: sequence and tick count start again, and the schedule counts from now.
  case start
  /// The schedule counts from now; the timer is running.
  case rearm
  /// Ticks are held back.
  case pause
  /// Ticks are let through again, as the resume policy says.
  case unpause
  /// A schedule is stored for later; the state stays.
  case store(TimerState)
  /// The next deadline moves later; the state stays.
  case move(TimerState)
  /// One tick outside the schedule; the state stays.
  case extraTick(TimerState)
  /// The last tick starts.
  case finish
  /// The timer stops.
  case stop

  /// The one table, by column.
  ///
  /// - Parameters:
  ///   - state: before the event.
  ///   - event: what happens.
  package init(from state: TimerState, on event: TimerEvent) {
    switch event {
    case .activate: self = state.isAtRest ? .start : .ignored
    case .restart: self = state.isAtRest ? .start : .rearm
    case .suspend: self = state == .running ? .pause : .ignored
    case .resume: self = state == .suspended ? .unpause : .ignored
    case .reschedule: self = state == .running ? .rearm : .store(state)
    case .postpone: self = state.isAtRest ? .ignored : .move(state)
    case .fire: self = state == .cancelled ? .ignored : .extraTick(state)
    case .lastTick: self = state == .running ? .finish : .ignored
    case .cancel: self = state.isAtRest ? .ignored : .stop
    }
  }

  /// The state that follows; `nil` if the event is ignored.
  package var next: TimerState? {
    switch self {
    case .ignored: nil
    case .start, .rearm, .unpause: .running
    case .pause: .suspended
    case .store(let state), .move(let state), .extraTick(let state): state
    case .finish: .finished
    case .stop: .cancelled
    }
  }
}

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

/// Why a callback is called. The raw values are those of `chime_tick_kind`.
package enum TickKind: UInt32, Sendable, CaseIterable {
  case due, fired, armed, cancelled, finalize, function
}

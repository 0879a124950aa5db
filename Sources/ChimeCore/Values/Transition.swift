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

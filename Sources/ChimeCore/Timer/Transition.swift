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
public enum Transition: Equatable, Sendable {
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

  /// The one table.
  ///
  /// - Parameters:
  ///   - state: before the event.
  ///   - event: what happens.
  public init(from state: TimerState, on event: TimerEvent) {
    switch (state, event) {
    case (.idle, .activate): self = .start
    case (.idle, .restart): self = .start
    case (.idle, .suspend): self = .ignored
    case (.idle, .resume): self = .ignored
    case (.idle, .reschedule): self = .store(.idle)
    case (.idle, .postpone): self = .ignored
    case (.idle, .fire): self = .extraTick(.idle)
    case (.idle, .lastTick): self = .ignored
    case (.idle, .cancel): self = .ignored

    case (.running, .activate): self = .ignored
    case (.running, .restart): self = .rearm
    case (.running, .suspend): self = .pause
    case (.running, .resume): self = .ignored
    case (.running, .reschedule): self = .rearm
    case (.running, .postpone): self = .move(.running)
    case (.running, .fire): self = .extraTick(.running)
    case (.running, .lastTick): self = .finish
    case (.running, .cancel): self = .stop

    case (.suspended, .activate): self = .ignored
    case (.suspended, .restart): self = .rearm
    case (.suspended, .suspend): self = .ignored
    case (.suspended, .resume): self = .unpause
    case (.suspended, .reschedule): self = .store(.suspended)
    case (.suspended, .postpone): self = .move(.suspended)
    case (.suspended, .fire): self = .extraTick(.suspended)
    case (.suspended, .lastTick): self = .ignored
    case (.suspended, .cancel): self = .stop

    case (.finished, .activate): self = .start
    case (.finished, .restart): self = .start
    case (.finished, .suspend): self = .ignored
    case (.finished, .resume): self = .ignored
    case (.finished, .reschedule): self = .store(.finished)
    case (.finished, .postpone): self = .ignored
    case (.finished, .fire): self = .extraTick(.finished)
    case (.finished, .lastTick): self = .ignored
    case (.finished, .cancel): self = .ignored

    case (.cancelled, .activate): self = .start
    case (.cancelled, .restart): self = .start
    case (.cancelled, .suspend): self = .ignored
    case (.cancelled, .resume): self = .ignored
    case (.cancelled, .reschedule): self = .store(.cancelled)
    case (.cancelled, .postpone): self = .ignored
    case (.cancelled, .fire): self = .ignored
    case (.cancelled, .lastTick): self = .ignored
    case (.cancelled, .cancel): self = .ignored
    }
  }

  /// The state that follows; `nil` if the event is ignored.
  public var next: TimerState? {
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

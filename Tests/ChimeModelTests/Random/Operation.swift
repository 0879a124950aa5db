import CChime

/// One call that the random test makes, from outside or from inside a handler. Timers are named by their number in
/// the model; the number of no timer stands for a forged id.
indirect enum Operation {
  case create(TimerTraits)
  case start(TimerTraits, chime_schedule, anonymous: Bool)
  case after(Int64, anonymous: Bool)
  case every(Int64, anonymous: Bool)
  case activate(Int, chime_schedule?)
  case restart(Int, chime_schedule?)
  case reschedule(Int, chime_schedule?)
  case suspend(Int)
  case resume(Int)
  case postpone(Int, Int64)
  case postponeUntil(Int, Int64)
  case fire(Int)
  case cancel(Int)
  case cancelAndWait(Int, Int64)
  case release(Int)
  case jump(Int64)
  case advance(Int64)
  case advanceTo(Int64)
  /// At the timer's n-th callback from now, its handler makes the call.
  case script(Int, callback: Int, Operation)
}

extension Operation: CustomStringConvertible {
  var description: String {
    switch self {
    case .create(let traits): "create \(traits.text)"
    case .start(let traits, let schedule, let anonymous):
      "start\(anonymous ? " anonymous" : "") \(traits.text) \(text(schedule))"
    case .after(let delay, let anonymous): "after\(anonymous ? " anonymous" : "") \(delay)"
    case .every(let interval, let anonymous): "every\(anonymous ? " anonymous" : "") \(interval)"
    case .activate(let timer, let schedule): "activate \(timer) \(text(schedule))"
    case .restart(let timer, let schedule): "restart \(timer) \(text(schedule))"
    case .reschedule(let timer, let schedule): "reschedule \(timer) \(text(schedule))"
    case .suspend(let timer): "suspend \(timer)"
    case .resume(let timer): "resume \(timer)"
    case .postpone(let timer, let delay): "postpone \(timer) by \(delay)"
    case .postponeUntil(let timer, let deadline): "postpone \(timer) until \(deadline)"
    case .fire(let timer): "fire \(timer)"
    case .cancel(let timer): "cancel \(timer)"
    case .cancelAndWait(let timer, let timeout): "cancel and wait \(timer) \(timeout)"
    case .release(let timer): "release \(timer)"
    case .jump(let duration): "jump \(duration)"
    case .advance(let duration): "advance \(duration)"
    case .advanceTo(let deadline): "advance to \(deadline)"
    case .script(let timer, let callback, let operation): "script \(timer) at callback +\(callback): \(operation)"
    }
  }
}

extension TimerTraits {
  fileprivate var text: String {
    let names = [(selfReleasing, "self-release"), (registration, "registration"), (cancellation, "cancellation")]
    return "[\(names.filter(\.0).map(\.1).joined(separator: ", "))]"
  }
}

private func text(_ schedule: chime_schedule?) -> String {
  guard let schedule else { return "NULL" }
  var text = schedule.flags == 0 ? "{first \(schedule.first_ns)" : "{deadline \(schedule.first_ns)"
  if schedule.flags > 1 { text += " flags \(schedule.flags)" }
  if schedule.interval_ns != 0 { text += ", interval \(schedule.interval_ns)" }
  if schedule.leeway_ns != 0 { text += ", leeway \(schedule.leeway_ns)" }
  if schedule.tick_limit != 0 { text += ", limit \(schedule.tick_limit)" }
  if schedule.missed_policy != 0 { text += ", missed policy \(schedule.missed_policy)" }
  if schedule.resume_policy != 0 { text += ", resume policy \(schedule.resume_policy)" }
  return text + "}"
}

import CChime

/// A virtual queue as SEMANTICS.md describes it, in the plainest code: an array of timers and a clock.
///
/// The model runs beside the real queue, one call at a time. It says which statuses a call may return, is told of each
/// callback when it begins and when it returns, and throws a `Difference` for what the rules do not allow. What the
/// documents leave open it takes over from the queue. It uses nothing of Chime but the constants of the header.
final class ModelQueue {
  var now: Int64
  /// All timers ever made, by number.
  private(set) var timers: [ModelTimer] = []
  /// Those that were not finalized.
  private(set) var present: [ModelTimer] = []
  var readings = Reading.all
  /// The pass that runs; `nil` outside `advance`, and inside it before its first callback.
  var pass: Pass?
  /// The time that the running `advance` moves to.
  var target: Int64?
  var ticksDelivered: UInt64 = 0
  private var activations = 0

  init(now: Int64) { self.now = now }

  var unreleased: [ModelTimer] { present.filter { !$0.isReleased } }

  func addTimer(_ traits: TimerTraits) -> ModelTimer {
    let timer = ModelTimer(number: timers.count, traits: traits)
    timers.append(timer)
    present.append(timer)
    return timer
  }

  func forget(_ timer: ModelTimer) { present.removeAll { $0 === timer } }

  private func nextPlace() -> Int {
    activations += 1
    return activations
  }

  // MARK: Calls. Each returns the statuses that are right.

  func activate(_ timer: ModelTimer, _ argument: ScheduleArgument) -> [chime_status] {
    if timer.isReleased { return argument.isValid(for: timer) ? [invalidHandle] : [invalidHandle, invalidArgument] }
    if timer.isLive { return argument.isValid(for: timer) ? [ignored] : [ignored, invalidArgument] }
    guard argument.isValid(for: timer) else { return [invalidArgument] }
    begin(timer, argument)
    return [ok]
  }

  func restart(_ timer: ModelTimer, _ argument: ScheduleArgument) -> [chime_status] {
    if timer.isReleased { return argument.isValid(for: timer) ? [invalidHandle] : [invalidHandle, invalidArgument] }
    guard argument.isValid(for: timer) else { return [invalidArgument] }
    if timer.isAtRest {
      begin(timer, argument)
    } else {
      timer.newGeneration()
      timer.state = .running
      timer.schedule = argument.schedule ?? timer.schedule
      timer.arm(now: now)
      timer.order.restarted = nextPlace()
    }
    return took(timer)
  }

  private func begin(_ timer: ModelTimer, _ argument: ScheduleArgument) {
    timer.newGeneration()
    timer.state = .running
    timer.schedule = argument.schedule ?? timer.schedule
    timer.sequence = 0
    timer.owesArmed = timer.traits.registration
    timer.arm(now: now)
    timer.order = ActivationOrder(activated: nextPlace())
  }

  func reschedule(_ timer: ModelTimer, _ argument: ScheduleArgument) -> [chime_status] {
    if timer.isReleased { return argument.isValid(for: timer) ? [invalidHandle] : [invalidHandle, invalidArgument] }
    guard argument.isValid(for: timer) else { return [invalidArgument] }
    timer.newGeneration()
    timer.schedule = argument.schedule ?? timer.schedule
    switch timer.state {
    case .running:
      timer.arm(now: now)
    case .suspended:
      timer.arm(now: now)
      if let schedule = timer.schedule, schedule.resume == .remaining { timer.remainder = schedule.first }
    case .idle, .finished, .cancelled:
      timer.dueCount = nil
    }
    if timer.isLive { timer.order.rescheduled = nextPlace() }
    return took(timer)
  }

  func suspend(_ timer: ModelTimer) -> [chime_status] {
    if timer.isReleased { return [invalidHandle] }
    guard timer.state == .running else { return [ignored] }
    timer.newGeneration()
    timer.state = .suspended
    if timer.schedule?.resume == .remaining { timer.keepRemainder(now: now) }
    return took(timer)
  }

  func resume(_ timer: ModelTimer) -> [chime_status] {
    if timer.isReleased { return [invalidHandle] }
    guard timer.state == .suspended else { return [ignored] }
    timer.epoch += 1
    timer.state = .running
    if let remainder = timer.remainder { timer.deadline = saturatingSum(now, remainder) }
    timer.remainder = nil
    timer.order.resumed = nextPlace()
    return [ok]
  }

  /// Whether a postpone inside the timer's own handler comes too late is left open: the status decides, and
  /// `takeEffect` is for the caller to call.
  func postpone(_ timer: ModelTimer, _ amount: Postponement) -> [chime_status] {
    var statuses: [chime_status] = []
    if case .delay(..<0) = amount { statuses = [invalidArgument] }
    if timer.isReleased { return statuses + [invalidHandle] }
    if !timer.isLive { return statuses + [ignored] }
    if !statuses.isEmpty { return statuses }
    return timer.isBusy ? [ok, ignored] : [ok]
  }

  /// A postpone was accepted.
  func takeEffect(_ amount: Postponement, on timer: ModelTimer) {
    let point =
      switch amount {
      case .delay(let delay): saturatingSum(now, delay)
      case .until(let deadline): deadline
      }
    if let remainder = timer.remainder {
      timer.remainder = max(remainder, point == .max ? .max : Int64(clamping: Int128(point) - Int128(now)))
    } else if timer.deadlineIsOpen {
      timer.notBefore = max(timer.notBefore ?? .min, point)
    } else {
      timer.deadline = max(timer.deadline, point)
    }
    timer.carriedMayBeDropped = timer.carried > 0
    timer.epoch += 1
  }

  func fire(_ timer: ModelTimer) -> [chime_status] {
    if timer.isReleased { return [invalidHandle] }
    if timer.state == .cancelled { return [ignored] }
    if timer.fireTime == nil {
      timer.fireTime = now
      timer.epoch += 1
    }
    return [ok]
  }

  func cancel(_ timer: ModelTimer) -> [chime_status] {
    if timer.isReleased { return [invalidHandle] }
    guard timer.isLive else { return [ignored] }
    timer.newGeneration()
    timer.state = .cancelled
    if timer.owesArmed { timer.spareArmed += 1 }
    timer.owesArmed = false
    if timer.traits.cancellation { timer.owedCancelled += 1 }
    return took(timer)
  }

  func cancelAndWait(_ timer: ModelTimer, timeout: Int64) -> [chime_status] {
    guard timeout >= 0 else { return timer.isReleased ? [invalidArgument, invalidHandle] : [invalidArgument] }
    let statuses = cancel(timer)
    if timer.isBusy, !timer.isReleased { return [wouldDeadlock] }
    return statuses
  }

  func release(_ timer: ModelTimer) -> [chime_status] {
    if timer.isReleased { return [invalidHandle] }
    if timer.isLive, timer.traits.cancellation { timer.owedCancelled += 1 }
    timer.isReleased = true
    timer.epoch += 1
    if timer.owesArmed { timer.spareArmed += 1 }
    timer.owesArmed = false
    timer.fireTime = nil
    return took(timer)
  }

  func jump(_ duration: Int64) -> [chime_status] {
    guard duration >= 0 else { return [invalidArgument] }
    now = saturatingSum(now, duration)
    return [ok]
  }

  private func took(_ timer: ModelTimer) -> [chime_status] { [timer.isBusy ? running : ok] }
}

/// The schedule argument of a call: none, a valid one, or one that must be refused.
struct ScheduleArgument {
  let isNull: Bool
  let schedule: ModelSchedule?

  init(_ c: chime_schedule?) {
    isNull = c == nil
    schedule = c.flatMap(ModelSchedule.init)
  }

  func isValid(for timer: ModelTimer) -> Bool { isNull ? timer.schedule != nil : schedule != nil }
}

enum Postponement {
  case delay(Int64)
  case until(Int64)
}

/// What the queue did and the rules do not allow.
struct Difference: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

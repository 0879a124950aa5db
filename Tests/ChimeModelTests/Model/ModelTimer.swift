import CChime

/// One timer of the model: all that the exact rules say about a timer, as plain variables.
final class ModelTimer {
  enum State: Int { case idle = 0, running, suspended, finished, cancelled }

  /// How its DUE tick changes it, computed when the tick starts.
  struct DueTick: Equatable {
    let scheduled: Int64
    let missed: UInt64
  }

  let number: Int
  /// 0 until it is known: a fire-and-forget timer names itself in its first callback.
  var id: chime_timer_t = 0
  let traits: TimerTraits

  var state = State.idle
  var schedule: ModelSchedule?
  var sequence: UInt64 = 0
  /// Due times of this limit period, delivered and missed; `nil` after a reschedule at rest, where it is not defined.
  var dueCount: UInt64? = 0
  /// Of a running timer, and of a suspended one that does not keep its remainder.
  var deadline: Int64 = 0
  /// Suspended under *remaining*: the time kept.
  var remainder: Int64?
  /// Periods missed before such a suspend, for the next tick to report.
  var carried: UInt64 = 0
  /// A postpone came after `carried` was counted: the documents do not say which of the two wins.
  var carriedMayBeDropped = false
  /// The documents do not say when this timer is due, or its handler has not yet ended: taken over from the queue.
  var deadlineIsOpen = false
  /// From a postpone inside its own handler under *delay*.
  var notBefore: Int64?
  var fireTime: Int64?

  /// Counts accepted activate, restart, reschedule, suspend and cancel.
  var generations = 0
  /// The queue's number for it, and the count it stands for.
  var knownGeneration: (number: UInt64, count: Int)?
  var order = ActivationOrder()
  /// Changes with everything that may take the timer out of the turn it has in the current pass.
  var epoch = 0

  var owesArmed = false
  /// ARMED of an activation that was cancelled or released before it was reported: may come, need not.
  var spareArmed = 0
  var owedCancelled = 0
  var isBusy = false
  /// `generations` when its DUE handler under *delay* started.
  var rearmsAtReturn: Int?
  var isReleased = false
  /// At rest after a handler of it returned, with something still to be delivered: it may have released itself.
  var mayHaveReleasedItself = false
  var finalizations = 0

  init(number: Int, traits: TimerTraits) {
    self.number = number
    self.traits = traits
  }

  var isAtRest: Bool { state != .running && state != .suspended }
  var isLive: Bool { state == .running || state == .suspended }
  var isOneShot: Bool { schedule?.interval == 0 }
  var hasPendingCallbacks: Bool { owesArmed || spareArmed > 0 || owedCancelled > 0 || fireTime != nil }

  /// The deadline that the interface reports.
  var nextDeadline: Int64 { state == .running ? deadline : .max }

  func isDue(at now: Int64) -> Bool { state == .running && deadline <= now && deadline != .max }

  /// How many more due times the tick limit allows.
  var dueTimesLeft: UInt64 { schedule?.limit.map { $0 - (dueCount ?? 0) } ?? .max }

  /// How many due times of the grid lie at or before `now`.
  private func dueTimes(upTo now: Int64) -> UInt64 {
    guard let schedule, isOverdue(at: now) else { return 0 }
    guard schedule.hasGrid else { return 1 }
    let count = (Int128(now) - Int128(deadline)) / Int128(schedule.interval) + 1
    return UInt64(clamping: min(count, Int128(dueTimesLeft) - Int128(carried)))
  }

  private func isOverdue(at now: Int64) -> Bool { deadline <= now && deadline != .max }

  /// What a tick that counts up to `now` reports.
  func dueTick(upTo now: Int64, scheduledAtFirst: Bool) -> DueTick {
    let times = dueTimes(upTo: now)
    let last = Int128(deadline) + Int128(schedule?.interval ?? 0) * (Int128(times) - 1)
    let missed = Int128(times) - 1 + Int128(carried)
    return DueTick(scheduled: scheduledAtFirst ? deadline : Int64(clamping: last), missed: UInt64(clamping: missed))
  }

  /// The last due time at or before `now`.
  func lastDueTime(upTo now: Int64) -> Int64 { dueTick(upTo: now, scheduledAtFirst: false).scheduled }

  // MARK: What happens to it

  func newGeneration() {
    generations += 1
    epoch += 1
    fireTime = nil
    mayHaveReleasedItself = false
  }

  /// Counts the schedule from `now`, as activate, restart and a reschedule while running do.
  func arm(now: Int64) {
    guard let schedule else { return }
    deadline = schedule.firstDeadline(now: now)
    remainder = nil
    forgetThePast()
  }

  func forgetThePast() {
    dueCount = 0
    carried = 0
    carriedMayBeDropped = false
    deadlineIsOpen = false
    notBefore = nil
  }

  /// Keeps what is left, and counts what was missed, under *remaining*.
  func keepRemainder(now: Int64) {
    if schedule?.hasGrid == true {
      let times = dueTimes(upTo: now)
      if times > 1 { carried = UInt64(clamping: Int128(carried) + Int128(times) - 1) }
    }
    remainder = deadline == .max ? .max : Int64(clamping: max(0, Int128(deadline) - Int128(now)))
  }

  /// Its DUE tick starts, reporting `missed`.
  func startDueTick(missed: UInt64) {
    guard let schedule else { return }
    let delivered = Int128(missed) + 1
    sequence += 1
    if schedule.limit != nil { dueCount = UInt64(clamping: Int128(dueCount ?? 0) + delivered) }
    let passed = delivered - Int128(min(carried, missed))
    carried = 0
    carriedMayBeDropped = false
    if schedule.interval == 0 || dueTimesLeft == 0 {
      state = .finished
    } else if schedule.missed == .delay {
      deadlineIsOpen = true
      rearmsAtReturn = generations
    } else {
      deadline = Int64(clamping: Int128(deadline) + passed * Int128(schedule.interval))
    }
    isBusy = true
  }

  /// Its handler returned. Under *delay* the interval counts from here, if nothing changed the generation.
  func handlerReturned(now: Int64) {
    isBusy = false
    if let schedule, rearmsAtReturn == generations, state == .running {
      deadline = max(saturatingSum(now, schedule.interval), notBefore ?? .min)
      deadlineIsOpen = false
    }
    notBefore = nil
    rearmsAtReturn = nil
  }
}

/// What a timer is created with.
struct TimerTraits {
  var selfReleasing = false
  var registration = false
  var cancellation = false
}

import CChime
import ChimeCore

// chime.h, "Timers".

@_cdecl("chime_timer_create") @implementation
public func chime_timer_create(
  _ queue: chime_queue_t, _ options: UnsafePointer<chime_timer_options>?, _ timer: UnsafeMutablePointer<chime_timer_t>?
) -> chime_status {
  guard let timer = unsafe timer else { return Arguments.null("timer").rawValue }
  guard let options = unsafe options else { return Arguments.null("options").rawValue }
  return Status.of { () throws(Status) in
    let options = try unsafe Arguments.timerOptions(options, on: queue, selfRelease: false)
    return unsafe TimerRef.create(on: queue, options, nil, out: timer)
  }.rawValue
}

@_cdecl("chime_timer_start") @implementation
public func chime_timer_start(
  _ queue: chime_queue_t, _ options: UnsafePointer<chime_timer_options>?, _ schedule: UnsafePointer<chime_schedule>?,
  _ timer: UnsafeMutablePointer<chime_timer_t>?
) -> chime_status {
  guard let options = unsafe options else { return Arguments.null("options").rawValue }
  guard let schedule = unsafe schedule else { return Arguments.null("schedule").rawValue }
  if case .done(let status) = unsafe timer == nil
    ? startUnheld(queue, options, schedule) : startFast(queue, options, schedule, timer, selfRelease: false)
  {
    return status.rawValue
  }
  return unsafe startSlow(queue, options, schedule, timer).rawValue
}

/// Starts a timer that has a handler, a context, a one-shot's deadline or delay, perhaps a short leeway; `needsMore` for any
/// other.
@inline(__always)
private func startFast(
  _ queue: chime_queue_t, _ options: UnsafePointer<chime_timer_options>, _ schedule: UnsafePointer<chime_schedule>,
  _ timer: UnsafeMutablePointer<chime_timer_t>?, selfRelease: Bool
) -> TimerRef.ShortForm {
  guard unsafe Arguments.haveHandlerOnly(options), let hasDeadline = unsafe Arguments.oneShotHasDeadline(schedule),
    let handler = unsafe Arguments.tickFunction(options.pointee.handler),
    let leeway = unsafe CompactDuration(short: schedule.pointee.leeway_ns)
  else { return .needsMore }
  let context = unsafe Context(options.pointee.context)
  let first = unsafe schedule.pointee.first_ns
  // Split so that each variant inlines only its own case.
  if let timer = unsafe timer, !hasDeadline {
    return unsafe startAfter(first, queue, handler, context, leeway, timer)
  }
  // One that is held has a deadline by now.
  return unsafe TimerRef.createFast(
    on: queue, handler, context, selfRelease: selfRelease, first: first,
    firstIsDeadline: !selfRelease || hasDeadline, leeway: leeway, out: timer)
}

/// One that nobody holds.
@inline(never)
private func startUnheld(
  _ queue: chime_queue_t, _ options: UnsafePointer<chime_timer_options>, _ schedule: UnsafePointer<chime_schedule>
) -> TimerRef.ShortForm {
  unsafe startFast(queue, options, schedule, nil, selfRelease: true)
}

@inline(never)
private func startAfter(
  _ delay: Int64, _ queue: chime_queue_t, _ handler: TickFunction, _ context: Context, _ leeway: CompactDuration,
  _ timer: UnsafeMutablePointer<chime_timer_t>
) -> TimerRef.ShortForm {
  unsafe TimerRef.createFast(
    on: queue, handler, context, selfRelease: false, first: delay, firstIsDeadline: false, leeway: leeway, out: timer)
}

/// `startFast` with a slot of the control block's list instead of the thread's cache; or else the long form.
@inline(never)
private func startSlow(
  _ queue: chime_queue_t, _ options: UnsafePointer<chime_timer_options>, _ schedule: UnsafePointer<chime_schedule>,
  _ timer: UnsafeMutablePointer<chime_timer_t>?
) -> Status {
  if let timer = unsafe timer, unsafe Arguments.haveHandlerOnly(options),
    let hasDeadline = unsafe Arguments.oneShotHasDeadline(schedule),
    let handler = unsafe Arguments.tickFunction(options.pointee.handler),
    let leeway = unsafe CompactDuration(short: schedule.pointee.leeway_ns),
    case .done(let status) = unsafe TimerRef.createListed(
      on: queue, handler, Context(options.pointee.context), first: schedule.pointee.first_ns,
      firstIsDeadline: hasDeadline, leeway: leeway, out: timer)
  {
    return status
  }
  return .of { () throws(Status) in
    let options = try unsafe Arguments.timerOptions(options, on: queue, selfRelease: timer == nil)
    return try unsafe TimerRef.create(on: queue, options, Arguments.schedule(schedule), out: timer)
  }
}

@_cdecl("chime_timer_after") @implementation
public func chime_timer_after(
  _ queue: chime_queue_t, _ delay_ns: Int64, _ handler: chime_handler?, _ context: UnsafeMutableRawPointer?,
  _ finalizer: chime_finalizer?, _ timer: UnsafeMutablePointer<chime_timer_t>?
) -> chime_status {
  if unsafe finalizer == nil, let function = unsafe Arguments.tickFunction(handler),
    case .done(let status) = unsafe TimerRef.createFast(
      on: queue, function, Context(context), selfRelease: timer == nil, first: delay_ns, firstIsDeadline: false,
      leeway: .none, out: timer)
  {
    return status.rawValue
  }
  if delay_ns < 0 { return Arguments.negative("delay_ns", delay_ns).rawValue }
  if unsafe finalizer == nil, let timer = unsafe timer, let function = unsafe Arguments.tickFunction(handler),
    case .done(let status) = unsafe TimerRef.createListed(
      on: queue, function, Context(context), first: delay_ns, firstIsDeadline: false, leeway: .none, out: timer)
  {
    return status.rawValue
  }
  return unsafe start(queue, Schedule(first: delay_ns), handler, context, finalizer, timer).rawValue
}

/// Starts a timer that has no options but these.
@inline(never)
private func start(
  _ queue: chime_queue_t, _ schedule: Schedule, _ handler: chime_handler?, _ context: UnsafeMutableRawPointer?,
  _ finalizer: chime_finalizer?, _ timer: UnsafeMutablePointer<chime_timer_t>?
) -> Status {
  .of { () throws(Status) in
    let options = try unsafe Arguments.timerOptions(
      handler, context, finalizer, on: queue, selfRelease: timer == nil)
    return unsafe TimerRef.create(on: queue, options, schedule, out: timer)
  }
}

@_cdecl("chime_timer_every") @implementation
public func chime_timer_every(
  _ queue: chime_queue_t, _ interval_ns: Int64, _ handler: chime_handler?, _ context: UnsafeMutableRawPointer?,
  _ finalizer: chime_finalizer?, _ timer: UnsafeMutablePointer<chime_timer_t>?
) -> chime_status {
  if interval_ns <= 0 { return notAboveZero(interval_ns).rawValue }
  return unsafe start(queue, Schedule(first: interval_ns, interval: interval_ns), handler, context, finalizer, timer)
    .rawValue
}

private func notAboveZero(_ interval: Int64) -> Status {
  Status.invalidArgument.because("interval_ns (%t) is not above 0", interval)
}

/// Runs an operation that takes a schedule or NULL.
private func withSchedule(
  _ timer: chime_timer_t, _ pointer: UnsafePointer<chime_schedule>?, _ operation: (TimerRef, Schedule?) -> Status
) -> chime_status {
  Status.of { () throws(Status) in
    var schedule: Schedule?
    if let pointer = unsafe pointer { schedule = try unsafe Arguments.schedule(pointer) }
    guard let found = TimerRef(timer) else { return TimerRef.unknown(timer) }
    return operation(found, schedule)
  }.rawValue
}

/// Restarts or reschedules a running timer, with a one-shot's schedule without policies or the present one; false in
/// all other cases.
@inline(__always)
private func restartFast(_ timer: chime_timer_t, _ pointer: UnsafePointer<chime_schedule>?) -> Bool {
  guard let pointer = unsafe pointer else { return TimerRef.restartFast(timer, nil) }
  guard let hasDeadline = unsafe Arguments.oneShotHasDeadline(pointer),
    let leeway = unsafe CompactDuration(short: pointer.pointee.leeway_ns)
  else { return false }
  let schedule = unsafe (first: pointer.pointee.first_ns, firstIsDeadline: hasDeadline, leeway: leeway)
  return TimerRef.restartFast(timer, schedule)
}

@_cdecl("chime_timer_activate") @implementation
public func chime_timer_activate(_ timer: chime_timer_t, _ schedule: UnsafePointer<chime_schedule>?) -> chime_status {
  unsafe withSchedule(timer, schedule) { $0.activate($1) }
}

@_cdecl("chime_timer_restart") @implementation
public func chime_timer_restart(_ timer: chime_timer_t, _ schedule: UnsafePointer<chime_schedule>?) -> chime_status {
  unsafe restartFast(timer, schedule) ? Status.ok.rawValue : withSchedule(timer, schedule) { $0.restart($1) }
}

@_cdecl("chime_timer_restart_after") @implementation
public func chime_timer_restart_after(_ timer: chime_timer_t, _ delay_ns: Int64) -> chime_status {
  guard delay_ns >= 0 else { return Arguments.negative("delay_ns", delay_ns).rawValue }
  return TimerRef.restartFast(timer, after: delay_ns)
    ? Status.ok.rawValue : restart(timer, first: delay_ns, isDeadline: false)
}

@_cdecl("chime_timer_restart_until") @implementation
public func chime_timer_restart_until(_ timer: chime_timer_t, _ deadline_ns: Int64) -> chime_status {
  TimerRef.restartFast(timer, until: deadline_ns)
    ? Status.ok.rawValue : restart(timer, first: deadline_ns, isDeadline: true)
}

@inline(never)
private func restart(_ timer: chime_timer_t, first: Int64, isDeadline: Bool) -> chime_status {
  TimerRef(timer)?.restart(first: first, isDeadline: isDeadline).rawValue ?? TimerRef.unknown(timer).rawValue
}

@_cdecl("chime_timer_reschedule") @implementation
public func chime_timer_reschedule(_ timer: chime_timer_t, _ schedule: UnsafePointer<chime_schedule>?) -> chime_status {
  unsafe restartFast(timer, schedule) ? Status.ok.rawValue : withSchedule(timer, schedule) { $0.reschedule($1) }
}

@_cdecl("chime_timer_set_interval") @implementation
public func chime_timer_set_interval(_ timer: chime_timer_t, _ interval_ns: Int64) -> chime_status {
  if interval_ns <= 0 { return notAboveZero(interval_ns).rawValue }
  return TimerRef(timer)?.setInterval(interval_ns).rawValue ?? TimerRef.unknown(timer).rawValue
}

@_cdecl("chime_timer_set_background") @implementation
public func chime_timer_set_background(_ timer: chime_timer_t, _ background: Int32) -> chime_status {
  guard background == 0 || background == 1 else {
    return Status.invalidArgument.because("background (%n) is neither 0 nor 1", Int64(background)).rawValue
  }
  return TimerRef(timer)?.setBackground(background == 1).rawValue ?? TimerRef.unknown(timer).rawValue
}

@_cdecl("chime_timer_suspend") @implementation
public func chime_timer_suspend(_ timer: chime_timer_t) -> chime_status {
  TimerRef(timer)?.suspend().rawValue ?? TimerRef.unknown(timer).rawValue
}

@_cdecl("chime_timer_resume") @implementation
public func chime_timer_resume(_ timer: chime_timer_t) -> chime_status {
  TimerRef(timer)?.resume().rawValue ?? TimerRef.unknown(timer).rawValue
}

@_cdecl("chime_timer_postpone") @implementation
public func chime_timer_postpone(_ timer: chime_timer_t, _ delay_ns: Int64) -> chime_status {
  guard delay_ns >= 0 else { return Arguments.negative("delay_ns", delay_ns).rawValue }
  return TimerRef.postpone(timer, delay: delay_ns).rawValue
}

@_cdecl("chime_timer_postpone_until") @implementation
public func chime_timer_postpone_until(_ timer: chime_timer_t, _ deadline_ns: Int64) -> chime_status {
  TimerRef.postpone(timer, until: deadline_ns).rawValue
}

@_cdecl("chime_timer_fire") @implementation
public func chime_timer_fire(_ timer: chime_timer_t) -> chime_status {
  TimerRef(timer)?.fire().rawValue ?? TimerRef.unknown(timer).rawValue
}

@_cdecl("chime_timer_cancel") @implementation
public func chime_timer_cancel(_ timer: chime_timer_t) -> chime_status {
  TimerRef.cancel(timer).rawValue
}

@_cdecl("chime_timer_cancel_and_wait") @implementation
public func chime_timer_cancel_and_wait(_ timer: chime_timer_t, _ timeout_ns: Int64) -> chime_status {
  guard timeout_ns >= 0 else { return Arguments.negative("timeout_ns", timeout_ns).rawValue }
  return waiting { TimerRef(timer)?.cancelAndWait(timeout: timeout_ns) ?? TimerRef.unknown(timer) }
}

@_cdecl("chime_timer_release_and_wait") @implementation
public func chime_timer_release_and_wait(_ timer: chime_timer_t, _ timeout_ns: Int64) -> chime_status {
  guard timeout_ns >= 0 else { return Arguments.negative("timeout_ns", timeout_ns).rawValue }
  if timer == 0 { return Status.ok.rawValue }
  return waiting { TimerRef(timer)?.releaseAndWait(timeout: timeout_ns) ?? TimerRef.unknown(timer) }
}

@_cdecl("chime_timer_release") @implementation
public func chime_timer_release(_ timer: chime_timer_t) -> chime_status {
  timer == 0 ? Status.ok.rawValue : TimerRef.release(timer).rawValue
}

@_cdecl("chime_timer_generation") @implementation
public func chime_timer_generation(
  _ timer: chime_timer_t, _ generation: UnsafeMutablePointer<UInt64>?
) -> chime_status {
  guard let generation = unsafe generation else { return Arguments.null("generation").rawValue }
  guard let found = TimerRef(timer) else { return TimerRef.unknown(timer).rawValue }
  guard let value = found.generation else { return found.stale.rawValue }
  unsafe generation.pointee = value
  return Status.ok.rawValue
}

@_cdecl("chime_timer_check_generation") @implementation
public func chime_timer_check_generation(_ timer: chime_timer_t, _ generation: UInt64) -> chime_status {
  guard let found = TimerRef(timer) else { return TimerRef.unknown(timer).rawValue }
  guard let value = found.generation else { return found.stale.rawValue }
  return value == generation ? Status.ok.rawValue : Status.ignored.rawValue
}

@_cdecl("chime_timer_state") @implementation
public func chime_timer_state(_ timer: chime_timer_t, _ state: UnsafeMutablePointer<chime_state>?) -> chime_status {
  guard let state = unsafe state else { return Arguments.null("state").rawValue }
  guard let found = TimerRef(timer) else { return TimerRef.unknown(timer).rawValue }
  guard let value = found.state else { return found.stale.rawValue }
  unsafe state.pointee = chime_state(value.rawValue)
  return Status.ok.rawValue
}

@_cdecl("chime_timer_next_deadline") @implementation
public func chime_timer_next_deadline(
  _ timer: chime_timer_t, _ deadline_ns: UnsafeMutablePointer<Int64>?
) -> chime_status {
  guard let deadline_ns = unsafe deadline_ns else { return Arguments.null("deadline_ns").rawValue }
  guard let value = TimerRef.nextDeadlineFast(timer) else { return unsafe nextDeadline(timer, deadline_ns) }
  unsafe deadline_ns.pointee = value
  return Status.ok.rawValue
}

@inline(never)
private func nextDeadline(_ timer: chime_timer_t, _ deadline_ns: UnsafeMutablePointer<Int64>) -> chime_status {
  guard let value = TimerRef(timer)?.nextDeadline else { return TimerRef.unknown(timer).rawValue }
  unsafe deadline_ns.pointee = value
  return Status.ok.rawValue
}

@_cdecl("chime_timer_remaining") @implementation
public func chime_timer_remaining(
  _ timer: chime_timer_t, _ remaining_ns: UnsafeMutablePointer<Int64>?
) -> chime_status {
  guard let remaining_ns = unsafe remaining_ns else { return Arguments.null("remaining_ns").rawValue }
  guard let value = TimerRef(timer)?.remaining else { return TimerRef.unknown(timer).rawValue }
  unsafe remaining_ns.pointee = value
  return Status.ok.rawValue
}

@_cdecl("chime_timer_get_info") @implementation
public func chime_timer_get_info(_ timer: chime_timer_t, _ info: UnsafeMutablePointer<chime_timer_info>?)
  -> chime_status
{
  unsafe Arguments.fill(info, "info", "info.size", unknown: TimerRef.unknown(timer)) {
    guard let found = TimerRef(timer), let i = found.snapshot else { return nil }
    return chime_timer_info(
      size: 0, state: chime_state(i.state.rawValue), queue: i.queue, generation: i.generation, sequence: i.sequence,
      next_deadline_ns: i.nextDeadline, remaining_ns: i.remaining, interval_ns: i.interval, leeway_ns: i.leeway,
      tick_limit: i.tickLimit, due_count: i.dueCount, busy: i.isBusy ? 1 : 0, has_schedule: i.hasSchedule ? 1 : 0,
      missed: i.missed, jitter_ns: i.jitter, background: found.isBackground ? 1 : 0, reserved: 0)
  }.rawValue
}

@_cdecl("chime_timer_get_schedule") @implementation
public func chime_timer_get_schedule(
  _ timer: chime_timer_t, _ schedule: UnsafeMutablePointer<chime_schedule>?
) -> chime_status {
  var hasNone = false
  return unsafe Arguments.fill(
    schedule, "schedule", "schedule.size", unknown: hasNone ? .ignored : TimerRef.unknown(timer)
  ) {
    guard let schedule = TimerRef(timer)?.schedule else { return nil }
    hasNone = schedule == nil
    // SAFETY: `Schedule` has the layout of chime_schedule.
    return schedule.map { unsafe unsafeBitCast($0, to: chime_schedule.self) }
  }.rawValue
}

@_cdecl("chime_timer_explain") @implementation
public func chime_timer_explain(
  _ timer: chime_timer_t, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ length: UnsafeMutablePointer<Int>?
) -> chime_status {
  unsafe Arguments.write(text, capacity, length, unknown: TimerRef.unknown(timer)) {
    TimerRef(timer)?.explain(into: &$0) ?? false
  }.rawValue
}

@_cdecl("chime_timer_add_handler") @implementation
public func chime_timer_add_handler(
  _ timer: chime_timer_t, _ key: UnsafePointer<CChar>?, _ handler: chime_handler?,
  _ context: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?
) -> chime_status {
  guard unsafe key != nil else { return Arguments.null("key").rawValue }
  guard let handler = unsafe Arguments.tickFunction(handler) else { return Arguments.null("handler").rawValue }
  return unsafe withKey(timer, key) {
    unsafe $0.addHandler($1, handler, Context(context), Arguments.contextFunction(finalizer))
  }
}

@_cdecl("chime_timer_remove_handler") @implementation
public func chime_timer_remove_handler(_ timer: chime_timer_t, _ key: UnsafePointer<CChar>?) -> chime_status {
  unsafe withKey(timer, key) { $0.removeHandler($1) }
}

/// Runs an operation on a named handler.
private func withKey(
  _ timer: chime_timer_t, _ key: UnsafePointer<CChar>?, _ operation: (TimerRef, String) -> Status
) -> chime_status {
  guard unsafe key != nil else { return Arguments.null("key").rawValue }
  return callingBack {
    Memory.promised {
      Status.of { () throws(Status) in
        let key = try unsafe Arguments.string(key, "key")
        return TimerRef(timer).map { operation($0, key) } ?? TimerRef.unknown(timer)
      }.rawValue
    }
  }
}

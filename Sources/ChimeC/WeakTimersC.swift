import CChime
import ChimeCore

// chime_run_loop.h, "Weak timers".

/// What a weak timer calls. The timer's action captures it; when that is released, user_info ends.
private final class WeakTimerAction: @unchecked Sendable {
  // Unchecked: the variable is set before anybody but its maker knows the timer.
  let handler: TickFunction
  let userInfo: OwnedContext
  let isHeld: Bool
  var id: UInt64 = 0

  init(_ handler: TickFunction, _ userInfo: OwnedContext, isHeld: Bool) {
    self.handler = handler
    self.userInfo = userInfo
    self.isHeld = isHeld
  }

  // If the caller has no id, it ends with the timer.
  deinit { if !isHeld { WeakTimerCore.table.remove(id) } }

  /// False if the action has ended its thread. Its caller sees whether it has forked.
  func call(_ record: CoreTick) -> Bool {
    var record = record
    record.timer = id
    record.context = userInfo.context
    return (try? handler(record)) ?? true
  }
}

/// Makes a timer, has it added to a loop if it is to be, and stores its id.
private func make(
  _ interval_ns: Int64, _ repeats: Int32, _ target: chime_target_t, _ action: chime_handler?,
  _ user_info: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?,
  _ options: UnsafePointer<chime_weak_timer_options>?, _ out: UnsafeMutablePointer<chime_weak_timer_t>?,
  add: (WeakTimerCore) -> Status
) -> chime_status {
  if Fork.isChild { return Status.inChild.rawValue }
  guard let handler = unsafe Arguments.tickFunction(action) else { return Arguments.null("action").rawValue }
  guard repeats == 0 || repeats == 1 else {
    return Status.invalidArgument.because("repeats (%n) is neither 0 nor 1", Int64(repeats)).rawValue
  }
  var (label, tolerance) = ("", Int64(0))
  do throws(Status) {
    if let options = unsafe options {
      let o = try unsafe Arguments.structure(options, "options.size")
      guard unsafe o.flags == 0 else { throw unsafe Arguments.unknownFlags("options.flags", o.flags) }
      label = try unsafe Arguments.string(o.label, "options.label")
      tolerance = unsafe o.tolerance_ns
    }
  } catch {
    return error.rawValue
  }
  if target != 0 {
    let status = TimerTarget.status(of: target)
    if status != .ok { return status.rawValue }
  }
  let userInfo = unsafe OwnedContext(Context(user_info), Arguments.contextFunction(finalizer))
  let action = unsafe WeakTimerAction(handler, userInfo, isHeld: out != nil)
  let timer = WeakTimerCore(
    interval: interval_ns, repeats: repeats == 1, subject: target == 0 ? .nothing : .target(target), label: label
  ) { record in
    if !action.call(record) { WeakTimerCore.table.find(action.id)?.invalidate() }
  }
  let tolerated = setTolerance(of: timer, tolerance, "options.tolerance_ns")
  if tolerated.isFailure {
    userInfo.disown()
    return tolerated.rawValue
  }
  let id: UInt64
  do { id = try WeakTimerCore.table.add(timer) } catch {
    userInfo.disown()
    return error.rawValue
  }
  action.id = id
  let before = unsafe out?.pointee ?? 0
  unsafe out?.pointee = id
  var status = add(timer)
  // Already invalid: the target went in the meantime.
  if status == .ignored { status = TimerTarget.gone(target) }
  if status.isFailure {
    userInfo.disown()
    WeakTimerCore.table.remove(id)
    unsafe out?.pointee = before
  }
  return status.rawValue
}

@_cdecl("chime_weak_timer_create") @implementation
public func chime_weak_timer_create(
  _ interval_ns: Int64, _ repeats: Int32, _ target: chime_target_t, _ action: chime_handler?,
  _ user_info: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?,
  _ options: UnsafePointer<chime_weak_timer_options>?, _ timer: UnsafeMutablePointer<chime_weak_timer_t>?
) -> chime_status {
  guard unsafe timer != nil else { return Arguments.null("timer").rawValue }
  return Memory.promised {
    unsafe make(interval_ns, repeats, target, action, user_info, finalizer, options, timer) { _ in .ok }
  }
}

@_cdecl("chime_weak_timer_schedule") @implementation
public func chime_weak_timer_schedule(
  _ interval_ns: Int64, _ repeats: Int32, _ target: chime_target_t, _ action: chime_handler?,
  _ user_info: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?,
  _ options: UnsafePointer<chime_weak_timer_options>?, _ timer: UnsafeMutablePointer<chime_weak_timer_t>?
) -> chime_status {
  withoutCancellation {
    Memory.promised {
      unsafe make(interval_ns, repeats, target, action, user_info, finalizer, options, timer) { timer in
        .of { () throws(Status) in timer.add(to: try Loop.current, mode: .default) }
      }
    }
  }
}

private func unknownTimer(_ id: chime_weak_timer_t) -> Status { Status.unknown(id, .weakTimer, "timer") }

/// Runs an operation on the timer that an id names.
private func withTimer(_ id: chime_weak_timer_t, _ operation: (WeakTimerCore) -> Status) -> chime_status {
  (WeakTimerCore.table.find(id).map(operation) ?? unknownTimer(id)).rawValue
}

@_cdecl("chime_weak_timer_add") @implementation
public func chime_weak_timer_add(
  _ timer: chime_weak_timer_t, _ run_loop: chime_run_loop_t, _ name: UnsafePointer<CChar>?
) -> chime_status {
  withoutCancellation {
    Memory.promised {
      unsafe withMode(name) { mode in
        withTimer(timer) { timer in
          guard let loop = Loop.table.find(run_loop) else { return unknown(run_loop) }
          let status = timer.add(to: loop, mode: mode)
          return status == .ignored ? timer.refuseAsInvalid() : status
        }
      }
    }
  }
}

@_cdecl("chime_weak_timer_fire") @implementation
public func chime_weak_timer_fire(_ timer: chime_weak_timer_t) -> chime_status {
  callingBack { withTimer(timer) { $0.fire() } }
}

@_cdecl("chime_weak_timer_invalidate") @implementation
public func chime_weak_timer_invalidate(_ timer: chime_weak_timer_t) -> chime_status {
  callingBack { withTimer(timer) { $0.invalidate() } }
}

@_cdecl("chime_weak_timer_is_valid") @implementation
public func chime_weak_timer_is_valid(
  _ timer: chime_weak_timer_t, _ valid: UnsafeMutablePointer<Int32>?
) -> chime_status {
  guard let valid = unsafe valid else { return Arguments.null("valid").rawValue }
  return withTimer(timer) { timer in
    unsafe valid.pointee = timer.isValid ? 1 : 0
    return .ok
  }
}

private func setTolerance(of timer: WeakTimerCore, _ tolerance: Int64, _ name: StaticString) -> Status {
  guard tolerance >= 0 else { return Arguments.negative(name, tolerance) }
  guard tolerance <= timer.maximumTolerance else {
    return Status.invalidArgument.because(
      "%s (%t) is not below the timer's interval (%t)", tolerance, timer.interval, of: name)
  }
  guard timer.isValid else { return .ignored }
  timer.tolerance = tolerance
  return .ok
}

@_cdecl("chime_weak_timer_set_tolerance") @implementation
public func chime_weak_timer_set_tolerance(_ timer: chime_weak_timer_t, _ tolerance_ns: Int64) -> chime_status {
  withTimer(timer) { setTolerance(of: $0, tolerance_ns, "tolerance_ns") }
}

@_cdecl("chime_weak_timer_tolerance") @implementation
public func chime_weak_timer_tolerance(
  _ timer: chime_weak_timer_t, _ tolerance_ns: UnsafeMutablePointer<Int64>?
) -> chime_status {
  guard let tolerance_ns = unsafe tolerance_ns else { return Arguments.null("tolerance_ns").rawValue }
  return withTimer(timer) { timer in
    unsafe tolerance_ns.pointee = timer.tolerance
    return .ok
  }
}

@_cdecl("chime_weak_timer_set_fire_date") @implementation
public func chime_weak_timer_set_fire_date(_ timer: chime_weak_timer_t, _ wall_deadline_ns: Int64) -> chime_status {
  withoutCancellation {
    withTimer(timer) { timer in
      guard timer.isValid else { return .ignored }
      timer.nextDeadline = converted(wall_deadline_ns, from: .wall, to: .monotonic)
      return .ok
    }
  }
}

@_cdecl("chime_weak_timer_fire_date") @implementation
public func chime_weak_timer_fire_date(
  _ timer: chime_weak_timer_t, _ wall_deadline_ns: UnsafeMutablePointer<Int64>?
) -> chime_status {
  guard let wall_deadline_ns = unsafe wall_deadline_ns else { return Arguments.null("wall_deadline_ns").rawValue }
  return withTimer(timer) { timer in
    unsafe wall_deadline_ns.pointee = converted(timer.nextDeadline, from: .monotonic, to: .wall)
    return .ok
  }
}

/// Converts a point on one clock to the other; never stays never.
private func converted(_ time: Int64, from: Clock, to: Clock) -> Int64 {
  time == .max ? .max : to.now.saturatingAdd(time.saturatingSubtract(from.now))
}

@_cdecl("chime_weak_timer_release") @implementation
public func chime_weak_timer_release(_ timer: chime_weak_timer_t) -> chime_status {
  if timer == 0 { return Status.ok.rawValue }
  return callingBack {
    guard let removed = WeakTimerCore.table.remove(timer) else { return unknownTimer(timer).rawValue }
    return removed.invalidate().isRunning ? Status.running.rawValue : Status.ok.rawValue
  }
}

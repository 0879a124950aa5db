import CChime
import ChimeCore

// Version, statuses, kinds of ticks, clocks: chime.h, "Version" to "Callbacks".

@_cdecl("chime_version") @implementation
public func chime_version() -> UInt32 {
  UInt32(CHIME_VERSION_MAJOR) << 16 | UInt32(CHIME_VERSION_MINOR) << 8 | UInt32(CHIME_VERSION_PATCH)
}

/// Name and meaning of each status.
private func text(of status: chime_status) -> (name: StaticString, message: StaticString) {
  switch Int(status) {
  case CHIME_OK: ("CHIME_OK", "The call took effect.")
  case CHIME_IGNORED: ("CHIME_IGNORED", "The call means nothing in this state; nothing changed.")
  case CHIME_RUNNING:
    ("CHIME_RUNNING", "The call took effect; a handler that had started before has not returned yet.")
  case CHIME_STOPPED: ("CHIME_STOPPED", "The call ended because a stop was asked for.")
  case CHIME_TIMED_OUT: ("CHIME_TIMED_OUT", "What was waited for had not happened when the timeout ended.")
  case CHIME_ERROR_INVALID_ARGUMENT:
    (
      "CHIME_ERROR_INVALID_ARGUMENT",
      "An argument is NULL, out of range, contradicts another, or is a structure whose size is not set."
    )
  case CHIME_ERROR_INVALID_HANDLE:
    ("CHIME_ERROR_INVALID_HANDLE", "The id is none, is of another kind, or was released.")
  case CHIME_ERROR_LIMIT: ("CHIME_ERROR_LIMIT", "A configured or built-in limit is reached.")
  case CHIME_ERROR_NO_MEMORY: ("CHIME_ERROR_NO_MEMORY", "Memory could not be had.")
  case CHIME_ERROR_WOULD_DEADLOCK:
    ("CHIME_ERROR_WOULD_DEADLOCK", "Waiting would never end: the caller is what it would wait for.")
  case CHIME_ERROR_BUSY: ("CHIME_ERROR_BUSY", "Another thread is inside this queue.")
  case CHIME_ERROR_WRONG_THREAD: ("CHIME_ERROR_WRONG_THREAD", "Only a certain thread may do this.")
  case CHIME_ERROR_TARGET_GONE: ("CHIME_ERROR_TARGET_GONE", "The timer's target no longer exists.")
  case CHIME_ERROR_SHUT_DOWN: ("CHIME_ERROR_SHUT_DOWN", "The queue was shut down while the call was under way.")
  case CHIME_ERROR_UNSUPPORTED:
    ("CHIME_ERROR_UNSUPPORTED", "This kind of queue, clock or platform cannot do that.")
  case CHIME_ERROR_PERMISSION: ("CHIME_ERROR_PERMISSION", "The operating system does not permit it.")
  case CHIME_ERROR_RESOURCE:
    ("CHIME_ERROR_RESOURCE", "Threads, file descriptors or the like could not be had.")
  case CHIME_ERROR_FORKED: ("CHIME_ERROR_FORKED", "This is the child of a fork.")
  default: ("CHIME_UNKNOWN", "Not a status of this version of Chime.")
  }
}

extension StaticString {
  /// The string for C. StaticString literals end with a zero byte and live as long as the library.
  fileprivate var cString: UnsafePointer<CChar> {
    // SAFETY: see above; CChar and UInt8 have one layout.
    unsafe UnsafeRawPointer(utf8Start).assumingMemoryBound(to: CChar.self)
  }
}

@_cdecl("chime_status_name") @implementation
public func chime_status_name(_ status: chime_status) -> UnsafePointer<CChar> {
  unsafe text(of: status).name.cString
}

@_cdecl("chime_status_message") @implementation
public func chime_status_message(_ status: chime_status) -> UnsafePointer<CChar> {
  unsafe text(of: status).message.cString
}

@_cdecl("chime_last_error_detail") @implementation
public func chime_last_error_detail() -> UnsafePointer<CChar> {
  let saved = Errno.current
  defer { Errno.current = saved }
  return unsafe ErrorDetail.sentence
}

@_cdecl("chime_tick_kind_name") @implementation
public func chime_tick_kind_name(_ kind: chime_tick_kind) -> UnsafePointer<CChar> {
  let name: StaticString =
    switch Int(kind) {
    case CHIME_TICK_DUE: "CHIME_TICK_DUE"
    case CHIME_TICK_FIRED: "CHIME_TICK_FIRED"
    case CHIME_TICK_ARMED: "CHIME_TICK_ARMED"
    case CHIME_TICK_CANCELLED: "CHIME_TICK_CANCELLED"
    case CHIME_TICK_FINALIZE: "CHIME_TICK_FINALIZE"
    case CHIME_TICK_FUNCTION: "CHIME_TICK_FUNCTION"
    case CHIME_TRACE_CREATED: "CHIME_TRACE_CREATED"
    case CHIME_TRACE_ACTIVATED: "CHIME_TRACE_ACTIVATED"
    case CHIME_TRACE_RESTARTED: "CHIME_TRACE_RESTARTED"
    case CHIME_TRACE_SUSPENDED: "CHIME_TRACE_SUSPENDED"
    case CHIME_TRACE_RESUMED: "CHIME_TRACE_RESUMED"
    case CHIME_TRACE_RESCHEDULED: "CHIME_TRACE_RESCHEDULED"
    case CHIME_TRACE_POSTPONED: "CHIME_TRACE_POSTPONED"
    case CHIME_TRACE_FIRED: "CHIME_TRACE_FIRED"
    case CHIME_TRACE_FINISHED: "CHIME_TRACE_FINISHED"
    case CHIME_TRACE_CANCELLED: "CHIME_TRACE_CANCELLED"
    case CHIME_TRACE_RELEASED: "CHIME_TRACE_RELEASED"
    case CHIME_TRACE_RETURNED: "CHIME_TRACE_RETURNED"
    default: "CHIME_UNKNOWN"
    }
  return unsafe name.cString
}

private func noSystemClock(_ clock: chime_clock) -> Status {
  Int(clock) == CHIME_CLOCK_VIRTUAL
    ? Status.unsupported.because("clock is CHIME_CLOCK_VIRTUAL, which each virtual queue has for itself")
    : Arguments.unknown("clock", Int64(clock))
}

@_cdecl("chime_now") @implementation
public func chime_now(_ clock: chime_clock, _ now_ns: UnsafeMutablePointer<Int64>?) -> chime_status {
  if Fork.isChild { return Status.forked.rawValue }
  guard let now_ns = unsafe now_ns else { return Arguments.null("now_ns").rawValue }
  switch Int(clock) {
  case CHIME_CLOCK_MONOTONIC: unsafe now_ns.pointee = Clock.monotonic.now
  case CHIME_CLOCK_BOOTTIME: unsafe now_ns.pointee = Clock.boottime.now
  case CHIME_CLOCK_WALL: unsafe now_ns.pointee = Clock.wall.now
  default: return noSystemClock(clock).rawValue
  }
  return Status.ok.rawValue
}

@_cdecl("chime_main_run") @implementation
public func chime_main_run() -> chime_status {
  let status = Memory.promised { withoutCancellation { MainQueue.prepareToRun().rawValue } }
  return status == Status.ok.rawValue ? waiting { MainQueue.run() } : status
}

@_cdecl("chime_main_stop") @implementation
public func chime_main_stop() -> chime_status { MainQueue.requestStop().rawValue }

@_cdecl("chime_sleep_until") @implementation
public func chime_sleep_until(_ clock: chime_clock, _ deadline_ns: Int64) -> chime_status {
  if Fork.isChild { return Status.forked.rawValue }
  let sleeping: Clock
  switch Int(clock) {
  case CHIME_CLOCK_MONOTONIC: sleeping = .monotonic
  case CHIME_CLOCK_BOOTTIME: sleeping = .boottime
  case CHIME_CLOCK_WALL: sleeping = .wall
  default: return noSystemClock(clock).rawValue
  }
  return waitingOutside {
    sleeping.sleep(until: deadline_ns)
    return .ok
  }
}

@_cdecl("chime_set_thread_hooks") @implementation
public func chime_set_thread_hooks(
  _ start: chime_function?, _ end: chime_function?, _ context: UnsafeMutableRawPointer?
) -> chime_status {
  if Fork.isChild { return Status.forked.rawValue }
  unsafe OwnThread.setHooks(
    start: Arguments.contextFunction(start), end: Arguments.contextFunction(end), Context(context))
  return Status.ok.rawValue
}

@_cdecl("chime_reinitialize") @implementation
public func chime_reinitialize() -> chime_status { Fork.reinitialize().rawValue }

@_cdecl("chime_set_trace") @implementation
public func chime_set_trace(_ trace: chime_handler?, _ context: UnsafeMutableRawPointer?) -> chime_status {
  if Fork.isChild { return Status.forked.rawValue }
  unsafe Trace.set(Arguments.tickFunction(trace), Context(context))
  return Status.ok.rawValue
}

@_cdecl("chime_set_allocator") @implementation
public func chime_set_allocator(_ allocator: UnsafePointer<chime_allocator>?) -> chime_status {
  if Fork.isChild { return Status.forked.rawValue }
  guard let pointer = unsafe allocator else { return Arguments.null("allocator").rawValue }
  guard let allocator = unsafe Arguments.structure(pointer, "allocator.size") else {
    return Status.invalidArgument.rawValue
  }
  if unsafe allocator.reserved != 0 { return Status.invalidArgument.because("allocator.reserved is not 0").rawValue }
  guard let allocate = unsafe allocator.allocate else { return Arguments.null("allocator.allocate").rawValue }
  guard let deallocate = unsafe allocator.deallocate else { return Arguments.null("allocator.deallocate").rawValue }
  return unsafe Memory.setAllocator(allocate, deallocate, allocator.context).rawValue
}

@_cdecl("chime_set_memory_limit") @implementation
public func chime_set_memory_limit(_ bytes: UInt64) -> chime_status {
  if Fork.isChild { return Status.forked.rawValue }
  if !Memory.isOwn { return Status.unsupported.rawValue }
  Memory.setLimit(bytes)
  return Status.ok.rawValue
}

@_cdecl("chime_memory_used") @implementation
public func chime_memory_used() -> UInt64 { Memory.isOwn ? Memory.held : 0 }

@_cdecl("chime_trace_to_file") @implementation
public func chime_trace_to_file(_ path: UnsafePointer<CChar>?) -> chime_status {
  waiting {
    guard let path = unsafe path else { return TraceFile.end() }
    return unsafe TraceFile.begin(path)
  }
}

/// Called when the dynamic linker loads the library; not part of the interface.
@_cdecl("library_of_chime_was_loaded")
public func library_of_chime_was_loaded() { Fork.makeGlobals() }

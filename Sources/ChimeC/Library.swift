import CChime
import ChimeCore

// Version, statuses, kinds of ticks, clocks: chime.h, "Version" to "Callbacks".

@_cdecl("chime_version") @implementation
public func chime_version() -> UInt32 {
  UInt32(CHIME_VERSION_MAJOR) << 16 | UInt32(CHIME_VERSION_MINOR) << 8 | UInt32(CHIME_VERSION_PATCH)
}

@_cdecl("chime_status_name") @implementation
public func chime_status_name(_ status: chime_status) -> UnsafePointer<CChar> {
  unsafe Status(rawValue: status).name
}

@_cdecl("chime_status_message") @implementation
public func chime_status_message(_ status: chime_status) -> UnsafePointer<CChar> {
  unsafe Status(rawValue: status).message
}

@_cdecl("chime_last_error_detail") @implementation
public func chime_last_error_detail() -> UnsafePointer<CChar> {
  let saved = Errno.current
  defer { Errno.current = saved }
  return unsafe ErrorDetail.sentence
}

@_cdecl("chime_tick_kind_name") @implementation
public func chime_tick_kind_name(_ kind: chime_tick_kind) -> UnsafePointer<CChar> {
  unsafe TickKind.name(of: kind)
}

@_cdecl("chime_now") @implementation
public func chime_now(_ clock: chime_clock, _ now_ns: UnsafeMutablePointer<Int64>?) -> chime_status {
  if Fork.isChild { return Status.inChild.rawValue }
  guard let now_ns = unsafe now_ns else { return Arguments.null("now_ns").rawValue }
  switch Int(clock) {
  case CHIME_CLOCK_MONOTONIC: unsafe now_ns.pointee = Clock.monotonic.now
  case CHIME_CLOCK_BOOTTIME: unsafe now_ns.pointee = Clock.boottime.now
  case CHIME_CLOCK_WALL: unsafe now_ns.pointee = Clock.wall.now
  default: return Arguments.unknown("clock", Int64(clock)).rawValue
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
  if Fork.isChild { return Status.inChild.rawValue }
  let sleeping: Clock
  switch Int(clock) {
  case CHIME_CLOCK_MONOTONIC: sleeping = .monotonic
  case CHIME_CLOCK_BOOTTIME: sleeping = .boottime
  case CHIME_CLOCK_WALL: sleeping = .wall
  default: return Arguments.unknown("clock", Int64(clock)).rawValue
  }
  return waitingOutside {
    sleeping.sleep(until: deadline_ns)
    return .ok
  }
}

@_cdecl("chime_reinitialize") @implementation
public func chime_reinitialize() -> chime_status { Fork.reinitialize().rawValue }

@_cdecl("chime_set_trace") @implementation
public func chime_set_trace(
  _ trace: chime_handler?, _ context: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?
) -> chime_status {
  if Fork.isChild { return Status.inChild.rawValue }
  guard unsafe trace != nil || finalizer == nil else {
    return Status.invalidArgument.because("trace is NULL, and finalizer is not").rawValue
  }
  return callingBack {
    Memory.promised {
      let owned = unsafe trace.map { _ in unsafe OwnedContext(Context(context), Arguments.contextFunction(finalizer)) }
      do throws(Forked) { try unsafe Trace.set(Arguments.tickFunction(trace), owned) } catch {
        return Status.inChild.rawValue
      }
      return Status.ok.rawValue
    }
  }
}

@_cdecl("chime_set_allocator") @implementation
public func chime_set_allocator(_ allocator: UnsafePointer<chime_allocator>?) -> chime_status {
  if Fork.isChild { return Status.inChild.rawValue }
  guard let pointer = unsafe allocator else { return Arguments.null("allocator").rawValue }
  return Status.of { () throws(Status) in
    let allocator = try unsafe Arguments.structure(pointer, "allocator.size")
    if unsafe allocator.reserved != 0 { throw Status.invalidArgument.because("allocator.reserved is not 0") }
    guard let allocate = unsafe allocator.allocate else { throw Arguments.null("allocator.allocate") }
    guard let deallocate = unsafe allocator.deallocate else { throw Arguments.null("allocator.deallocate") }
    return unsafe Memory.setAllocator(allocate, deallocate, allocator.context)
  }.rawValue
}

@_cdecl("chime_set_memory_limit") @implementation
public func chime_set_memory_limit(_ bytes: UInt64) -> chime_status {
  if Fork.isChild { return Status.inChild.rawValue }
  if !Memory.isOwn { return Status.memoryIsNotOwn.rawValue }
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

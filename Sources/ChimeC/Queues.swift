import CChime
import ChimeCore

// chime.h, "Queues".

/// What kind of queue options are meant for. `threads`: serial, concurrent and dispatch ones, and the main queue's.
package enum OptionsKind {
  case threads, host, precise, virtual, runLoop
}

/// The options in the core's form, or the reason for a refusal.
package func queueOptions(
  _ pointer: UnsafePointer<chime_queue_options>?, for kind: OptionsKind
) throws(Status) -> QueueOptions {
  guard let pointer = unsafe pointer else { return QueueOptions() }
  let o = try unsafe Arguments.structure(pointer, "options.size")
  guard let qos = unsafe qosClass(o.qos) else {
    throw unsafe Arguments.unknown("options.qos", Int64(o.qos))
  }
  if unsafe o.start_ns < 0 { throw unsafe Arguments.negative("options.start_ns", o.start_ns) }
  if unsafe o.reserved != 0 { throw Status.invalidArgument.because("options.reserved is not 0") }
  if unsafe kind != .virtual && o.start_ns != 0 {
    throw Status.invalidArgument.because("options.start_ns is for virtual queues only")
  }
  if unsafe kind != .virtual && o.seed != 0 {
    throw Status.invalidArgument.because("options.seed is for virtual queues only")
  }
  if unsafe kind != .threads && o.qos != 0 {
    throw Status.invalidArgument.because("options.qos is for serial, concurrent and dispatch queues only")
  }
  guard unsafe 0...99 ~= o.realtime_priority else {
    throw unsafe Status.invalidArgument.because(
      "options.realtime_priority (%n) is not within 0 to 99", Int64(o.realtime_priority))
  }
  // Options of other kinds of queues are refused, not ignored.
  let flags: Int =
    switch kind {
    case .host: CHIME_QUEUE_FLAG_HONOUR_LEEWAY | CHIME_QUEUE_FLAG_BOUND | CHIME_QUEUE_FLAG_RECORDS
    case .virtual, .threads, .precise, .runLoop: CHIME_QUEUE_FLAG_HONOUR_LEEWAY
    }
  guard unsafe o.flags & ~UInt32(flags) == 0 else {
    throw unsafe Arguments.refusedQueueFlags(o.flags, o.flags & ~UInt32(flags))
  }
  guard unsafe kind == .precise || o.realtime_priority == 0 else {
    throw Status.invalidArgument.because("options.realtime_priority is for precise queues only")
  }
  guard unsafe kind == .threads || kind == .precise || kind == .runLoop || (o.enter == nil && o.leave == nil) else {
    throw Status.invalidArgument.because("options.enter and options.leave are not for host-driven and virtual queues")
  }
  guard unsafe o.hook_finalizer == nil || o.enter != nil || o.leave != nil else {
    throw Status.invalidArgument.because("options.hook_finalizer goes with options.enter or options.leave")
  }
  var clock = Clock.monotonic
  switch unsafe Int(o.clock) {
  case CHIME_CLOCK_MONOTONIC: break
  case CHIME_CLOCK_BOOTTIME: clock = .boottime
  case CHIME_CLOCK_WALL: clock = .wall
  default: throw unsafe Arguments.unknown("options.clock", Int64(o.clock))
  }
  if kind == .virtual, clock != .monotonic {
    throw Status.unsupported.because("options.clock is one of the system's, and the queue is virtual")
  }
  var options = QueueOptions(label: try unsafe Arguments.string(o.label, "options.label"), qos: qos, clock: clock)
  options.timerLimit = unsafe o.timer_limit
  options.start = unsafe o.start_ns
  options.seed = unsafe o.seed
  options.honoursLeeway = unsafe o.flags & UInt32(CHIME_QUEUE_FLAG_HONOUR_LEEWAY) != 0
  options.isBound = unsafe o.flags & UInt32(CHIME_QUEUE_FLAG_BOUND) != 0
  options.givesRecords = unsafe o.flags & UInt32(CHIME_QUEUE_FLAG_RECORDS) != 0
  options.realtimePriority = unsafe o.realtime_priority
  if unsafe o.enter != nil || o.leave != nil {
    options.hooks = unsafe QueueHooks(
      enter: Arguments.contextFunction(o.enter), leave: Arguments.contextFunction(o.leave),
      context: OwnedContext(Context(o.hook_context), Arguments.contextFunction(o.hook_finalizer)))
  }
  return options
}

private func qosClass(_ qos: chime_qos) -> QualityOfService? {
  switch Int(qos) {
  case CHIME_QOS_DEFAULT: .default
  case CHIME_QOS_BACKGROUND: .background
  case CHIME_QOS_UTILITY: .utility
  case CHIME_QOS_USER_INITIATED: .userInitiated
  case CHIME_QOS_USER_INTERACTIVE: .userInteractive
  default: nil
  }
}

/// Creates a queue and stores its id. No cancellation point: a cancellation would leave behind what has begun.
package func making(
  _ queue: UnsafeMutablePointer<chime_queue_t>, _ pointer: UnsafePointer<chime_queue_options>?, for kind: OptionsKind,
  _ make: (QueueOptions) throws(Status) -> UInt64
) -> chime_status {
  waitingOutside {
    let status = Memory.promised {
      unsafe store(in: queue) { () throws(Status) in
        let options = try unsafe queueOptions(pointer, for: kind)
        do throws(Status) { return try make(options) } catch {
          options.hooks?.owned.disown()
          throw error
        }
      }
    }
    return Status(rawValue: status)
  }
}

@_cdecl("chime_queue_create") @implementation
public func chime_queue_create(
  _ kind: chime_queue_kind, _ pointer: UnsafePointer<chime_queue_options>?,
  _ queue: UnsafeMutablePointer<chime_queue_t>?
) -> chime_status {
  guard let queue = unsafe queue else { return Arguments.null("queue").rawValue }
  let make: (kind: OptionsKind, function: (QueueOptions) throws(Status) -> UInt64)
  switch Int(kind) {
  case CHIME_QUEUE_SERIAL: make = (.threads, QueueCore.makeSerial)
  case CHIME_QUEUE_CONCURRENT: make = (.threads, QueueCore.makeConcurrent)
  case CHIME_QUEUE_DISPATCH: make = (.threads, QueueCore.makeDispatch)
  case CHIME_QUEUE_HOST: make = (.host, QueueCore.makeHost)
  case CHIME_QUEUE_PRECISE: make = (.precise, QueueCore.makePrecise)
  case CHIME_QUEUE_VIRTUAL: make = (.virtual, QueueCore.makeVirtual)
  default: return Arguments.unknown("kind", Int64(kind)).rawValue
  }
  return unsafe making(queue, pointer, for: make.kind) { options throws(Status) in try make.function(options) }
}

@_cdecl("chime_queue_create_main") @implementation
public func chime_queue_create_main(
  _ pointer: UnsafePointer<chime_queue_options>?, _ queue: UnsafeMutablePointer<chime_queue_t>?
) -> chime_status {
  guard let queue = unsafe queue else { return Arguments.null("queue").rawValue }
  return unsafe making(queue, pointer, for: .threads) { options throws(Status) in try QueueCore.makeMain(options) }
}

@_cdecl("chime_queue_create_on_dispatch") @implementation
public func chime_queue_create_on_dispatch(
  _ dispatch_queue: UnsafeMutableRawPointer?, _ pointer: UnsafePointer<chime_queue_options>?,
  _ queue: UnsafeMutablePointer<chime_queue_t>?
) -> chime_status {
  guard let queue = unsafe queue else { return Arguments.null("queue").rawValue }
  guard let dispatch_queue = unsafe dispatch_queue else { return Arguments.null("dispatch_queue").rawValue }
  return unsafe making(queue, pointer, for: .threads) { options throws(Status) in
    try unsafe QueueCore.makeWrapping(dispatch_queue, options)
  }
}

@_cdecl("chime_queue_release") @implementation
public func chime_queue_release(_ queue: chime_queue_t) -> chime_status {
  queue == 0 ? Status.ok.rawValue : waiting { QueueCore.release(queue) }
}

@_cdecl("chime_queue_shutdown") @implementation
public func chime_queue_shutdown(_ queue: chime_queue_t, _ timeout_ns: Int64) -> chime_status {
  guard timeout_ns >= 0 else { return Arguments.negative("timeout_ns", timeout_ns).rawValue }
  return queue == 0 ? Status.ok.rawValue : waiting { QueueCore.shutdown(queue, timeout: timeout_ns) }
}

@_cdecl("chime_queue_sync") @implementation
public func chime_queue_sync(
  _ queue: chime_queue_t, _ function: chime_function?, _ context: UnsafeMutableRawPointer?, _ timeout_ns: Int64
) -> chime_status {
  guard let function = unsafe Arguments.contextFunction(function) else { return Arguments.null("function").rawValue }
  guard timeout_ns >= 0 else { return Arguments.negative("timeout_ns", timeout_ns).rawValue }
  let context = unsafe Context(context)
  return waiting {
    Status(rawValue: Memory.promised { QueueCore.sync(queue, timeout: timeout_ns) { try? function(context) }.rawValue })
  }
}

@_cdecl("chime_queue_async") @implementation
public func chime_queue_async(
  _ queue: chime_queue_t, _ function: chime_function?, _ context: UnsafeMutableRawPointer?,
  _ finalizer: chime_finalizer?
) -> chime_status {
  if unsafe function == nil && finalizer != nil {
    return Status.invalidArgument.because("function is NULL, and finalizer is not").rawValue
  }
  return Memory.promised {
    unsafe QueueCore.async(
      queue, Arguments.contextFunction(function), Context(context), Arguments.contextFunction(finalizer)
    ).rawValue
  }
}

@_cdecl("chime_queue_suspend") @implementation
public func chime_queue_suspend(_ queue: chime_queue_t) -> chime_status { QueueCore.suspend(queue).rawValue }

@_cdecl("chime_queue_resume") @implementation
public func chime_queue_resume(_ queue: chime_queue_t) -> chime_status { QueueCore.resume(queue).rawValue }

@_cdecl("chime_queue_now") @implementation
public func chime_queue_now(_ queue: chime_queue_t, _ now_ns: UnsafeMutablePointer<Int64>?) -> chime_status {
  guard let now_ns = unsafe now_ns else { return Arguments.null("now_ns").rawValue }
  guard let now = QueueCore.now(queue) else { return QueueCore.unknown(queue).rawValue }
  unsafe now_ns.pointee = now
  return Status.ok.rawValue
}

@_cdecl("chime_queue_advance") @implementation
public func chime_queue_advance(_ queue: chime_queue_t, _ duration_ns: Int64) -> chime_status {
  guard duration_ns >= 0 else { return Arguments.negative("duration_ns", duration_ns).rawValue }
  return callingBack { QueueCore.advance(queue, by: duration_ns).rawValue }
}

@_cdecl("chime_queue_jump") @implementation
public func chime_queue_jump(_ queue: chime_queue_t, _ duration_ns: Int64) -> chime_status {
  guard duration_ns >= 0 else { return Arguments.negative("duration_ns", duration_ns).rawValue }
  return QueueCore.jump(queue, by: duration_ns).rawValue
}

@_cdecl("chime_queue_get_stats") @implementation
public func chime_queue_get_stats(
  _ queue: chime_queue_t, _ stats: UnsafeMutablePointer<chime_queue_stats>?
) -> chime_status {
  Memory.promised { unsafe fillStats(queue, stats).rawValue }
}

private func fillStats(_ queue: chime_queue_t, _ stats: UnsafeMutablePointer<chime_queue_stats>?) -> Status {
  unsafe Arguments.fill(stats, "stats", "stats.size", unknown: QueueCore.unknown(queue)) {
    guard let s = QueueCore.statistics(queue) else { return nil }
    var filled = chime_queue_stats()
    filled.timers = s.timers
    filled.running = s.running
    filled.entries = s.entries
    filled.passes = s.passes
    filled.empty_passes = s.emptyPasses
    filled.ticks = s.ticks
    filled.missed = s.missed
    filled.stale = s.stale
    filled.merged = s.merged
    // SAFETY: a homogeneous tuple is laid out as an array; the core counts in as many buckets.
    unsafe withUnsafeMutableBytes(of: &filled.lateness) { bytes in
      for (i, count) in s.lateness.enumerated() {
        unsafe bytes.storeBytes(of: count, toByteOffset: i * 8, as: UInt64.self)
      }
    }
    return filled
  }
}

@_cdecl("chime_queue_dump") @implementation
public func chime_queue_dump(
  _ queue: chime_queue_t, _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int,
  _ length: UnsafeMutablePointer<Int>?
) -> chime_status {
  unsafe Arguments.write(text, capacity, length, unknown: QueueCore.unknown(queue)) { QueueCore.dump(queue, into: &$0) }
    .rawValue
}

@_cdecl("chime_queue_list") @implementation
public func chime_queue_list(
  _ queues: UnsafeMutablePointer<chime_queue_t>?, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?
) -> chime_status {
  unsafe list(queues, "queues", capacity, count) { add in
    if Fork.isChild { return .inChild }
    QueueControlBlocks.forEachID(add)
    return .ok
  }.rawValue
}

@_cdecl("chime_queue_list_timers") @implementation
public func chime_queue_list_timers(
  _ queue: chime_queue_t, _ timers: UnsafeMutablePointer<chime_timer_t>?, _ capacity: Int,
  _ count: UnsafeMutablePointer<Int>?
) -> chime_status {
  unsafe list(timers, "timers", capacity, count) { add in
    QueueCore.forEachTimer(of: queue, add) ? .ok : QueueCore.unknown(queue)
  }.rawValue
}

/// Gives ids to C: as many as there is room for, and how many there are. `body` adds each, or says why it does not.
private func list(
  _ ids: UnsafeMutablePointer<UInt64>?, _ name: StaticString, _ capacity: Int, _ count: UnsafeMutablePointer<Int>?,
  _ body: ((UInt64) -> Void) -> Status
) -> Status {
  guard let count = unsafe count else { return Arguments.null("count") }
  guard unsafe ids != nil || capacity == 0 else {
    return Status.invalidArgument.because("%s is NULL, and capacity (%u) is not 0", Int64(capacity), of: name)
  }
  let capacity = Arguments.capacity(capacity)
  var found = 0
  let status = body { id in
    // SAFETY: the header asks for room for `capacity` ids.
    if found < capacity { unsafe ids?[found] = id }
    found += 1
  }
  if status == .ok { unsafe count.pointee = found }
  return status
}

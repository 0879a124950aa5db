import CChime

/// Short ways to say what `chime.h` says, so that tests read as sentences. No rule of Chime lives here.

func makeSchedule(
  first: Int64 = 0, interval: Int64 = 0, deadline: Bool = false, leeway: Int64 = 0, limit: UInt64 = 0,
  missed: Int = CHIME_MISSED_COALESCE, resume: Int = CHIME_RESUME_COALESCE
) -> chime_schedule {
  chime_schedule(
    size: UInt32(MemoryLayout<chime_schedule>.size), flags: deadline ? UInt32(CHIME_SCHEDULE_DEADLINE) : 0,
    first_ns: first, interval_ns: interval, leeway_ns: leeway, tick_limit: limit,
    missed_policy: chime_missed_policy(missed), resume_policy: chime_resume_policy(resume))
}

func makeTimerInfo() -> chime_timer_info {
  var info = chime_timer_info()
  info.size = UInt32(MemoryLayout<chime_timer_info>.size)
  return info
}

func makeVirtualQueue(start: Int64 = 0, flags: Int = 0) -> chime_queue_t {
  var options = chime_queue_options()
  options.size = UInt32(MemoryLayout<chime_queue_options>.size)
  options.flags = UInt32(flags)
  options.start_ns = start
  var queue: chime_queue_t = 0
  let status = chime_queue_create(chime_queue_kind(CHIME_QUEUE_VIRTUAL), &options, &queue)
  precondition(status == ok, "chime_queue_create of a virtual queue: \(name(of: status))")
  return queue
}

func stats(of queue: chime_queue_t) -> chime_queue_stats {
  var stats = chime_queue_stats()
  stats.size = UInt32(MemoryLayout<chime_queue_stats>.size)
  _ = chime_queue_get_stats(queue, &stats)
  return stats
}

func now(of queue: chime_queue_t) -> Int64 {
  var now: Int64 = -1
  _ = chime_queue_now(queue, &now)
  return now
}

func state(of timer: chime_timer_t) -> Int {
  var state: chime_state = -1
  _ = chime_timer_state(timer, &state)
  return Int(state)
}

func nextDeadline(of timer: chime_timer_t) -> Int64 {
  var deadline: Int64 = -1
  _ = chime_timer_next_deadline(timer, &deadline)
  return deadline
}

func name(of status: chime_status) -> String { String(cString: chime_status_name(status)) }

let ok = chime_status(CHIME_OK)
let ignored = chime_status(CHIME_IGNORED)
let running = chime_status(CHIME_RUNNING)
let invalidArgument = chime_status(CHIME_ERROR_INVALID_ARGUMENT)
let invalidHandle = chime_status(CHIME_ERROR_INVALID_HANDLE)
let wouldDeadlock = chime_status(CHIME_ERROR_WOULD_DEADLOCK)
let limitReached = chime_status(CHIME_ERROR_LIMIT)
let forever = Int64.max

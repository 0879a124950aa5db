import CChime
import ChimeCore

// chime.h, "Host-driven queues".

/// Stores what a call of the core gives. If it throws, the caller's variable stays as it is.
package func store<Value>(
  in out: UnsafeMutablePointer<Value>?, _ call: () throws(Status) -> Value
) -> chime_status {
  do {
    let value = try call()
    unsafe out?.pointee = value
    return Status.ok.rawValue
  } catch {
    return error.rawValue
  }
}

@_cdecl("chime_queue_fd") @implementation
public func chime_queue_fd(_ queue: chime_queue_t, _ fd: UnsafeMutablePointer<chime_waitable>?) -> chime_status {
  guard unsafe fd != nil else { return Arguments.null("fd").rawValue }
  return unsafe store(in: fd) { () throws(Status) in try chime_waitable(QueueCore.file(queue)) }
}

@_cdecl("chime_queue_next_deadline") @implementation
public func chime_queue_next_deadline(
  _ queue: chime_queue_t, _ deadline_ns: UnsafeMutablePointer<Int64>?
) -> chime_status {
  guard unsafe deadline_ns != nil else { return Arguments.null("deadline_ns").rawValue }
  return unsafe store(in: deadline_ns) { () throws(Status) in try QueueCore.nextDeadline(queue) }
}

@_cdecl("chime_queue_poll_timeout") @implementation
public func chime_queue_poll_timeout(
  _ queue: chime_queue_t, _ milliseconds: UnsafeMutablePointer<Int32>?
) -> chime_status {
  guard unsafe milliseconds != nil else { return Arguments.null("milliseconds").rawValue }
  return unsafe store(in: milliseconds) { () throws(Status) in try QueueCore.pollTimeout(queue) }
}

@_cdecl("chime_queue_process") @implementation
public func chime_queue_process(
  _ queue: chime_queue_t, _ max: UInt32, _ count: UnsafeMutablePointer<UInt32>?
) -> chime_status {
  callingBack {
    unsafe store(in: count) { () throws(Status) in
      UInt32(clamping: try QueueCore.process(queue, most: max == 0 ? .max : Int(max)))
    }
  }
}

@_cdecl("chime_queue_take_ticks") @implementation
public func chime_queue_take_ticks(
  _ queue: chime_queue_t, _ ticks: UnsafeMutablePointer<chime_tick>?, _ tick_size: Int, _ capacity: Int,
  _ count: UnsafeMutablePointer<Int>?
) -> chime_status {
  guard let ticks = unsafe ticks else { return Arguments.null("ticks").rawValue }
  guard let count = unsafe count else { return Arguments.null("count").rawValue }
  guard capacity != 0 else { return Status.invalidArgument.because("capacity is 0").rawValue }
  guard unsafe tick_size >= MemoryLayout<chime_tick>.size, tick_size <= 4096, tick_size % 8 == 0 else {
    return Status.invalidArgument.because("tick_size (%n) is not sizeof(chime_tick)", Int64(tick_size)).rawValue
  }
  return callingBack {
    unsafe store(in: count) { () throws(Status) in
      try unsafe QueueCore.takeTicks(queue, ticks, stride: tick_size, capacity: Arguments.capacity(capacity))
    }
  }
}

@_cdecl("chime_queue_run") @implementation
public func chime_queue_run(_ queue: chime_queue_t, _ flags: UInt32) -> chime_status {
  let untilStopped = UInt32(CHIME_QUEUE_RUN_UNTIL_STOPPED)
  let noWait = UInt32(CHIME_QUEUE_RUN_NO_WAIT)
  let once = UInt32(CHIME_QUEUE_RUN_ONCE)
  guard flags & ~(untilStopped | noWait | once) == 0 else { return Arguments.unknownFlags("flags", flags).rawValue }
  return waiting {
    QueueCore.run(
      queue, untilStopped: flags & untilStopped != 0, waits: flags & noWait == 0, once: flags & once != 0)
  }
}

@_cdecl("chime_queue_stop") @implementation
public func chime_queue_stop(_ queue: chime_queue_t) -> chime_status { QueueCore.stop(queue).rawValue }

import CChime
import ChimeCore

// chime_run_loop.h, "Run loops".

/// Runs a call with the mode that a C string names, NULL the default one; invalidArgument if it is empty or not UTF-8.
func withMode(_ name: UnsafePointer<CChar>?, _ call: (LoopMode) -> chime_status) -> chime_status {
  guard let name = unsafe name else { return call(.default) }
  do {
    let string = try unsafe Arguments.string(name, "mode")
    return string.isEmpty ? Status.invalidArgument.because("mode is empty").rawValue : call(LoopMode(string))
  } catch {
    return error.rawValue
  }
}

/// The answer to a run loop's id that names none.
func unknown(_ run_loop: chime_run_loop_t) -> Status { Status.unknown(run_loop, .runLoop, "run_loop") }

private func give(
  _ out: UnsafeMutablePointer<chime_run_loop_t>?, _ id: () throws(Status) -> UInt64
) -> chime_status {
  if Fork.isChild { return Status.inChild.rawValue }
  guard let out = unsafe out else { return Arguments.null("run_loop").rawValue }
  return waitingOutside { Status(rawValue: Memory.promised { unsafe store(in: out, id) }) }
}

@_cdecl("chime_run_loop_current") @implementation
public func chime_run_loop_current(_ run_loop: UnsafeMutablePointer<chime_run_loop_t>?) -> chime_status {
  unsafe give(run_loop) { () throws(Status) in try Loop.current.id }
}

@_cdecl("chime_run_loop_main") @implementation
public func chime_run_loop_main(_ run_loop: UnsafeMutablePointer<chime_run_loop_t>?) -> chime_status {
  unsafe give(run_loop) { () throws(Status) in try Loop.main.id }
}

@_cdecl("chime_run_loop_create") @implementation
public func chime_run_loop_create(
  _ options: UnsafePointer<chime_run_loop_options>?, _ run_loop: UnsafeMutablePointer<chime_run_loop_t>?
) -> chime_status {
  unsafe give(run_loop) { () throws(Status) in
    guard let options = unsafe options else { return try Loop.start(label: "") }
    let o = try unsafe Arguments.structure(options, "options.size")
    guard unsafe o.flags == 0 else { throw unsafe Arguments.unknownFlags("options.flags", o.flags) }
    return try Loop.start(label: unsafe Arguments.string(o.label, "options.label"))
  }
}

@_cdecl("chime_run_loop_run") @implementation
public func chime_run_loop_run(_ name: UnsafePointer<CChar>?, _ timeout_ns: Int64, _ flags: UInt32) -> chime_status {
  guard timeout_ns >= 0 else { return Arguments.negative("timeout_ns", timeout_ns).rawValue }
  guard flags & ~UInt32(CHIME_RUN_LOOP_UNTIL_TICK) == 0 else { return Arguments.unknownFlags("flags", flags).rawValue }
  return waiting {
    Status(
      rawValue: Memory.promised {
        unsafe withMode(name) { mode in
          Loop.run(in: mode, timeout: timeout_ns, untilTick: flags & UInt32(CHIME_RUN_LOOP_UNTIL_TICK) != 0).rawValue
        }
      })
  }
}

@_cdecl("chime_run_loop_stop") @implementation
public func chime_run_loop_stop(_ run_loop: chime_run_loop_t) -> chime_status {
  withoutCancellation { (Loop.table.find(run_loop)?.stop() ?? unknown(run_loop)).rawValue }
}

@_cdecl("chime_run_loop_release") @implementation
public func chime_run_loop_release(_ run_loop: chime_run_loop_t) -> chime_status {
  if run_loop == 0 { return Status.ok.rawValue }
  return withoutCancellation { (Loop.table.find(run_loop)?.release() ?? unknown(run_loop)).rawValue }
}

@_cdecl("chime_run_loop_add_common_mode") @implementation
public func chime_run_loop_add_common_mode(
  _ run_loop: chime_run_loop_t, _ name: UnsafePointer<CChar>?
) -> chime_status {
  guard unsafe name != nil else { return Arguments.null("mode").rawValue }
  return withoutCancellation {
    Memory.promised {
      unsafe withMode(name) { mode in (Loop.table.find(run_loop)?.addCommonMode(mode) ?? unknown(run_loop)).rawValue }
    }
  }
}

@_cdecl("chime_queue_create_on_run_loop") @implementation
public func chime_queue_create_on_run_loop(
  _ run_loop: chime_run_loop_t, _ name: UnsafePointer<CChar>?, _ options: UnsafePointer<chime_queue_options>?,
  _ queue: UnsafeMutablePointer<chime_queue_t>?
) -> chime_status {
  guard let queue = unsafe queue else { return Arguments.null("queue").rawValue }
  return Memory.promised {
    unsafe withMode(name) { mode in
      guard let loop = Loop.table.find(run_loop) else { return unknown(run_loop).rawValue }
      return unsafe making(queue, options, for: .runLoop) { options throws(Status) in
        try loop.makeQueue(in: LoopModes([mode]), options)
      }
    }
  }
}

import CChime
import ChimeCore

// chime.h, "Values that expire".

@_cdecl("chime_expiring_create") @implementation
public func chime_expiring_create(
  _ queue: chime_queue_t, _ lifetime_ns: Int64, _ value: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?,
  _ options: UnsafePointer<chime_expiring_options>?, _ expiring: UnsafeMutablePointer<chime_expiring_t>?
) -> chime_status {
  guard let expiring = unsafe expiring else { return Arguments.null("expiring").rawValue }
  guard let value = unsafe value else { return Arguments.null("value").rawValue }
  guard lifetime_ns >= 0 else { return Arguments.negative("lifetime_ns", lifetime_ns).rawValue }
  return Memory.promised {
    unsafe store(in: expiring) { () throws(Status) in
      var o = unsafe chime_expiring_options()
      if let options = unsafe options { unsafe o = try Arguments.structure(options, "options.size") }
      guard unsafe o.flags & ~UInt32(CHIME_TIMER_BACKGROUND) == 0 else {
        throw unsafe Arguments.unknownFlags("options.flags", o.flags)
      }
      guard unsafe o.leeway_ns >= 0 else { throw unsafe Arguments.negative("options.leeway_ns", o.leeway_ns) }
      return try unsafe Expiring.make(
        Context(value), Arguments.contextFunction(finalizer), lifetime: lifetime_ns, leeway: o.leeway_ns,
        label: Arguments.string(o.label, "options.label"), flags: o.flags == 0 ? [] : .background, on: queue)
    }
  }
}

@_cdecl("chime_expiring_on_expiry") @implementation
public func chime_expiring_on_expiry(
  _ expiring: chime_expiring_t, _ handler: chime_handler?, _ context: UnsafeMutableRawPointer?,
  _ finalizer: chime_finalizer?
) -> chime_status {
  if unsafe handler == nil, unsafe finalizer != nil {
    return Status.invalidArgument.because("handler is NULL, and finalizer is not").rawValue
  }
  return callingBack {
    Memory.promised {
      unsafe Expiring.onExpiry(
        expiring, Arguments.tickFunction(handler), Context(context), Arguments.contextFunction(finalizer)
      ).rawValue
    }
  }
}

@_cdecl("chime_expiring_acquire") @implementation
public func chime_expiring_acquire(
  _ expiring: chime_expiring_t, _ value: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> chime_status {
  guard let value = unsafe value else { return Arguments.null("value").rawValue }
  let status = unsafe store(in: value) { () throws(Status) in try unsafe Expiring.acquire(expiring)?.pointer }
  return unsafe status == Status.ok.rawValue && value.pointee == nil ? Status.ignored.rawValue : status
}

@_cdecl("chime_expiring_yield") @implementation
public func chime_expiring_yield(_ expiring: chime_expiring_t) -> chime_status {
  callingBack { Expiring.yield(expiring).rawValue }
}

@_cdecl("chime_expiring_reset") @implementation
public func chime_expiring_reset(_ expiring: chime_expiring_t, _ lifetime_ns: Int64) -> chime_status {
  lifetime_ns < 0
    ? Arguments.negative("lifetime_ns", lifetime_ns).rawValue : Expiring.reset(expiring, lifetime: lifetime_ns).rawValue
}

@_cdecl("chime_expiring_release") @implementation
public func chime_expiring_release(_ expiring: chime_expiring_t) -> chime_status {
  expiring == 0 ? Status.ok.rawValue : callingBack { Expiring.release(expiring).rawValue }
}

import CChime
import ChimeCore

/// Runs a call that waits: it leaves errno as it was, is no cancellation point, and ends the thread if a callback in it
/// has done so.
package func waiting(_ call: () -> Status) -> chime_status {
  callingBack {
    let saved = Errno.current
    defer { Errno.current = saved }
    return call().rawValue
  }
}

/// Runs a call that waits, and that goes into other libraries: their functions may be cancellation points, or create what
/// a cancellation would leave behind.
package func waitingOutside(_ call: () -> Status) -> chime_status {
  waiting { withoutCancellation(call) }
}

/// Runs a call that may call functions of the host. If one of them ends the thread, the thread ends here, after the
/// call has completed.
package func callingBack(_ call: () -> chime_status) -> chime_status { ThreadEnd.passOn(call) }

/// Reads what C passes: structures that carry their size, flags, enumerations and strings. What the header does not allow
/// is invalidArgument, with its sentence.
package enum Arguments {
  /// A structure whose first member is its size. A longer one than this library knows is read as far as it is known,
  /// if the rest is zero; from a shorter one, of an earlier version, no more is read than it has, and the rest is zero.
  ///
  /// - Parameter first: the size that the structure had in its first version. One that grows passes it.
  package static func structure<S: BitwiseCopyable>(
    _ pointer: UnsafePointer<S>, _ name: StaticString, first: Int = MemoryLayout<S>.size
  ) throws(Status) -> S {
    let size = try unsafe knownSize(pointer, name, first)
    return unsafe withUnsafeTemporaryAllocation(of: S.self, capacity: 1) { room in
      let bytes = UnsafeMutableRawBufferPointer(room)
      // SAFETY: the room has bytes.
      let base = unsafe bytes.baseAddress.unsafelyUnwrapped
      let whole = MemoryLayout<S>.size
      if size == whole {
        unsafe Memory.copyOnce(pointer, to: base, count: whole)
      } else {
        unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
        unsafe Memory.copyOnce(pointer, to: base, count: size)
      }
      // SAFETY: zero is a value of each member: the header says that it is the default.
      return unsafe room[0]
    }
  }

  // MARK: What is wrong

  @inline(never)
  package static func null(_ name: StaticString) -> Status { Status.invalidArgument.because("%s is NULL", of: name) }

  @inline(never)
  package static func negative(_ name: StaticString, _ value: Int64) -> Status {
    Status.invalidArgument.because("%s (%t) is negative", value, of: name)
  }

  /// A number that has no meaning here.
  @inline(never)
  package static func unknown(_ name: StaticString, _ value: Int64) -> Status {
    Status.invalidArgument.because("%s (%n) is none of the constants that it may be", value, of: name)
  }

  @inline(never)
  package static func unknownFlags(_ name: StaticString, _ value: UInt32) -> Status {
    Status.invalidArgument.because("%s (%n) has a bit that is no flag", Int64(value), of: name)
  }

  /// Flags of a queue that only host-driven ones have, or bits that are no flags.
  @inline(never)
  static func refusedQueueFlags(_ flags: UInt32, _ refused: UInt32) -> Status {
    let name: StaticString? =
      refused & UInt32(CHIME_QUEUE_FLAG_BOUND) != 0
      ? "CHIME_QUEUE_FLAG_BOUND" : refused & UInt32(CHIME_QUEUE_FLAG_RECORDS) != 0 ? "CHIME_QUEUE_FLAG_RECORDS" : nil
    guard let name else { return unknownFlags("options.flags", flags) }
    return Status.invalidArgument.because("options.flags has %s, which only host-driven queues have", of: name)
  }

  /// Flags of a timer that only those without functions have, or bits that are no flags.
  @inline(never)
  private static func refusedTimerFlags(_ flags: UInt32) -> Status {
    let name: StaticString? =
      !isKnown(flags)
      ? nil
      : flags & UInt32(CHIME_TIMER_RECORD_ARMED) != 0
        ? "CHIME_TIMER_RECORD_ARMED"
        : flags & UInt32(CHIME_TIMER_RECORD_CANCELLED) != 0
          ? "CHIME_TIMER_RECORD_CANCELLED" : "CHIME_TIMER_RECORD_FINALIZE"
    guard let name else { return unknownFlags("options.flags", flags) }
    return Status.invalidArgument.because(
      "options.flags has %s, which is for timers of queues with CHIME_QUEUE_FLAG_RECORDS", of: name)
  }

  @inline(never)
  private static func wrongSize(_ name: StaticString, _ size: Int, _ known: Int) -> Status {
    size < known
      ? Status.invalidArgument.because(
        "%s (%n) is not set: its structure has %n bytes", Int64(size), Int64(known), of: name)
      : Status.invalidArgument.because(
        "%s (%n) goes beyond the %n bytes that this library knows, and what lies there is not zero", Int64(size),
        Int64(known), of: name)
  }

  /// How many bytes of the structure this library knows: it has at least those of the first version, and nothing beyond
  /// the known ones that would mean something.
  @inline(__always)
  private static func knownSize<S>(
    _ pointer: UnsafePointer<S>, _ name: StaticString, _ first: Int
  ) throws(Status) -> Int {
    // SAFETY: the header asks for `size` to be true; it is the first member of every structure that comes here.
    let size = unsafe Int(UnsafeRawPointer(pointer).load(as: UInt32.self))
    let known = MemoryLayout<S>.size
    if size == known { return known }
    return try unsafe sizeOfAnotherVersion(UnsafeRawPointer(pointer), size, known, first, name)
  }

  /// A `size` that was never set may be any number: so far its structure is read at most.
  private static var largestSize: Int { 4096 }

  @inline(never)
  private static func sizeOfAnotherVersion(
    _ pointer: UnsafeRawPointer, _ size: Int, _ known: Int, _ first: Int, _ name: StaticString
  ) throws(Status) -> Int {
    if first <= size, size < known, size % 8 == 0 { return size }
    let bytes = unsafe UnsafeRawBufferPointer(start: pointer, count: size)
    if size > largestSize {
      throw Status.invalidArgument.because(
        "%s (%n) is beyond %n, the most that a structure may have", Int64(size), Int64(largestSize), of: name)
    }
    if size > known, unsafe bytes[known...].allSatisfy({ $0 == 0 }) { return known }
    throw wrongSize(name, size, known)
  }

  /// Fills in a structure of the caller's, as far as its size goes. The size itself, its first member, stays as it is.
  /// `body` gives `nil` for an id that names nothing.
  ///
  /// - Parameters:
  ///   - first: the size that the structure had in its first version. One that grows passes it.
  ///   - unknown: the answer to that id.
  package static func fill<S: BitwiseCopyable>(
    _ pointer: UnsafeMutablePointer<S>?, _ name: StaticString, _ sizeName: StaticString,
    first: Int = MemoryLayout<S>.size, unknown: @autoclosure () -> Status, _ body: () -> S?
  ) -> Status {
    guard let pointer = unsafe pointer else { return null(name) }
    let known: Int
    do { known = try unsafe knownSize(UnsafePointer(pointer), sizeName, first) } catch { return error }
    guard let value = body() else { return unknown() }
    let size = MemoryLayout<UInt32>.size
    let whole = MemoryLayout<S>.size
    unsafe withUnsafeBytes(of: value) {
      let (from, to) = unsafe ($0.baseAddress.unsafelyUnwrapped + size, UnsafeMutableRawPointer(pointer) + size)
      // A count that the compiler knows is a few instructions.
      if known == whole {
        unsafe to.copyMemory(from: from, byteCount: whole - size)
      } else {
        unsafe to.copyMemory(from: from, byteCount: known - size)
      }
    }
    return .ok
  }

  /// A string that must be UTF-8; empty for NULL. In a call that was promised its objects.
  /// - Returns: invalidArgument, noMemory, limit.
  package static func string(_ pointer: UnsafePointer<CChar>?, _ name: StaticString) throws(Status) -> String {
    guard let pointer = unsafe pointer else { return "" }
    return try unsafe Text.withCopy(of: pointer) { copy, count throws(Status) in
      guard let copy = unsafe copy else { throw Memory.refusal }
      guard unsafe TextWriter.isUTF8(copy) else { throw Status.invalidArgument.because("%s is not UTF-8", of: name) }
      // The string's own header is before the text.
      guard Memory.provides(count + 64) else { throw Memory.refusal }
      return unsafe String(cString: copy)
    }
  }

  /// Gives a text to C: as much as there is room for, a 0, and the length of the whole. `body` gives false for an id
  /// that names nothing.
  static func write(
    _ text: UnsafeMutablePointer<CChar>?, _ capacity: Int, _ length: UnsafeMutablePointer<Int>?,
    unknown: @autoclosure () -> Status, _ body: (inout TextWriter) -> Bool
  ) -> Status {
    guard unsafe text != nil || capacity == 0 else {
      return Status.invalidArgument.because("text is NULL, and capacity (%u) is not 0", Int64(capacity))
    }
    var writer = unsafe TextWriter(text, capacity: Arguments.capacity(capacity))
    guard body(&writer) else { return unknown() }
    writer.end()
    unsafe length?.pointee = writer.length
    return .ok
  }

  /// A copy of a schedule: `Schedule` has the layout of chime_schedule.
  static func schedule(_ pointer: UnsafePointer<chime_schedule>) throws(Status) -> Schedule {
    let s = try unsafe structure(pointer, "schedule.size")
    let schedule = unsafe unsafeBitCast(s, to: Schedule.self)
    if !schedule.isValid { throw whatIsWrong(with: s) }
    return schedule
  }

  /// Why `Schedule.isValid` is false: the first reason in the order of the members.
  @inline(never)
  private static func whatIsWrong(with s: chime_schedule) -> Status {
    if s.flags & ~UInt32(CHIME_SCHEDULE_DEADLINE) != 0 { return unknownFlags("schedule.flags", s.flags) }
    if s.first_ns < 0, s.flags == 0 { return negative("schedule.first_ns", s.first_ns) }
    if s.interval_ns < 0 { return negative("schedule.interval_ns", s.interval_ns) }
    if s.leeway_ns < 0 { return negative("schedule.leeway_ns", s.leeway_ns) }
    if s.interval_ns > 0, s.leeway_ns >= s.interval_ns {
      return Status.invalidArgument.because(
        "schedule.leeway_ns (%t) is not below interval_ns (%t)", s.leeway_ns, s.interval_ns)
    }
    if !(0...1 ~= s.missed_policy) { return unknown("schedule.missed_policy", Int64(s.missed_policy)) }
    if !(0...1 ~= s.resume_policy) { return unknown("schedule.resume_policy", Int64(s.resume_policy)) }
    if s.jitter_ns < 0 { return negative("schedule.jitter_ns", s.jitter_ns) }
    if s.jitter_ns > 0, s.interval_ns == 0 {
      return Status.invalidArgument.because(
        "schedule.jitter_ns is %t, and interval_ns is 0: jitter is for repeating timers", s.jitter_ns)
    }
    if s.jitter_ns > s.interval_ns {
      return Status.invalidArgument.because(
        "schedule.jitter_ns (%t) is beyond interval_ns (%t)", s.jitter_ns, s.interval_ns)
    }
    return Status.invalidArgument.because(
      "schedule.resume_policy is CHIME_RESUME_REMAINING, which does not go with CHIME_SCHEDULE_DEADLINE")
  }

  /// A size_t of C, which Swift sees as a signed number.
  static func capacity(_ size: Int) -> Int { size < 0 ? .max : size }

  /// A function as a number: 0 for none.
  @inline(__always)
  private static func word<Function>(_ function: Function?) -> UInt64 {
    // SAFETY: a C function that may be NULL is as long as a pointer.
    unsafe unsafeBitCast(function, to: UInt64.self)
  }

  /// Whether options ask for a handler and a context at most. No member is read before `size` allows it.
  @inline(__always)
  static func haveHandlerOnly(_ options: UnsafePointer<chime_timer_options>) -> Bool {
    // The rest in one condition, not six: every new timer comes through here.
    return unsafe options.pointee.size == UInt32(MemoryLayout<chime_timer_options>.size)
      && UInt64(options.pointee.flags) | word(options.pointee.registration_handler)
        | word(options.pointee.cancel_handler) | word(options.pointee.finalizer)
        | UInt64(UInt(bitPattern: options.pointee.label)) | options.pointee.target == 0
  }

  /// Whether a one-shot's schedule without policies has a deadline; `nil` for any other. Leeway and first delay have not
  /// been checked yet. Reads each member once, and none before `size` allows it.
  @inline(__always)
  static func oneShotHasDeadline(_ schedule: UnsafePointer<chime_schedule>) -> Bool? {
    guard unsafe schedule.pointee.size == UInt32(MemoryLayout<chime_schedule>.size) else { return nil }
    let flags = unsafe schedule.pointee.flags
    guard
      unsafe flags & ~UInt32(CHIME_SCHEDULE_DEADLINE) == 0
        && schedule.pointee.interval_ns | schedule.pointee.jitter_ns
          | Int64(schedule.pointee.missed_policy | schedule.pointee.resume_policy) == 0
    else { return nil }
    return flags != 0
  }

  /// A copy of options: `TimerOptions` has the layout of chime_timer_options, where there is a handler. Whether the label is
  /// UTF-8 is looked at where it is copied.
  ///
  /// - Parameters:
  ///   - queue: whose timer it will be: asked only about what does not go together.
  ///   - selfRelease: whether nobody will hold the timer, whatever the flags say.
  @inline(__always)
  static func timerOptions(
    _ pointer: UnsafePointer<chime_timer_options>, on queue: chime_queue_t, selfRelease: Bool
  ) throws(Status) -> TimerOptions {
    let o = try unsafe structure(pointer, "options.size")
    guard unsafe o.handler != nil else { return try unsafe recordOptions(o, on: queue, selfRelease) }
    guard unsafe o.flags & ~UInt32(CHIME_TIMER_SELF_RELEASE | CHIME_TIMER_BACKGROUND) == 0 else {
      let flags = unsafe o.flags
      throw isKnown(flags) && QueueCore.givesRecords(queue)
        ? TimerRef.functionsWithRecords : refusedTimerFlags(flags)
    }
    // SAFETY: one layout (a test compares them), and the one pointer that may not be NULL is not.
    var options = unsafe withUnsafeBytes(of: o) { unsafe $0.loadUnaligned(as: TimerOptions.self) }
    if selfRelease { options.flags.insert(.selfRelease) }
    return options
  }

  /// Whether flags of a timer mean something, on this queue or another one.
  private static func isKnown(_ flags: UInt32) -> Bool {
    let records = CHIME_TIMER_RECORD_ARMED | CHIME_TIMER_RECORD_CANCELLED | CHIME_TIMER_RECORD_FINALIZE
    return flags & ~UInt32(CHIME_TIMER_SELF_RELEASE | CHIME_TIMER_BACKGROUND | records) == 0
  }

  /// Options without a handler: of a timer whose ticks are taken as records. Flags stand where functions do otherwise.
  @inline(never)
  private static func recordOptions(
    _ o: chime_timer_options, on queue: chime_queue_t, _ selfRelease: Bool
  ) throws(Status) -> TimerOptions {
    guard unsafe isKnown(o.flags) else { throw unsafe unknownFlags("options.flags", o.flags) }
    guard unsafe o.registration_handler == nil, unsafe o.cancel_handler == nil, unsafe o.finalizer == nil else {
      throw QueueCore.givesRecords(queue)
        ? TimerRef.functionsWithRecords
        : .invalidArgument.because("options.handler is NULL, and another function of options is not")
    }
    let has = { (flag: Int) in unsafe o.flags & UInt32(flag) != 0 }
    var flags: TimerOptions.Flags = .givesRecords
    if selfRelease || has(CHIME_TIMER_SELF_RELEASE) { flags.insert(.selfRelease) }
    if has(CHIME_TIMER_BACKGROUND) { flags.insert(.background) }
    var options = unsafe TimerOptions(
      handler: .record, context: Context(o.context), finalizer: has(CHIME_TIMER_RECORD_FINALIZE) ? .record : nil,
      target: o.target, flags: flags)
    if has(CHIME_TIMER_RECORD_ARMED) { options.registrationHandler = .record }
    if has(CHIME_TIMER_RECORD_CANCELLED) { options.cancelHandler = .record }
    unsafe options.label = o.label
    return options
  }

  /// Options of a timer that calls a function, or NULL if ticks are taken as records.
  @inline(__always)
  static func timerOptions(
    _ handler: chime_handler?, _ context: UnsafeMutableRawPointer?, _ finalizer: chime_finalizer?,
    on queue: chime_queue_t, selfRelease: Bool
  ) throws(Status) -> TimerOptions {
    if let handler = unsafe tickFunction(handler) {
      return unsafe TimerOptions(
        handler: handler, context: Context(context), finalizer: contextFunction(finalizer),
        flags: selfRelease ? .selfRelease : [])
    }
    guard unsafe finalizer == nil else {
      throw QueueCore.givesRecords(queue)
        ? TimerRef.functionsWithRecords
        : .invalidArgument.because("handler is NULL, and finalizer is not")
    }
    return unsafe TimerOptions(
      handler: .record, context: Context(context), flags: selfRelease ? [.givesRecords, .selfRelease] : .givesRecords)
  }

  /// The core's view of a handler: the same function, which takes the address of a tick.
  @inline(__always)
  package static func tickFunction(_ handler: chime_handler?) -> TickFunction? {
    // SAFETY: CoreTick and chime_tick have one layout (a test compares them), and a pointer is passed as a pointer.
    unsafe handler.map { unsafe TickFunction(unsafeBitCast($0, to: TickFunction.Function.self)) }
  }

  @inline(__always)
  package static func contextFunction(_ function: chime_finalizer?) -> ContextFunction? {
    unsafe function.map { unsafe ContextFunction($0) }
  }
}

internal import CPlatform

/// What a timer calls, and how. Functions and context are C's; the Swift interface passes its own. The layout is that
/// of chime_timer_options, so that checked C options are copied as they are; a test compares the two layouts.
@safe package struct TimerOptions {
  /// `chime_timer_options.flags`, and two of the core's own.
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static var selfRelease: Flags { Flags(rawValue: 0x10_0000) }
    /// `QueueCore.run` does not wait for the timer's end.
    package static var background: Flags { Flags(rawValue: 0x100_0000) }
    /// The context is a reference to an object, which the timer releases when it has ended: see `TimerSlot.ownedContext`.
    package static var ownsContext: Flags { Flags(rawValue: 1 << 30) }
    /// For a queue that gives records: the functions are placeholders and are never called.
    package static var givesRecords: Flags { Flags(rawValue: 1 << 31) }
  }

  package var size = UInt32(64)
  package var flags: Flags
  package var handler: TickFunction
  package var registrationHandler: TickFunction?
  package var cancelHandler: TickFunction?
  package var context: Context
  package var finalizer: ContextFunction?
  /// UTF-8, copied.
  package var label: UnsafePointer<CChar>?
  /// The id of a target; 0: none.
  package var target: UInt64

  package init(
    handler: TickFunction, context: Context = .none, finalizer: ContextFunction? = nil, target: UInt64 = 0,
    flags: Flags = []
  ) {
    self.flags = flags
    self.handler = handler
    self.context = context
    self.finalizer = finalizer
    self.target = target
  }

  /// These options with a label; none, if it is empty.
  func labelled<Result>(_ label: String, _ body: (TimerOptions) -> Result) -> Result {
    unsafe label.withCString { label in
      var options = self
      unsafe options.label = unsafe label.pointee == 0 ? nil : label
      return body(options)
    }
  }

  var needsSideRecord: Bool {
    unsafe registrationHandler != nil || cancelHandler != nil || finalizer != nil || label != nil || target != 0
      || flags.contains(.background)
  }
}

extension TimerRef {
  /// What has come of the short form of a call. (Not thrown: that took eight instructions of 296.)
  package enum ShortForm {
    case done(Status)
    /// Nothing has been done: the long form is needed.
    case needsMore
  }

  /// The short form of `create`, for a one-shot with a handler, a context, perhaps a leeway, and nothing else, as most
  /// are, unless the queue or the thread needs more than that.
  ///
  /// - Parameters:
  ///   - ownsContext: see `Flags.ownsContext`.
  ///   - first: deadline, or a delay; one below 0 needs more.
  ///   - leeway: of 0 or more, short enough to be kept in nanoseconds.
  package static func createFast(
    on queue: UInt64, _ handler: TickFunction, _ context: Context, selfRelease: Bool, ownsContext: Bool = false,
    first: Int64, firstIsDeadline: Bool, leeway: CompactDuration, out: UnsafeMutablePointer<UInt64>?
  ) -> ShortForm {
    guard let control = QueueControlBlocks.find(queue), control.createsFast, let thread = ThreadState.existing,
      let cache = thread.cache(of: control), cache.hasEnough, firstIsDeadline || first >= 0
    else { return .needsMore }
    let deadline = firstIsDeadline ? first : control.deadline(after: first)
    guard let index = cache.takeOldest() else { return .needsMore }
    let flags =
      CellFlags.hasSchedule.rawValue | (firstIsDeadline ? CellFlags.firstIsDeadline.rawValue : 0)
      | (selfRelease ? CellFlags.selfRelease.rawValue : 0) | (ownsContext ? CellFlags.ownsContext.rawValue : 0)
    return unsafe createFast(index, control, thread, queue, handler, context, flags, first, deadline, leeway, out)
  }

  /// The same for a timer that is held, and a thread whose cache serves another queue.
  @inline(never)
  package static func createListed(
    on queue: UInt64, _ handler: TickFunction, _ context: Context, first: Int64, firstIsDeadline: Bool,
    leeway: CompactDuration, out: UnsafeMutablePointer<UInt64>
  ) -> ShortForm {
    guard let control = QueueControlBlocks.find(queue), control.createsFast, let thread = ThreadState.existing,
      firstIsDeadline || first >= 0, let index = control.takeListed(thread)
    else { return .needsMore }
    let deadline = firstIsDeadline ? first : control.deadline(after: first)
    let flags = CellFlags.hasSchedule.rawValue | (firstIsDeadline ? CellFlags.firstIsDeadline.rawValue : 0)
    return unsafe createFast(index, control, thread, queue, handler, context, flags, first, deadline, leeway, out)
  }

  private static func createFast(
    _ index: SlotIndex, _ control: QueueControlBlock, _ thread: ThreadState, _ queue: UInt64, _ handler: TickFunction,
    _ context: Context, _ flags: UInt32, _ first: Int64, _ deadline: Int64, _ leeway: CompactDuration,
    _ out: UnsafeMutablePointer<UInt64>?
  ) -> ShortForm {
    let writing = Writing(free: Slab.slot(index))
    writing.handler = handler
    writing.context = context
    writing.sequence = 0
    let version = writing.slot.version
    writing.versionAndFlags = version | flags
    writing.activationSequence = control.nextActivationSequence(thread)
    writing.leeway = leeway
    writing.period = first
    writing.deadline = deadline
    let timer = TimerRef(slot: writing.slot, version: version)
    let before = unsafe out?.pointee
    unsafe out?.pointee = timer.id
    // A slot that comes back in a call is often in the inbox still; one that a pass gives back, as that of a timer nobody
    // holds, is not.
    if let writing = flags & CellFlags.selfRelease.rawValue != 0
      ? writing.publish(.running, on: control, of: queue) : writing.publishFast(.running, on: control, of: queue)
    {
      return unsafe .done(publishSlow(writing, deadline, control, queue, out, before))
    }
    return .done(deadline < control.nextWakeUp && !control.isWoken || Trace.isOn ? timer.finishFast(control) : .ok)
  }

  @inline(never)
  private static func publishSlow(
    _ writing: consuming Writing, _ deadline: Int64, _ control: QueueControlBlock, _ queue: UInt64,
    _ out: UnsafeMutablePointer<UInt64>?, _ before: UInt64?
  ) -> Status {
    let timer = TimerRef(slot: writing.slot, version: writing.slot.version)
    if let writing = writing.publish(.running, on: control, of: queue) {
      return unsafe giveUp(writing, control, ThreadState.existing, queue, out, before)
    }
    return deadline < control.nextWakeUp || Trace.isOn ? timer.finishFast(control) : .ok
  }

  /// What follows if the queue may have to wake up earlier. The timer exists by now.
  @inline(never)
  private func finishFast(_ control: QueueControlBlock) -> Status {
    control.wakeIfEarlier(TimerSlot.wakeTime(deadline: slot.deadline, slot.leeway, control))
    return .of { () throws(Forked) in
      try Trace.noteCreated(self)
      return .ok
    }
  }

  /// Creates a timer on the queue with that id, and activates it if there is a schedule.
  ///
  /// A free slot is filled in, until one swap makes it a timer that everybody can see.
  ///
  /// - Parameters:
  ///   - schedule: valid, or `nil` for an idle timer.
  ///   - out: receives the id before the timer can tick, and is untouched on failure.
  /// - Returns: ok, invalidHandle, invalidArgument and unsupported if functions or records do not suit the queue,
  ///   targetGone, limit, noMemory. On failure the context stays the caller's.
  package static func create(
    on queue: UInt64, _ options: TimerOptions, _ schedule: Schedule?, out: UnsafeMutablePointer<UInt64>?
  ) -> Status {
    guard let control = QueueControlBlocks.find(queue) else { return QueueCore.unknown(queue) }
    guard control.givesRecords == options.flags.contains(.givesRecords) else {
      return handlerMismatch(options)
    }
    guard let thread = ThreadState.obtain() else {
      if !ThreadState.isOver { return Memory.refusal }
      return .of { () throws(Forked) in
        var status = Status.ok
        try ThreadState.withStateForNow { _ in unsafe status = create(on: queue, options, schedule, out: out) }
        return status
      }
    }
    let writing: Writing
    do { writing = try control.takeSlot(thread) } catch { return error }
    var target: TimerTarget?
    if options.needsSideRecord || schedule?.needsSideRecord(on: control) == true {
      do { target = try fillSideRecord(of: writing, options, activated: schedule != nil) } catch {
        control.free(writing, thread)
        return error
      }
    }
    let slot = writing.slot
    writing.handler = options.handler
    writing.context = options.context
    writing.sequence = 0
    let version = slot.version
    let isWall = control.isWall
    writing.versionAndFlags =
      version | slot.versionAndFlags & CellFlags.hasSideRecord.rawValue
      | (options.flags.contains(.selfRelease) ? CellFlags.selfRelease.rawValue : 0)
      | (options.flags.contains(.ownsContext) ? CellFlags.ownsContext.rawValue : 0)
    let timer = TimerRef(slot: slot, version: version)
    writing.activationSequence = control.nextActivationSequence(thread)
    var time = Int64.max
    if let schedule {
      writing.store(schedule)
      writing.deadline =
        isWall || schedule.jitter > 0
        ? writing.firstDeadline(control)
        : schedule.firstIsDeadline ? schedule.first : control.now.saturatingAdd(schedule.first)
      time = TimerSlot.wakeTime(deadline: slot.deadline, slot.leeway, control)
    }
    let offset = isWall ? writing.ownWallOffset : nil
    let hasCallback = schedule != nil && options.registrationHandler != nil
    let before = unsafe out?.pointee
    unsafe out?.pointee = timer.id
    if let writing = writing.publish(
      schedule == nil ? .idle : .running, hasCallback: hasCallback, inInbox: time != .max || hasCallback,
      on: control, of: queue)
    {
      return unsafe giveUp(writing, control, thread, queue, out, before)
    }
    control.wakeIfEarlier(hasCallback ? QueueControlBlock.atOnce : time)
    if isWall { control.checkThatPassFollows(offset) }
    return .of { () throws(Forked) in
      try Trace.noteCreated(timer, activated: schedule != nil)
      // The target's last reference may have gone in the meantime, before there was a timer to end (P8b).
      if let target, target.isGone { try target.end(timer) }
      return .ok
    }
  }

  /// The timer calls functions and the queue gives records, or the other way round.
  @inline(never)
  private static func handlerMismatch(_ options: TimerOptions) -> Status {
    options.flags.contains(.givesRecords)
      ? Status.invalidArgument.because("the handler is NULL, and queue was made without CHIME_QUEUE_FLAG_RECORDS")
      : functionsWithRecords
  }

  /// Functions, for a queue that gives records.
  @inline(never)
  package static var functionsWithRecords: Status {
    Status.unsupported.because("queue gives records: the timer's handler, and all other functions, must be NULL there")
  }

  /// The queue was released before there was a timer.
  @inline(never)
  private static func giveUp(
    _ writing: consuming Writing, _ control: QueueControlBlock, _ thread: ThreadState?, _ queue: UInt64,
    _ out: UnsafeMutablePointer<UInt64>?, _ before: UInt64?
  ) -> Status {
    if let before { unsafe out?.pointee = before }
    writing.endSideRecord()
    control.free(writing, thread)
    return QueueCore.unknown(queue)
  }

  /// Gives a new timer its side record and, if it is to have one, its target.
  @inline(never)
  private static func fillSideRecord(
    of writing: borrowing Writing, _ options: TimerOptions, activated: Bool
  ) throws(Status) -> TimerTarget? {
    let target = options.target == 0 ? nil : try TimerTarget.find(options.target)
    guard let sideRecord = writing.makeSideRecord() else { throw Memory.refusal }
    var label: UnsafeMutablePointer<CChar>?
    if let text = unsafe options.label {
      unsafe label = unsafe Labels.copy(text)
      if unsafe label == nil {
        writing.endSideRecord()
        throw Memory.refusal
      }
      if let copy = unsafe label, unsafe !TextWriter.isUTF8(copy) {
        unsafe Labels.free(copy)
        writing.endSideRecord()
        throw Status.invalidArgument.because("%s is not UTF-8", of: "options.label")
      }
    }
    sideRecord.targetID = options.target
    sideRecord.isBackground = options.flags.contains(.background)
    if sideRecord.isBackground { writing.control.hasHadBackground = true }
    unsafe sideRecord.label = unsafe label
    sideRecord.writerFields.finalizer = options.finalizer
    sideRecord.writerFields.registrationHandler = options.registrationHandler
    sideRecord.writerFields.cancelHandler = options.cancelHandler
    unsafe sideRecord.writerFields.target = target.map { unsafe Unmanaged.passRetained($0) }
    target?.attach(writing.slot)
    if activated { sideRecord.noteActivation() }
    return target
  }
}

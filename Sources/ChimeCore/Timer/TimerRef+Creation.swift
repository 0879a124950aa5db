internal import CPlatform

/// What a timer calls, and how. Functions and context are C's; the Swift interface hands in its own. Laid out as
/// chime_timer_options, so that C's, checked, are read where they lie; a test holds the two against each other.
@safe package struct TimerOptions {
  /// `chime_timer_options.flags`, and one of the core's own.
  package struct Flags: OptionSet, Sendable {
    package let rawValue: UInt32
    @inlinable package init(rawValue: UInt32) { self.rawValue = rawValue }

    package static var selfRelease: Flags { Flags(rawValue: 1) }
    /// For a queue that gives records: the functions stand for nothing, and are never called.
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
    handler: TickFunction, registrationHandler: TickFunction? = nil, cancelHandler: TickFunction? = nil,
    context: Context = .none, finalizer: ContextFunction? = nil, label: UnsafePointer<CChar>? = nil,
    target: UInt64 = 0, selfRelease: Bool = false, givesRecords: Bool = false
  ) {
    flags = []
    if selfRelease { flags.insert(.selfRelease) }
    if givesRecords { flags.insert(.givesRecords) }
    self.handler = handler
    self.registrationHandler = registrationHandler
    self.cancelHandler = cancelHandler
    self.context = context
    self.finalizer = finalizer
    unsafe self.label = unsafe label
    self.target = target
  }

  @inline(__always)
  var needsSideRecord: Bool {
    unsafe registrationHandler != nil || cancelHandler != nil || finalizer != nil || label != nil || target != 0
  }
}

extension TimerRef {
  /// The short form of `create` for a one-shot that has a handler, a context, perhaps a leeway, and nothing else, as most
  /// have. `nil`, and nothing done, when the queue or the thread wants more than that.
  ///
  /// - Parameters:
  ///   - first: deadline, or a delay of 0 or more.
  ///   - leeway: of 0 or more, short enough to be kept in nanoseconds.
  @inline(__always)
  package static func createPlain(
    on queue: UInt64, _ handler: TickFunction, _ context: Context, selfRelease: Bool, first: Int64,
    firstIsDeadline: Bool, leeway: CompactDuration, out: UnsafeMutablePointer<UInt64>?
  ) -> Status? {
    guard let control = QueueControlBlocks.find(queue), control.isPlain, let thread = ThreadState.existing,
      let index = thread.cache(of: control)?.pop()
    else { return nil }
    let slot = Slab.slot(index)
    // The word as it was: free, perhaps still in the inbox.
    let free = slot.set(TimerWord.writerBit, TimerWord.inboxBit)
    if !free.isInInbox { control.push(slot) }
    guard control.id == queue else { return giveUp(slot, control, thread) }
    slot.handler = handler
    slot.context = context
    slot.sequence = 0
    let version = slot.version
    slot.versionAndFlags =
      version | RecordFlags.hasSchedule.rawValue | (firstIsDeadline ? RecordFlags.firstIsDeadline.rawValue : 0)
      | (selfRelease ? RecordFlags.selfRelease.rawValue : 0)
    slot.startOrder = thread.nextStartOrder()
    slot.leeway = leeway
    slot.period = first
    let deadline = firstIsDeadline ? first : control.now.saturatingAdd(first)
    slot.deadline = deadline
    let timer = TimerRef(slot: slot, version: version)
    unsafe out?.pointee = timer.id
    slot.endWriting(free.with(.running).withNextGeneration, inInboxOf: control)
    control.wakeIfEarlier(leeway.bits == 0 ? deadline : timer.wakeTime(deadline: deadline, leeway, control))
    Trace.noteCreated(timer)
    if control.id != queue { timer.endWithQueue(control) }
    return .ok
  }

  /// Makes a timer on the queue with that id, and activates it when there is a schedule.
  ///
  /// - Parameters:
  ///   - schedule: valid, or `nil` for an idle timer.
  ///   - out: receives the id before the timer can tick, and is untouched on failure.
  /// - Returns: ok, invalidHandle, invalidArgument and unsupported when functions and records do not go with the queue,
  ///   targetGone, limit, noMemory. On failure the context stays the caller's.
  package static func create(
    on queue: UInt64, _ options: TimerOptions, _ schedule: Schedule?, out: UnsafeMutablePointer<UInt64>?
  ) -> Status {
    guard let control = QueueControlBlocks.find(queue) else { return .unknownHandle }
    guard control.givesRecords == options.flags.contains(.givesRecords) else {
      return options.flags.contains(.givesRecords) ? .invalidArgument : .unsupported
    }
    guard let thread = ThreadState.obtain() else { return .noMemory }
    let slot: TimerSlot
    switch control.takeSlot(thread) {
    case .success(let taken): slot = taken
    case .failure(.limit): return .limit
    case .failure(.noMemory): return .noMemory
    }
    // From here until the timer is published the queue cannot end (P8, Sources/README.md).
    if schedule == nil {
      _ = slot.set(TimerWord.writerBit)
    } else if !slot.set(TimerWord.writerBit, TimerWord.inboxBit).isInInbox {
      control.push(slot)
    }
    guard control.id == queue else { return giveUp(slot, control, thread) }
    var word = slot.word.clearing(TimerWord.writerBit)
    var target: TimerTarget?
    if options.needsSideRecord || schedule?.needsSideRecord(on: control) == true {
      switch fillSideRecord(of: slot, options, activated: schedule != nil) {
      case .success(let found): target = found
      case .failure(let status):
        _ = slot.clear(TimerWord.writerBit)
        control.giveBack(slot, thread)
        // The queue was released meanwhile, and has waited for this slot.
        if control.id != queue { control.wakeToDispose() }
        return status
      }
      if schedule != nil && options.registrationHandler != nil { word = word.setting(TimerWord.callbackPendingBit) }
    }
    slot.handler = options.handler
    slot.context = options.context
    slot.sequence = 0
    let version = slot.version
    let isWall = control.isWall
    slot.versionAndFlags =
      version | slot.versionAndFlags & RecordFlags.hasSideRecord.rawValue
      | (options.flags.contains(.selfRelease) ? RecordFlags.selfRelease.rawValue : 0)
      | (isWall ? RecordFlags.onWallClock.rawValue : 0)
    let timer = TimerRef(slot: slot, version: version)
    slot.startOrder = thread.nextStartOrder()
    if let schedule {
      slot.store(schedule)
      slot.deadline =
        isWall
        ? slot.firstDeadline(control)
        : schedule.firstIsDeadline ? schedule.first : control.now.saturatingAdd(schedule.first)
      word = word.with(.running)
    } else {
      word = word.with(.idle)
    }
    unsafe out?.pointee = timer.id
    timer.publish(
      word.withNextGeneration,
      at: word.hasPendingCallback ? QueueControlBlock.atOnce : word.isRunning ? timer.wakeTime(word, control) : .max,
      on: control)
    if isWall { timer.followWallClock() }
    Trace.noteCreated(timer, activated: schedule != nil)
    // The target's last reference may have gone meanwhile, before there was a timer to end (P8b, Sources/README.md).
    if let target, target.isGone { target.end(timer) }
    if control.id != queue { timer.endWithQueue(control) }
    return .ok
  }

  /// The queue was released before anybody could see the timer.
  @inline(never)
  private static func giveUp(_ slot: TimerSlot, _ control: QueueControlBlock, _ thread: ThreadState) -> Status {
    _ = slot.clear(TimerWord.writerBit)
    control.giveBack(slot, thread)
    control.wakeToDispose()
    return .invalidHandle
  }

  /// The queue was released while the timer was made, and may have missed it: it existed, and is released with the queue
  /// (P8, Sources/README.md).
  @inline(never)
  private func endWithQueue(_ control: QueueControlBlock) {
    _ = release()
    control.wakeToDispose()
  }

  /// Gives a new timer its side record; and its target, if it is to have one.
  @inline(never)
  private static func fillSideRecord(
    of slot: TimerSlot, _ options: TimerOptions, activated: Bool
  ) -> Result<TimerTarget?, Status> {
    var target: TimerTarget?
    if options.target != 0 {
      switch TimerTarget.find(options.target) {
      case .success(let found): target = found
      case .failure(let status): return .failure(status)
      }
    }
    guard let sideRecord = slot.makeSideRecord() else { return .failure(.noMemory) }
    var label: UnsafeMutablePointer<CChar>?
    if let text = unsafe options.label {
      unsafe label = unsafe Labels.copy(text)
      if unsafe label == nil {
        slot.endSideRecord()
        return .failure(.noMemory)
      }
    }
    sideRecord.targetID = options.target
    unsafe sideRecord.label = unsafe label
    sideRecord.update { sideRecord in
      sideRecord.finalizer = options.finalizer
      sideRecord.registrationHandler = options.registrationHandler
      sideRecord.cancelHandler = options.cancelHandler
      unsafe sideRecord.target = target.map { unsafe Unmanaged.passRetained($0) }
    }
    target?.attach(slot)
    if activated, options.registrationHandler != nil { sideRecord.addCallback(.armed) }
    return .success(target)
  }
}

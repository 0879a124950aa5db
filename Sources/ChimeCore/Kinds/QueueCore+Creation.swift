internal import CPlatform
import Synchronization

/// The factories. Each gives the new queue's id, or the reason why there is none: limit, noMemory, resource,
/// unsupported.
extension QueueCore {
  package static func makeSerial(_ options: QueueOptions) throws(Status) -> UInt64 {
    try makeOnPool(options, isConcurrent: false)
  }

  package static func makeConcurrent(_ options: QueueOptions) throws(Status) -> UInt64 {
    try makeOnPool(options, isConcurrent: true)
  }

  package static func makeVirtual(_ options: QueueOptions) throws(Status) -> UInt64 {
    try make(options, isVirtual: true, runsInCalls: true) { _ in VirtualDriver() }
  }

  /// A queue with a driver of the caller's kind.
  @inline(never)
  package static func make(
    _ options: QueueOptions, isVirtual: Bool = false, runsInCalls: Bool = false,
    makeWorker: WorkerMaker? = nil, driver: (QueueCore) -> any QueueDriver
  ) throws(Status) -> UInt64 {
    let isWall = !isVirtual && options.clock == .wall
    if !Fork.isChild {
      ThreadEnd.lookForInterpreter()
      unsafe Trace.beginFileIfWanted?()
    }
    let (control, id) = try QueueControlBlocks.acquire(limited: options.timerLimit > 0)
    // A descriptor of the host's tells of steps, or counts sleep, itself.
    let noticesSteps = !isVirtual && !runsInCalls && options.clock != .monotonic
    var status = noticesSteps ? WallClock.add(id) : .ok
    // The wheel's buckets are more than a small object.
    if status == .ok, !Memory.provides(Wheel.bytes) { status = Memory.refusal }
    guard status == .ok else {
      if noticesSteps { WallClock.remove(id) }
      QueueControlBlocks.noteEnd(of: control, id: id)
      QueueControlBlocks.takeBack(control)
      throw status
    }
    control.prepare(options, isVirtual: isVirtual, isWall: isWall, runsInCalls: runsInCalls)
    let core = QueueCore(id: id, control: control, options, makeWorker: makeWorker)
    core.open(driver(core))
    return id
  }
}

extension QueueControlBlock {
  /// Sets up the control block for a new queue, which nobody knows yet.
  fileprivate func prepare(_ options: QueueOptions, isVirtual: Bool, isWall: Bool, runsInCalls: Bool) {
    var traits = QueueTraits()
    if isVirtual { traits.insert(.virtual) }
    if isWall { traits.insert(.wall) }
    if runsInCalls { traits.insert(.runsInCalls) }
    if options.givesRecords { traits.insert(.givesRecords) }
    if !isVirtual || options.honoursLeeway { traits.insert(.honoursLeeway) }
    self.traits = traits
    storage.clock.store(isWall ? Clock.monotonic.id : options.clock.id, ordering: .releasing)
    storage.wallShift.store(0, ordering: .relaxed)
    storage.stepIsPending.store(false, ordering: .relaxed)
    hasHadBackground = false
    beginWallClock()
    storage.stopRequest.reset()
    storage.randomState.store(options.seed, ordering: .relaxed)
    storage.virtualNow.store(options.start, ordering: .releasing)
    // No slots are given out, except to creators that are late by a whole queue's lifetime and give them back.
    if options.timerLimit > 0 { storage.limit.store(options.timerLimit, ordering: .relaxed) }
  }
}

internal import CPlatform
import Synchronization

/// The factories. Each gives the new queue's id, or the reason why there is none: limit, noMemory, resource,
/// unsupported.
extension QueueCore {
  package static func makeSerial(_ options: QueueOptions) throws(Status) -> UInt64 {
    try makeOnPool(options, isConcurrent: false)
  }

  /// A queue on a serial dispatch queue of Chime's own.
  package static func makeDispatch(_ options: QueueOptions) throws(Status) -> UInt64 {
    try make(options) { .serial(WorkQueue(label: options.dispatchLabel, qos: options.qos)) }
  }

  package static func makeConcurrent(_ options: QueueOptions) throws(Status) -> UInt64 {
    try makeOnPool(options, isConcurrent: true)
  }

  package static func makeMain(_ options: QueueOptions) throws(Status) -> UInt64 {
    if Fork.isChild { throw .inChild }
    if !MainThread.hasDispatch { return try Loop.makeMainQueue(options) }
    guard MainQueue.canBeDrained else { throw .mainQueueIsElsewhere }
    return try make(options) { .main() }
  }

  /// - Parameter dispatchQueue: a `dispatch_queue_t`, retained as long as the queue needs it.
  package static func makeWrapping(
    _ dispatchQueue: UnsafeMutableRawPointer, _ options: QueueOptions
  ) throws(Status) -> UInt64 {
    try make(options) { unsafe DispatchContext.wrapping(dispatchQueue, label: options.dispatchLabel) }
  }

  package static func makeVirtual(_ options: QueueOptions) throws(Status) -> UInt64 {
    try make(options, isVirtual: true, runsInCalls: true) { _ in VirtualDriver() }
  }

  /// - Parameter context: where passes run; called once libdispatch can be used; gives `nil` for a queue that is not
  ///   libdispatch's.
  private static func make(_ options: QueueOptions, _ context: () -> DispatchContext?) throws(Status) -> UInt64 {
    let status = Fork.explainedStatusOfDispatch
    // The second question is answered when libchime is compiled, which then leaves out all that follows here.
    guard status == .ok, chime_has_dispatch() != 0 else { throw status }
    guard options.clock != .boottime else { throw .noBootTime }
    guard Descriptors.prepareDispatch() else { throw .resource }
    guard let context = context() else {
      throw Status.unsupported.because("dispatch_queue belongs to another libdispatch than the one in libchime")
    }
    guard !context.isMain || MainQueue.prepare() else { throw .resource }
    return try make(options, handOver: context.handOver) { DispatchDriver($0, context) }
  }

  /// A queue with a driver of the caller's kind.
  @inline(never)
  package static func make(
    _ options: QueueOptions, isVirtual: Bool = false, runsInCalls: Bool = false,
    handOver: (any BlockQueue)? = nil, driver: (QueueCore) -> any QueueDriver
  ) throws(Status) -> UInt64 {
    let isWall = !isVirtual && options.clock == .wall
    if !Fork.isChild {
      ThreadEnd.lookForInterpreter()
      TraceFile.beginIfWanted()
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
    let core = QueueCore(id: id, control: control, options, handOver: handOver)
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

internal import CPlatform
import Synchronization

/// The options of a queue, for both interfaces.
package struct QueueOptions: Sendable {
  package var label: String
  package var qos: QualityOfService
  package var clock: Clock
  /// How many timers may exist at once; 0: no limit.
  package var timerLimit: UInt64 = 0
  /// A virtual queue's first instant, 0 or more.
  package var start: Int64 = 0
  /// Where a virtual queue's random numbers begin.
  package var seed: UInt64 = 0
  /// Virtual queues; the others do.
  package var honoursLeeway = false
  /// Host-driven queues: only the thread that creates the queue may drive it.
  package var isBound = false
  /// Host-driven queues: timers have no functions, ticks are taken as records.
  package var givesRecords = false
  /// Precise queues: the SCHED_FIFO priority of the thread; 0: the usual scheduling.
  package var realtimePriority: Int32 = 0
  /// Precise queues: a bit for each processor that the thread may run on; 0: all.
  package var affinity: UInt64 = 0
  /// Called around the handlers that run on a thread of libdispatch or of Chime.
  package var hooks: QueueHooks?

  package init(label: String = "", qos: QualityOfService = .unspecified, clock: Clock = .monotonic) {
    self.label = label
    self.qos = qos
    self.clock = clock
  }

  /// For debuggers, and so not of any length: libdispatch copies it.
  package var dispatchLabel: String { 1...255 ~= label.utf8.count ? label : "chime.queue" }
}

/// What a host wants called around handlers on threads that it did not create, to attach them to a language's runtime.
package struct QueueHooks: Sendable {
  let enter: ContextFunction?
  let leave: ContextFunction?
  let context: Context

  package init(enter: ContextFunction?, leave: ContextFunction?, context: Context) {
    self.enter = enter
    self.leave = leave
    self.context = context
  }
}

/// The factories. Each gives the new queue's id, or the reason why there is none: limit, noMemory, resource,
/// unsupported.
extension QueueCore {
  package static func makeSerial(_ options: QueueOptions) -> Result<UInt64, Status> {
    makeOnPool(options, options.qos, isConcurrent: false)
  }

  /// A queue on a serial dispatch queue of Chime's own.
  package static func makeDispatch(_ options: QueueOptions) -> Result<UInt64, Status> {
    make(options) { .serial(WorkQueue(label: options.dispatchLabel, qos: options.qos)) }
  }

  package static func makeConcurrent(_ options: QueueOptions) -> Result<UInt64, Status> {
    makeGlobal(options.qos, options)
  }

  package static func makeGlobal(_ qos: QualityOfService, _ options: QueueOptions) -> Result<UInt64, Status> {
    makeOnPool(options, qos, isConcurrent: true)
  }

  package static func makeMain(_ options: QueueOptions) -> Result<UInt64, Status> {
    if Fork.isChild { return .failure(.inChild) }
    if !MainQueue.isOnDispatch { return Loop.makeMainQueue(options) }
    guard MainQueue.canBeDrained else { return .failure(.mainQueueIsElsewhere) }
    return make(options) { .main() }
  }

  /// - Parameter dispatchQueue: a `dispatch_queue_t`, retained as long as the queue needs it.
  package static func makeWrapping(
    _ dispatchQueue: UnsafeMutableRawPointer, _ options: QueueOptions
  ) -> Result<UInt64, Status> {
    make(options) { unsafe DispatchContext.wrapping(dispatchQueue, label: options.dispatchLabel) }
  }

  package static func makeVirtual(_ options: QueueOptions) -> Result<UInt64, Status> {
    make(options, isVirtual: true, runsInCalls: true) { _ in VirtualDriver() }
  }

  /// - Parameter context: where passes run; called once libdispatch can be used; gives `nil` for a queue that is not
  ///   libdispatch's.
  private static func make(_ options: QueueOptions, _ context: () -> DispatchContext?) -> Result<UInt64, Status> {
    let status = Fork.explainedStatusOfDispatch
    // The second question is answered when libchime is compiled, which then leaves out all that follows here.
    guard status == .ok, chime_has_dispatch() != 0 else { return .failure(status) }
    guard options.clock != .boottime else { return .failure(.noBootTime) }
    guard Descriptors.prepareDispatch() else { return .failure(.resource) }
    guard let context = context() else {
      return .failure(
        Status.unsupported.because("dispatch_queue belongs to another libdispatch than the one in libchime"))
    }
    guard !context.isMain || MainQueue.prepare() else { return .failure(.resource) }
    return make(options, handOver: context.handOver) { DispatchDriver($0, context) }
  }

  /// A queue with a driver of the caller's kind.
  package static func make(
    _ options: QueueOptions, isVirtual: Bool = false, runsInCalls: Bool = false,
    handOver: (any BlockQueue)? = nil, driver: (QueueCore) -> any QueueDriver
  ) -> Result<UInt64, Status> {
    let isWall = !isVirtual && options.clock == .wall
    return QueueControlBlocks.acquire(limited: options.timerLimit > 0).flatMap { control, id in
      // A descriptor of the host's tells of steps itself.
      let noticesSteps = isWall && !runsInCalls
      var status = noticesSteps ? WallClock.add(id) : .ok
      // The wheel's buckets are more than a small object.
      if status == .ok, !Memory.provides(Wheel.bytes) { status = Memory.refusal }
      guard status == .ok else {
        if noticesSteps { WallClock.remove(id) }
        QueueControlBlocks.release(control, id: id)
        return .failure(status)
      }
      control.prepare(options, isVirtual: isVirtual, isWall: isWall, runsInCalls: runsInCalls)
      let core = QueueCore(id: id, control: control, options, handOver: handOver)
      core.open(driver(core))
      return .success(id)
    }
  }
}

extension QueueControlBlock {
  /// Sets up the control block for a new queue, which nobody knows yet.
  fileprivate func prepare(_ options: QueueOptions, isVirtual: Bool, isWall: Bool, runsInCalls: Bool) {
    unsafe storage.pointee.isVirtual.store(isVirtual, ordering: .relaxed)
    unsafe storage.pointee.clock.store(isWall ? Clock.monotonic.id : options.clock.id, ordering: .relaxed)
    unsafe storage.pointee.isWall.store(isWall, ordering: .relaxed)
    unsafe storage.pointee.wallShift.store(0, ordering: .relaxed)
    unsafe storage.pointee.stepIsPending.store(false, ordering: .relaxed)
    unsafe storage.pointee.wallOffset.store(isWall ? WallClock.offset.low : 0, ordering: .relaxed)
    unsafe storage.pointee.runsInCalls.store(runsInCalls, ordering: .relaxed)
    unsafe storage.pointee.givesRecords.store(options.givesRecords, ordering: .relaxed)
    unsafe storage.pointee.isPlain.store(!isWall && !options.givesRecords, ordering: .relaxed)
    unsafe storage.pointee.honoursLeeway.store(!isVirtual || options.honoursLeeway, ordering: .relaxed)
    unsafe storage.pointee.stopRequest.reset()
    unsafe storage.pointee.randomState.store(options.seed, ordering: .relaxed)
    unsafe storage.pointee.virtualNow.store(options.start, ordering: .releasing)
    if options.timerLimit > 0 {
      unsafe storage.pointee.slots.withLock { slots in
        // No slots are given out, except to creators that are late by a whole queue's lifetime and give them back.
        slots.limit = options.timerLimit
      }
    }
  }
}

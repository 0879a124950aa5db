internal import CPlatform
import Synchronization

/// Wakes a queue that lives on libdispatch: one DispatchSourceTimer behind its machine, and a source for wake-ups that
/// cannot wait. Armed by passes, which exclude each other; woken from anywhere.
final class DispatchDriver: QueueDriver {
  private let dispatchContext: DispatchContext
  private let machine: TimerMachine
  /// Requests an immediate pass; `nil` after `close`. It holds the queue until then.
  private let waker: Locked<(any Worker)?>
  private let control: QueueControlBlock
  /// The time that the source is set for; `.max` for none. Used by the pass only (P18b).
  private let armed = Atomic<Int64>(.max)

  init(_ core: QueueCore, _ context: DispatchContext) {
    control = core.control
    dispatchContext = context
    // Holds the queue until `close`.
    machine = TimerMachine(
      WorkSourceFactory(context.timerQueue),
      defaultHandler: TimerMachineHandler {
        // Its time has come, whatever the clock says when the pass reads it.
        (core.driver as? DispatchDriver)?.armed.store(.max, ordering: .relaxed)
        try? Self.pass(core, context)
      })
    waker = Locked(context.queue.makeWorker { () throws(Forked) in try Self.pass(core, context) })
  }

  @inline(never)
  private static func pass(_ core: QueueCore, _ context: DispatchContext) throws(Forked) {
    let before = core.counters.ticks
    try core.pass()
    if context.isMain, core.counters.ticks != before { MainQueue.noteTick() }
  }

  /// Setting the source is a message to libdispatch's manager thread, which wakes up for it. So a source that is set for
  /// an earlier time, which has not come, is left alone: it costs one empty wake-up at most.
  func arm(at time: Int64?) {
    // The compiler knows the answer, and in a libchime without libdispatch leaves out what follows.
    if chime_has_dispatch() == 0 { return }
    let time = time ?? .max
    let old = armed.load(ordering: .relaxed)
    if time == .max ? old == .max : old <= time && old > control.now { return }
    armed.store(time, ordering: .relaxed)
    // libdispatch and the monotonic clock count from one zero.
    let plan = TimerMachinePlan(deadline: max(time, 1), interval: .max, leeway: 0)
    withoutCancellation { _ = machine.perform(.restart, plan: plan) }
  }

  func wake(_ core: QueueCore) {
    let waker = waker.withLock { $0 }
    withoutCancellation { waker?.run() }
  }

  func close() {
    let worker = waker.withLock { $0.take() }
    withoutCancellation {
      machine.shutDown()
      worker?.close()
    }
  }

  /// Waits in libdispatch, which has no timeout there, unless the queue is busy: what comes to it would be served first. The
  /// thread is registered as waiting meanwhile if others can wait for it, because it is on the main queue, a queue of the
  /// host's or a run loop.
  func runInTurn(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    guard chime_has_dispatch() != 0, timeout == .max, dispatchContext.isOwn, ThreadState.frames.isEmpty,
      !core.passLock.isTaken, !core.isSuspended
    else { return SyncCall.wait(core, timeout: timeout, body) }
    let node = WaitNode.current
    let waiter = node.blocksNothing ? nil : WaitRegistry.Waiter(.queue(core), node)
    if let waiter, !WaitRegistry.enter(waiter) { return waiter.wouldDeadlock }
    return .of { () throws(Forked) in
      var (hasEnded, isNext) = (false, false)
      try Fork.guarded {
        withoutCancellation { host in
          dispatchContext.queue.sync {
            hasEnded = core.closing.hasBegun
            isNext = !hasEnded && core.functions.isEmpty
            if let waiter { WaitRegistry.leave(waiter) }
            if isNext {
              isNext = (try? core.runOutsidePass { host.allow { try? core.runHere(body) } }) ?? true
            }
          }
        }
      }
      return isNext ? .ok : hasEnded ? .queueHasEnded : SyncCall.wait(core, timeout: timeout, body)
    }
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    if dispatchContext.isMain {
      text.add(MainQueue.obstacle)
    } else if !dispatchContext.isOwn {
      text.add("the host's dispatch queue that it is on is busy, suspended, or not drained")
    } else {
      text.add("its queue is busy, or about to call it")
    }
  }
  var isOnQueue: Bool { dispatchContext.isHere }
  var executionContext: ExecutionContext? { dispatchContext.shared }
  var hostCancellation: HostCancellation? { dispatchContext.isMain ? MainQueue.hostCancellation : nil }
  /// Once the main thread has ended, libdispatch runs the main queue on threads of its own.
  var borrowsThread: Bool { chime_has_dispatch() != 0 && !(dispatchContext.isMain && MainThread.isCurrent) }
  var mayNeverRun: Bool { !dispatchContext.isOwn }
  var shouldYield: Bool { dispatchContext.isMain && MainQueue.isToYield }
}

/// Where in libdispatch the passes of a queue run: a queue of Chime's own, the main queue, or one of the host's.
struct DispatchContext: Sendable {
  /// Where the timer source's handler runs: on the context's own queue, or on a serial queue that targets it.
  let timerQueue: WorkQueue
  /// The context's own queue, behind the blocks that are on it.
  let queue: WorkQueue
  /// Where handlers are handed over to; `nil` if they run in the pass.
  var handOver: WorkQueue?
  /// The other work whose blocks exclude the passes; `nil` for none.
  var shared: ExecutionContext?
  /// Whether the queue is Chime's: nobody else's blocks are on it, and no thread is inside it without Chime knowing.
  let isOwn: Bool

  var isMain: Bool { shared == .main }

  /// Whether the caller is in it.
  var isHere: Bool { isMain ? MainThread.isHere : shared != nil && queue.isCurrent }

  /// A serial queue of Chime's own.
  static func serial(_ queue: WorkQueue) -> DispatchContext {
    DispatchContext(timerQueue: queue, queue: queue, isOwn: true)
  }

  /// libdispatch's main queue.
  static func main() -> DispatchContext {
    let queue = WorkQueue.main
    return DispatchContext(timerQueue: queue, queue: queue, shared: .main, isOwn: false)
  }

  /// A queue of the host's; `nil` when it belongs to another copy of libdispatch.
  static func wrapping(_ pointer: UnsafeMutableRawPointer, label: String) -> DispatchContext? {
    guard unsafe WorkQueue.isOurs(pointer) else { return nil }
    let host = unsafe WorkQueue(pointer)
    if host.isMain { return main() }
    let queue = WorkQueue(label: label, on: host)
    if host.isConcurrentQueue { return DispatchContext(timerQueue: queue, queue: queue, handOver: host, isOwn: false) }
    host.mark()
    return DispatchContext(timerQueue: queue, queue: host, shared: host.executionContext, isOwn: false)
  }
}

/// The factories of queues on libdispatch. They give what the others do: see `makeSerial`.
extension QueueCore {
  /// A queue on a serial dispatch queue of Chime's own.
  package static func makeDispatch(_ options: QueueOptions) throws(Status) -> UInt64 {
    try make(options) { .serial(WorkQueue(label: options.dispatchLabel, qos: options.qos)) }
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
    return try make(options, makeWorker: context.handOver.map { queue in { queue.makeWorker($0) } }) {
      DispatchDriver($0, context)
    }
  }
}

extension Descriptors {
  /// Whether the system grants the calls by which libdispatch waits, which a sandbox may refuse: it would end the process,
  /// or never tick.
  private static func callsAreGranted() -> Bool {
    var poller = chime_poller(file: -1, bell: -1, timer: -1)
    guard unsafe chime_poller_open(&poller) else {
      _ = Status.noTimerFile
      return false
    }
    withoutCancellation { unsafe chime_poller_close(&poller) }
    return true
  }

  /// Makes libdispatch open everything it will ever need for timers, at the first call of the process: an epoll, an
  /// eventfd, a timerfd, and the thread that waits for them. False if that fails. Waits for that thread, some 100 us.
  package static func prepareDispatch() -> Bool {
    guard callsAreGranted() else { return false }
    return dispatchIsReady.withLock { isReady in
      if isReady { return true }
      // Without threads libdispatch waits for one in whoever calls it.
      guard areLeft(4), OwnThread.canBeMade(3) else { return false }
      // One queue, and so one thread for all of it. A timer that is not due makes libdispatch open the timerfd; when
      // another, which is due now, has fired twice, it has.
      let queue = WorkQueue(label: "chime.first")
      let later = WorkSource.timer(queue)
      let now = WorkSource.timer(queue)
      let fired = WakeUp()
      now.setEventHandler { fired.signal() }
      // Is not called. Without one, a libdispatch under LIBDISPATCH_STRICT ends the process.
      later.setEventHandler {}
      later.schedule(deadline: Clock.monotonic.now + 3600 * 1_000_000_000, interval: .max, leeway: 0)
      later.activate()
      now.activate()
      defer {
        later.cancel()
        now.cancel()
      }
      for _ in 0..<2 {
        now.schedule(deadline: Clock.monotonic.now, interval: .max, leeway: 0)
        if !fired.sleep(until: Clock.monotonic.now + 5 * 1_000_000_000) {
          _ = Status.resource.because("libdispatch did not get a thread within 5 s")
          return false
        }
      }
      isReady = true
      return true
    }
  }
}

internal import CPlatform
import Synchronization

/// Runs the main queue on the process's main thread, until told to stop.
///
/// Where there is libdispatch, that is libdispatch's main queue. libdispatch on Linux offers the drain that
/// CoreFoundation's run loop uses: a descriptor that becomes readable when the main queue has work, and a function that
/// does that work. Elsewhere, and in a forked child, it is the main thread's run loop in a mode that only main queues
/// are in (`Loop.runMainQueue`).
package enum MainQueue: ProcessState {
  /// Whether `run` is under way (P18b).
  private static let isRunning = Atomic<Bool>(false)
  private static let stopRequest = StopRequest()
  /// A timer that `requestStop` sets for now; -1 until a queue is created on the main queue, or it is run.
  private static let stopFile = Atomic<Int32>(-1)
  private static let preparing = Locked(())

  /// Whether the main queue can be drained at all. Libdispatch binds it to the thread that loads it; on any other
  /// thread draining traps. A thread other than the main one cannot find out, and assumes that it can.
  static var canBeDrained: Bool { !MainThread.hasDispatch || !MainThread.isCurrent || MainThread.isOnQueue }

  /// Whether a queue was ever created on it, or it was ever run.
  private static var isUsed: Bool { stopFile.load(ordering: .relaxed) >= 0 }

  // SAFETY: the main thread's.
  private nonisolated(unsafe) static var hostOfDrain: HostCancellation?

  /// The main thread's cancellation state before it began to drain the queue; `nil` if it is not `run` that drains it.
  static var hostCancellation: HostCancellation? { MainThread.isCurrent ? unsafe hostOfDrain : nil }

  static var isBeingRun: Bool { isRunning.load(ordering: .relaxed) }

  /// Why no pass of a queue on it comes.
  static var obstacle: StaticString {
    isBeingRun ? "the main queue is busy" : "its main queue is not drained: chime_main_run does not run"
  }

  static var stopIsPending: Bool { stopRequest.seemsPending }

  /// The loop that drains the queue, and whether that ends with a queue's first pass that delivers a tick. The main
  /// thread's.
  private nonisolated(unsafe) static var draining: (loop: Loop, untilTick: Bool)?
  private nonisolated(unsafe) static var hasTicked = false

  /// Whether no other callback is to begin: the run that drains the queue is to end. The main thread.
  static var isToYield: Bool {
    if isBeingRun { return stopIsPending }
    guard let (loop, untilTick) = unsafe draining else { return false }
    return unsafe loop.isStopping.load(ordering: .relaxed) || untilTick && hasTicked
  }

  /// A pass of a main queue has delivered a tick.
  static func noteTick() { unsafe hasTicked = true }

  /// Opens what `run` needs; or says why it cannot run. The main thread.
  package static func prepareToRun() -> Status {
    if Fork.isChild { return .inChild }
    guard MainThread.isCurrent else { return Status.wrongThread.because("this is not the process's main thread") }
    guard canBeDrained else { return .mainQueueIsElsewhere }
    guard !isDraining, !RunLoopDriver.isInMainQueue else { return .mainQueueRuns }
    return prepare() ? .ok : .resource
  }

  /// Runs the main queue until `requestStop`. The main thread. Waits for time.
  package static func run() -> Status {
    let status = withoutCancellation(prepareToRun)
    if status != .ok { return status }
    guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return .mainQueueRuns }
    defer { isRunning.store(false, ordering: .releasing) }
    let stopFile = stopFile.load(ordering: .relaxed)
    if !MainThread.hasDispatch { return Loop.runMainQueue(stopFile) }
    let queueFile = chime_dispatch_main_queue_file()
    guard queueFile >= 0 else { return Status.resource.because("libdispatch has no descriptor for its main queue") }
    while true {
      if takeStop() { return .stopped }
      if Descriptors.wait(stopFile, queueFile) {
        drain(queueFile)
        // A callback has ended this thread, which comes to its end in the caller, outside libdispatch.
        if ThreadEnd.isCaught { return .stopped }
      } else {
        emptyStopFile()
      }
    }
  }

  /// Takes a stop that is pending, for the run that ends with it. The main thread.
  static func takeStop() -> Bool {
    guard stopRequest.isPending() else { return false }
    emptyStopFile()
    return stopRequest.take()
  }

  /// A stop is pending before the timer is set for it, so one that comes with it is seen after this.
  static func emptyStopFile() { TimerFile.set(stopFile.load(ordering: .relaxed), .max) }

  // MARK: For the main thread's loop

  private static var isDraining: Bool { unsafe hostOfDrain != nil }

  /// The descriptor that is readable while the queue has work, for the main thread's loop: -1 if the queue cannot be
  /// drained, because another thread loaded libdispatch or a block of the queue is running; `nil` if there are not
  /// enough descriptors. The main thread.
  static func fileToDrain() -> Int32? {
    if isDraining || !MainThread.isOnQueue { return -1 }
    return prepare() ? chime_dispatch_main_queue_file() : nil
  }

  /// Does the queue's work. The main thread, in no block of the queue.
  /// - Parameter loop: whose run drains it, if it is a loop's.
  /// - Returns: whether a queue on it has delivered a tick.
  @discardableResult
  static func drain(_ file: Int32, of loop: Loop? = nil, untilTick: Bool = false) -> Bool {
    unsafe draining = loop.map { ($0, untilTick) }
    unsafe hasTicked = false
    defer { unsafe draining = nil }
    withoutCancellation { host in
      unsafe hostOfDrain = host
      chime_dispatch_drain_main_queue(file)
      unsafe hostOfDrain = nil
    }
    return unsafe hasTicked
  }

  /// Makes `run` return, or the next one if none runs; ignored if a stop is pending. Any thread, and signal handlers:
  /// an atomic exchange and a system call.
  package static func requestStop() -> Status {
    if Fork.isChild { return .inChildOfFork }
    guard stopRequest.make() else { return .ignored }
    let file = stopFile.load(ordering: .sequentiallyConsistent)
    if file >= 0 { TimerFile.wake(file) }
    return .ok
  }

  static func makeGlobals() { preparing.withLock { _ in } }

  /// libdispatch's main queue cannot be drained any more: that of a child is on its run loop.
  static func reinitialize() {
    preparing.reinitialize()
    isRunning.store(false, ordering: .relaxed)
    unsafe (draining, hostOfDrain) = (nil, nil)
    stopRequest.reset()
    stopFile.store(-1, ordering: .relaxed)
  }

  /// Opens the descriptors that a run needs, those of libdispatch among them, at the first call of the process; false if
  /// there are not enough. Any thread.
  static func prepare() -> Bool {
    guard Fork.watch() else { return false }
    return preparing.withLock { _ in
      if isUsed { return true }
      if MainThread.hasDispatch {
        guard Descriptors.prepareDispatch(), Descriptors.areLeft(2) else { return false }
        // None where the main queue is not bound to a thread any more (after `dispatchMain`).
        _ = chime_dispatch_main_queue_file()
      }
      guard let file = TimerFile.make(.monotonic) else {
        _ = Status.noTimerFile
        return false
      }
      stopFile.store(file, ordering: .sequentiallyConsistent)
      ExecutionContexts.hasMainQueue.store(true, ordering: .relaxed)
      return true
    }
  }
}

/// The main queue where it is not libdispatch's: a queue on the main thread's loop, in a mode of its own and in the common
/// modes, so that `chime_main_run` runs it, and so does the main thread's loop, as that would drain libdispatch's.
extension Loop {
  static func makeMainQueue(_ options: QueueOptions) throws(Status) -> UInt64 {
    guard MainQueue.prepare() else { throw .resource }
    return try main.makeQueue(in: LoopModes([.common, .mainQueue]), options, isMainQueue: true)
  }

  /// Runs the main queue until `MainQueue.takeStop`. The main thread. Waits for time.
  /// - Parameter stopFile: readable when a stop was asked for.
  static func runMainQueue(_ stopFile: Int32) -> Status {
    .of { () throws(Status) in
      let loop = try current
      guard let mode = loop.state.withLock({ $0.makeIndex(of: .mainQueue) }) else { return Memory.refusal }
      return loop.run(Run(mode: mode, isOfMainQueue: true), until: .max, stopFile)
    }
  }
}

extension RunLoopDriver {
  /// Whether the caller is in a callback of a main queue that is on the loop.
  static var isInMainQueue: Bool {
    ThreadState.frames.contains { ($0.control.core?.driver as? RunLoopDriver)?.isMainQueue == true }
  }
}

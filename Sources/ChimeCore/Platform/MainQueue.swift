internal import CPlatform
import Synchronization

/// Runs the main queue on the process's main thread, until told to stop.
///
/// Where there is libdispatch, that is libdispatch's main queue. libdispatch on Linux offers the drain that
/// CoreFoundation's run loop uses: a descriptor that becomes readable when the main queue has work, and a function that
/// does that work. Elsewhere, and in a forked child, it is the main thread's run loop in a mode that only main queues
/// are in (`Loop.runMainQueue`).
package enum MainQueue: ProcessState {
  private static let isMarked = Atomic<Bool>(false)

  /// Whether the main queue is libdispatch's.
  static var isOnDispatch: Bool { Fork.statusOfDispatch == .ok }

  /// Makes `isCurrent` know the main queue. Calling it again does no harm.
  private static func mark() {
    if isMarked.load(ordering: .acquiring) { return }
    unsafe chime_dispatch_set_specific(chime_dispatch_main_queue(), chime_main_queue_key(), chime_dispatch_main_queue())
    isMarked.store(true, ordering: .releasing)
  }
  /// Whether `run` is under way (P18b, Sources/README.md).
  private static let isRunning = Atomic<Bool>(false)
  private static let stopRequest = StopRequest()
  private static let isPrepared = Locked(false)
  /// The end of a pipe that `requestStop` writes to, + 1; 0 until that is there.
  private static let stopWriter = Atomic<Int32>(0)
  /// What both ends are: known before the writer is.
  // SAFETY: written under the lock of `isPrepared`, read in a forked child's only thread.
  private nonisolated(unsafe) static var stopPipe: FileIdentity?
  /// Its other end.
  private static let stopReader = Atomic<Int32>(-1)

  /// Whether the caller is on the main queue: on the thread that loaded libdispatch, inside or outside a block.
  static var isCurrent: Bool {
    if !isOnDispatch { return false }
    mark()
    return unsafe chime_dispatch_specific(chime_main_queue_key()) != nil
  }

  /// Whether the caller's work excludes that of the main queue: on the process's main thread, or in a block of the
  /// queue on whatever thread drains it. (`dispatchMain` ends the main thread on Linux, and so does an async `main`.)
  package static var isHere: Bool { isMainThread || isCurrent }

  static var isMainThread: Bool { chime_is_main_thread() }

  /// Whether the main queue can be drained at all. Libdispatch binds it to the thread that loads it; on any other
  /// thread draining traps. A thread other than the main one cannot find out, and assumes that it can.
  static var canBeDrained: Bool { !isOnDispatch || !isMainThread || isCurrent }

  /// Whether a queue was ever created on it, or it was ever run.
  private static let wasUsed = Atomic<Bool>(false)

  static var isUsed: Bool { wasUsed.load(ordering: .relaxed) }

  // SAFETY: the main thread's.
  private nonisolated(unsafe) static var hostOfDrain: HostCancellation?

  /// The main thread's cancellation state before it began to drain the queue; `nil` if it is not `run` that drains it.
  static var hostCancellation: HostCancellation? { isMainThread ? unsafe hostOfDrain : nil }

  static var isBeingRun: Bool { isRunning.load(ordering: .relaxed) }

  /// Why no pass of a queue on it comes.
  static var obstacle: StaticString {
    isBeingRun ? "the main queue is busy" : "its main queue is not drained: chime_main_run does not run"
  }

  static var stopIsPending: Bool { stopRequest.seemsPending }

  /// Opens what `run` needs; or says why it cannot run. The main thread.
  package static func prepareToRun() -> Status {
    if Fork.isChild { return .forked }
    guard isMainThread else { return .wrongThread }
    guard canBeDrained else { return .mainQueueIsElsewhere }
    guard !isDraining, !RunLoopDriver.isInMainQueue else { return .wouldDeadlock }
    return prepare() ? .ok : .resource
  }

  /// Runs the main queue until `requestStop`. The main thread. Waits for time.
  package static func run() -> Status {
    let status = withoutCancellation(prepareToRun)
    if status != .ok { return status }
    guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else { return .wouldDeadlock }
    defer { isRunning.store(false, ordering: .releasing) }
    let stopFile = stopReader.load(ordering: .relaxed)
    if !isOnDispatch { return Loop.runMainQueue(stopFile) }
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

  /// A stop is pending before there is something to read, so one that comes with it is seen after this.
  static func emptyStopFile() {
    let file = stopReader.load(ordering: .relaxed)
    var byte: UInt8 = 0
    withoutCancellation { while unsafe read(file, &byte, 1) == 1 {} }
  }

  // MARK: For the main thread's loop

  private static var isDraining: Bool { unsafe hostOfDrain != nil }

  /// The descriptor that is readable while the queue has work, for the main thread's loop: -1 if the queue cannot be
  /// drained, because another thread loaded libdispatch or a block of the queue is running; `nil` if there are not
  /// enough descriptors. The main thread.
  static func fileToDrain() -> Int32? {
    if isDraining || !isCurrent { return -1 }
    return prepare() ? chime_dispatch_main_queue_file() : nil
  }

  /// Does the queue's work. The main thread, in no block of the queue.
  static func drain(_ file: Int32) {
    withoutCancellation { host in
      unsafe hostOfDrain = host
      chime_dispatch_drain_main_queue(file)
      unsafe hostOfDrain = nil
    }
  }

  /// Makes `run` return, or the next one if none runs; ignored if a stop is pending. Any thread, and signal handlers:
  /// an atomic exchange and a write.
  package static func requestStop() -> Status {
    if Fork.isChild { return .forked }
    guard stopRequest.make() else { return .ignored }
    let descriptor = stopWriter.load(ordering: .sequentiallyConsistent) - 1
    if descriptor >= 0 {
      let saved = Errno.current
      var byte: UInt8 = 1
      withoutCancellation { _ = unsafe write(descriptor, &byte, 1) }
      Errno.current = saved
    }
    return .ok
  }

  static func makeGlobals() { isPrepared.withLock { _ in } }

  /// libdispatch's main queue cannot be drained any more: that of a child is on its run loop.
  static func reinitialize() {
    isPrepared.reinitialize(false)
    isRunning.store(false, ordering: .relaxed)
    stopRequest.reset()
    wasUsed.store(false, ordering: .relaxed)
    for end in [stopReader.exchange(-1, ordering: .relaxed), stopWriter.exchange(0, ordering: .relaxed) - 1]
    where unsafe end >= 0 && FileIdentity(of: end) == stopPipe { close(end) }
  }

  /// Opens the descriptors that a run needs, those of libdispatch among them, at the first call of the process; false if
  /// there are not enough. Any thread.
  static func prepare() -> Bool {
    Fork.watch()
    return isPrepared.withLock { isPrepared in
      if isPrepared { return true }
      var ends: [Int32] = [-1, -1]
      if isOnDispatch {
        guard Descriptors.prepareDispatch(), Descriptors.areLeft(3) else { return false }
      }
      guard unsafe pipe(&ends) == 0 else {
        _ = Status.resource.because("a pipe could not be opened: %e", Int64(Errno.current))
        return false
      }
      for end in ends {
        _ = chime_fcntl(end, F_SETFD, FD_CLOEXEC)
        _ = chime_fcntl(end, F_SETFL, O_NONBLOCK)
      }
      unsafe stopPipe = FileIdentity(of: ends[0])
      stopReader.store(ends[0], ordering: .relaxed)
      stopWriter.store(ends[1] + 1, ordering: .sequentiallyConsistent)
      // None where the main queue is not bound to a thread any more (after `dispatchMain`).
      if isOnDispatch { _ = chime_dispatch_main_queue_file() }
      isPrepared = true
      wasUsed.store(true, ordering: .relaxed)
      return true
    }
  }
}

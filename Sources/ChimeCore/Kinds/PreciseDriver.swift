internal import CPlatform
import Synchronization

/// Drives a queue on a thread of its own, which waits for absolute deadlines with 1 ns of timer slack and, where
/// permitted, with real-time priority.
@safe final class PreciseDriver: QueueDriver, @unchecked Sendable {
  // Unchecked for `outcome` and `core`, which one thread hands to the other, and for `armed`, which is the thread's.
  private var armed = Int64.max
  /// Whether a pass is wanted, and whether the queue has ended. Set before the thread is woken, read before it sleeps (P5c).
  private let isWanted = Atomic<Bool>(true)
  private let isClosed = Atomic<Bool>(false)
  private let wakeUp = WakeUp()
  /// How the thread has begun: set before `start` is woken.
  private var outcome = Status.ok
  /// Set before `isOpen` is signalled, taken by the thread after that.
  private var core: QueueCore?
  private let isOpen = WakeUp()
  /// Compared only with the caller's own (P18b).
  private let thread = Atomic<UInt64>(0)

  /// Starts the thread, which waits for `open` or ends at once.
  /// - Returns: ok; resource: no thread; permission: no such priority.
  func start(_ options: QueueOptions) -> Status {
    let begun = WakeUp()
    let name = options.label.isEmpty ? "chime.precise" : options.label
    let started = OwnThread.start(name: name) { [self] in
      outcome = PreciseDriver.prepareThread(options)
      begun.signal()
      if outcome != .ok { return }
      isOpen.wait()
      if let core = core.take() { loop(core, name) }
    }
    if started != .ok { return started }
    begun.wait()
    return outcome
  }

  /// Gives the thread the queue that it drives; `nil`, and it ends, if that could not be made. Called once after a
  /// start that went well.
  func open(_ core: QueueCore?) {
    self.core = core
    isOpen.signal()
  }

  private static func prepareThread(_ options: QueueOptions) -> Status {
    chime_set_timer_slack(1)
    if options.realtimePriority > 0, chime_set_realtime(options.realtimePriority) != 0 { return .permission }
    return .ok
  }

  private func loop(_ core: QueueCore, _ name: String) {
    thread.store(ThreadNumber.current, ordering: .relaxed)
    while true {
      if isClosed.load(ordering: .sequentiallyConsistent) { return }
      if !isWanted.exchange(false, ordering: .sequentiallyConsistent), core.control.now < armed {
        _ = wakeUp.sleep(until: core.control.monotonicTime(armed))
        continue
      }
      // The pass that comes now arms again if it wants another one; a pass that closes the queue does not.
      armed = .max
      // What has come to the thread while it waited is not for the callbacks that follow.
      if ThreadEnd.isPending, isReplaced(core, name) { return }
      do { try core.pass() } catch { return }
    }
  }

  /// The thread is to end: another one, which inherits all that it is, works on in its place.
  private func isReplaced(_ core: QueueCore, _ name: String) -> Bool {
    isWanted.store(true, ordering: .sequentiallyConsistent)
    return OwnThread.start(name: name, isLikeItsMaker: true) { [self] in loop(core, name) } == .ok
  }

  // MARK: QueueDriver

  func arm(at time: Int64?) {
    // By the thread itself, inside a pass.
    armed = time ?? .max
  }

  func wake(_ core: QueueCore) {
    isWanted.store(true, ordering: .sequentiallyConsistent)
    wakeUp.signal()
  }

  func close() {
    isClosed.store(true, ordering: .sequentiallyConsistent)
    wakeUp.signal()
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    text.add("the thread of its queue is busy or has not got a processor")
  }
  var isOnQueue: Bool { thread.load(ordering: .relaxed) == ThreadNumber.current }
}

extension QueueCore {
  /// A queue on a thread of its own.
  package static func makePrecise(_ options: QueueOptions) throws(Status) -> UInt64 {
    if Fork.isChild { throw .inChild }
    let driver = PreciseDriver()
    let status = driver.start(options)
    if status != .ok { throw refusal(status, options.realtimePriority) }
    var core: QueueCore?
    defer { driver.open(core) }
    return try make(options) { made in
      core = made
      return driver
    }
  }

  private static func refusal(_ status: Status, _ priority: Int32) -> Status {
    switch status {
    case .permission:
      status.because("options.realtime_priority (%n) needs RLIMIT_RTPRIO or CAP_SYS_NICE", Int64(priority))
    default: status
    }
  }
}

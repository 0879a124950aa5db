internal import CPlatform
import Synchronization

/// Drives a queue on a thread of its own, which waits for absolute deadlines with 1 ns of timer slack and, where
/// permitted, with real-time priority.
@safe final class PreciseDriver: QueueDriver, @unchecked Sendable {
  private struct State {
    var armed = Int64.max
    var isWoken = true
    var isClosed = false
  }
  private let state = Condition(State())
  // Unchecked for `outcome` and `core`, which one thread hands to the other.
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
      let ended: Bool = state.wait { state in
        if !state.isWoken, !state.isClosed, core.control.now < state.armed {
          return .until(core.control.monotonicTime(state.armed))
        }
        state.isWoken = false
        // The pass that comes now arms again if it wants another one; a pass that closes the queue does not.
        state.armed = .max
        return .done(state.isClosed)
      }
      if ended { return }
      // What has come to the thread while it waited is not for the callbacks that follow.
      if ThreadEnd.isPending, isReplaced(core, name) { return }
      do { try core.pass() } catch { return }
    }
  }

  /// The thread is to end: another one, which inherits all that it is, works on in its place.
  private func isReplaced(_ core: QueueCore, _ name: String) -> Bool {
    state.change { $0.isWoken = true }
    return OwnThread.start(name: name, isLikeItsMaker: true) { [self] in loop(core, name) } == .ok
  }

  // MARK: QueueDriver

  func arm(at time: Int64?) {
    // By the thread itself, inside a pass.
    state.withLock { $0.armed = time ?? .max }
  }

  func wake(_ core: QueueCore) { state.change { $0.isWoken = true } }
  func close() { state.change { $0.isClosed = true } }

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

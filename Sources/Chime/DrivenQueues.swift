import ChimeCore
import Dispatch

extension TimerInstant.Timeline {
  /// The core's clock of a queue in real time.
  func clock() throws(ChimeError) -> Clock {
    switch self {
    case .monotonic: .monotonic
    case .boottime: .boottime
    case .wall: .wall
    case .virtual: throw .argument("clock is virtual: a VirtualTimerQueue has virtual time")
    }
  }
}

/// A queue driven by the program's own loop: add `fileDescriptor` to the loop, and call `process` when it is readable.
/// Handlers run inside `process` and `run`, on the calling thread.
public final class HostTimerQueue: TimerQueue, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  /// A queue with a descriptor of its own and no thread.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - clock: any but virtual.
  ///   - isBound: whether only the thread that creates the queue may drive it; others get `wrongThread`. As long as no other
  ///     thread changes a timer of the queue either, that one's calls are faster.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(label: String = "", clock: TimerInstant.Timeline = .monotonic, isBound: Bool = false) throws {
    var options = QueueOptions(label: label, clock: try clock.clock())
    options.isBound = isBound
    try super.init(clock) { [options] () throws(Status) in try QueueCore.makeHost(options) }
  }

  /// Readable while there is something to process. Poll it and do nothing else with it; the queue owns it until it
  /// ends. Then it is `nil`.
  public var fileDescriptor: Int32? { try? QueueCore.file(id) }

  /// Runs what is due.
  ///
  /// - Parameter maximum: how many ticks and functions to run at most; if some are left, the descriptor stays readable.
  /// - Returns: how many ran.
  /// - Throws: `wrongThread`, `busy` while another thread is inside the queue, `wouldDeadlock` inside a handler of the
  ///   queue, `shutDown`; `invalidArgument` for a maximum below 1.
  @discardableResult
  public func process(maximum: Int = .max) throws -> Int {
    guard maximum > 0 else { throw ChimeError.invalidArgument }
    return try ChimeError.of { () throws(Status) in try QueueCore.process(id, most: maximum) }
  }

  /// Processes and waits in turn, until no timer is running or `stop` is called. Waits for time.
  ///
  /// - Parameter untilStopped: whether to go on when no timer is running.
  /// - Throws: as `process`.
  @available(*, noasync, message: "it blocks: call it on a thread of its own")
  public func run(untilStopped: Bool = false) throws {
    let status = QueueCore.run(id, untilStopped: untilStopped)
    if status.isFailure { throw status.error }
  }

  /// Processes and waits in turn until something was called: all that was due then. Waits for time.
  ///
  /// - Parameter untilStopped: whether to wait when no timer is running.
  /// - Returns: whether something was called; false if no timer is running, or after `stop`.
  /// - Throws: as `process`.
  @available(*, noasync, message: "it blocks: call it on a thread of its own")
  @discardableResult
  public func runOnce(untilStopped: Bool = false) throws -> Bool {
    let status = QueueCore.run(id, untilStopped: untilStopped, once: true)
    if status.isFailure { throw status.error }
    return status == .ok
  }

  /// Makes `run` return; if none is under way, the next one returns at once. Any thread.
  public func stop() { _ = QueueCore.stop(id) }
}

/// A queue with a thread of its own, which waits for absolute times with 1 ns of timer slack.
public final class PreciseTimerQueue: TimerQueue, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  /// Starts the thread. If an option cannot be granted, it throws; nothing is silently left out.
  ///
  /// - Parameters:
  ///   - label: for debuggers; its first 15 bytes name the thread.
  ///   - clock: monotonic, boottime or wall.
  ///   - realtimePriority: 1 to 99 under SCHED_FIFO; `nil` for the usual scheduling.
  /// - Throws: `permission` without the right to that priority, `invalidArgument` for a priority that does not exist;
  ///   `limit`, `noMemory`, `resource`.
  public init(
    label: String = "", clock: TimerInstant.Timeline = .monotonic, realtimePriority: Int? = nil
  ) throws {
    if let realtimePriority, !(1...99 ~= realtimePriority) {
      throw ChimeError.argument("realtimePriority is \(realtimePriority): it must be from 1 to 99")
    }
    var options = QueueOptions(label: label, clock: try clock.clock())
    options.realtimePriority = Int32(realtimePriority ?? 0)
    try super.init(clock) { [options] () throws(Status) in try QueueCore.makePrecise(options) }
  }
}

import ChimeCore
import Dispatch

/// The clock of a queue, with the zero of `clock_gettime`.
public enum QueueClock: Sendable {
  /// Steady; stops while the system sleeps.
  case monotonic
  /// Steady; goes on while the system sleeps. Host-driven queues only.
  case boottime
  /// Time of day. Absolute deadlines follow it when it is stepped; delays and intervals do not.
  case wall

  var clock: Clock {
    switch self {
    case .monotonic: .monotonic
    case .boottime: .boottime
    case .wall: .wall
    }
  }
}

/// A queue that the program's own loop drives: add `fileDescriptor` to it, and call `process` when that is readable.
/// Handlers run inside `process` and `run`, on the thread that calls them.
public final class HostTimerQueue: TimerQueue, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  /// A queue with a descriptor of its own and no thread.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - clock: any.
  ///   - isBound: only the thread that makes the queue may drive it; others get `wrongThread`.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(label: String = "", clock: QueueClock = .monotonic, isBound: Bool = false) throws(ChimeError) {
    var options = QueueOptions(label: label, clock: clock.clock)
    options.isBound = isBound
    try super.init(QueueCore.makeHost(options))
  }

  /// Readable while there is something to process. Poll it, and do nothing else with it; the queue's own until it ends.
  public var fileDescriptor: Int32 { (try? QueueCore.file(id).get()) ?? -1 }

  /// When the queue next wants to be processed, in nanoseconds on its clock; `nil` for never. Exact on the thread that
  /// drives the queue; elsewhere it may be early.
  public var nextDeadline: Int64? {
    guard let deadline = try? QueueCore.nextDeadline(id).get(), deadline != .max else { return nil }
    return deadline
  }

  /// Runs what is due.
  ///
  /// - Parameter maximum: ticks and functions at most; what is left keeps the descriptor readable.
  /// - Returns: how many ran.
  /// - Throws: `wrongThread`, `busy` while another thread is inside the queue, `wouldDeadlock` inside a handler of the
  ///   queue, `shutDown`, `invalidHandle`; `invalidArgument` for a maximum below 1.
  @discardableResult
  public func process(maximum: Int = .max) throws(ChimeError) -> Int {
    guard maximum > 0 else { throw .invalidArgument }
    switch QueueCore.process(id, most: maximum) {
    case .success(let count): return count
    case .failure(let status): throw status.error
    }
  }

  /// Processes and waits in turn, until no timer runs or `stop` is called. Waits for time.
  ///
  /// - Parameter untilStopped: go on when no timer runs.
  /// - Throws: as `process`.
  public func run(untilStopped: Bool = false) throws(ChimeError) {
    let status = QueueCore.run(id, untilStopped: untilStopped)
    if status.isFailure { throw status.error }
  }

  /// Makes `run` return, or the next one when none is under way. Any thread.
  public func stop() { _ = QueueCore.stop(id) }
}

/// A queue on a thread of its own, which waits for absolute times with a timer slack of 1 ns.
public final class PreciseTimerQueue: TimerQueue, @unchecked Sendable {
  // Unchecked as its class is; it adds nothing.
  /// Starts the thread, with what was asked for or not at all: nothing is left out in silence.
  ///
  /// - Parameters:
  ///   - label: for debuggers; its first 15 bytes name the thread.
  ///   - clock: monotonic or wall.
  ///   - realtimePriority: 1 to 99 under SCHED_FIFO; `nil` for the usual scheduling.
  ///   - processors: a bit for each processor that the thread may run on; 0 for any.
  /// - Throws: `permission` without the right to that priority, `invalidArgument` for a priority or processors that do
  ///   not exist, `unsupported` for boottime; `limit`, `noMemory`, `resource`.
  public init(
    label: String = "", clock: QueueClock = .monotonic, realtimePriority: Int? = nil, processors: UInt64 = 0
  ) throws(ChimeError) {
    if let realtimePriority, !(1...99 ~= realtimePriority) { throw .invalidArgument }
    var options = QueueOptions(label: label, clock: clock.clock)
    options.realtimePriority = Int32(realtimePriority ?? 0)
    options.affinity = processors
    try super.init(QueueCore.makePrecise(options))
  }
}

import ChimeCore

/// A queue whose time moves only when it is told to: for tests, simulations, and recorded data.
///
/// `await advance(by:)` is exact for code that sleeps, too: before and after each instant it lets every task go on until
/// none can. Make the queue before the tasks that use it. `advanceTimers(by:)` delivers ticks and waits for no task.
public final class VirtualTimerQueue: TimerQueue, VirtualTimeQueue, @unchecked Sendable {
  // Unchecked as its class is; `time` is set in `init` only.
  private var time: VirtualTime!

  /// A queue whose time stands still until it is moved.
  ///
  /// - Parameters:
  ///   - start: where time stands at first, 0 or more since the clock's zero. Its clock is the queue's: with
  ///     `TimerInstant(date)` the queue is in the place of one on the wall clock, and its instants are dates.
  ///   - label: for debuggers.
  ///   - honoursLeeway: whether ticks use their leeway, as on other queues.
  ///   - seed: where the random parts of due times begin that jitter asks for. The same calls with the same seed get the
  ///     same ones.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(
    start: TimerInstant = TimerInstant(.virtual, nanoseconds: 0), label: String = "", honoursLeeway: Bool = false,
    seed: UInt64 = 0
  ) throws {
    let sinceZero = Duration.nanoseconds(start.nanoseconds)
    let options = try TimerQueue.virtualOptions(sinceZero, label, honoursLeeway, seed: seed)
    try super.init(start.timeline) { () throws(Status) in try QueueCore.makeVirtual(options) }
    time = VirtualTime(self, in: .caller)
  }

  package override var virtualTime: VirtualTime? { time }

  /// Moves time forward from deadline to deadline, without waiting for any task. Each tick runs inside this call, at
  /// exactly its deadline.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: as `advance(by:)`; `busy` also while another thread releases the handler of one of the queue's timers.
  public func advanceTimers(by duration: Duration) throws { try time.advance(by: duration) }
}

extension TimerQueue {
  /// The options of a virtual queue of the core's.
  static func virtualOptions(
    _ start: Duration, _ label: String, _ honoursLeeway: Bool = false, seed: UInt64 = 0
  ) throws(ChimeError) -> QueueOptions {
    guard start >= .zero else { throw .argument("start is \(start) from the clock's zero: it must be 0 or more") }
    var options = QueueOptions(label: label)
    options.start = start.nanoseconds
    options.honoursLeeway = honoursLeeway
    options.seed = seed
    return options
  }
}

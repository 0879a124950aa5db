import ChimeCore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// A queue whose time moves only when it is told to: for tests, simulations, and recorded data.
///
/// `await advance(by:)` is exact for code that sleeps, too: before and after each instant it lets every task go on until
/// none can. Make the queue before the tasks that use it. `advanceTimers(by:)` delivers ticks and waits for no task.
public final class VirtualTimerQueue: TimerQueue, @unchecked Sendable {
  // Unchecked as its class is; `time` is set in `init` only.
  private var time: VirtualTime!

  /// A queue whose time stands still until it is moved.
  ///
  /// - Parameters:
  ///   - start: the time since the clock's zero at first, 0 or more.
  ///   - label: for debuggers.
  ///   - honoursLeeway: whether ticks use their leeway, as on other queues.
  ///   - seed: where the random parts of due times begin that jitter asks for. The same calls with the same seed get the
  ///     same ones.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(
    start: Duration = .zero, label: String = "", honoursLeeway: Bool = false, seed: UInt64 = 0
  ) throws(ChimeError) {
    try super.init(TimerQueue.makeVirtual(start, label, honoursLeeway, seed: seed), .virtual)
    time = VirtualTime(self)
  }

  /// A queue in the place of one on the wall clock: its instants are dates.
  ///
  /// - Parameters:
  ///   - date: the first instant, from 1970 on.
  ///   - label: for debuggers.
  ///   - honoursLeeway: whether ticks use their leeway, as on other queues.
  ///   - seed: where the random parts of due times begin that jitter asks for. The same calls with the same seed get the
  ///     same ones.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(
    wallClockFrom date: Date, label: String = "", honoursLeeway: Bool = false, seed: UInt64 = 0
  ) throws(ChimeError) {
    let start = Duration.nanoseconds(TimerInstant(date).nanoseconds)
    try super.init(TimerQueue.makeVirtual(start, label, honoursLeeway, seed: seed), .wall)
    time = VirtualTime(self)
  }

  /// Moves time forward from deadline to deadline. Each tick runs inside this call, at exactly its deadline; before and
  /// after each deadline, tasks go on until none can.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: `wouldDeadlock` inside a handler of this queue; `busy` while another thread advances it; `limit` if
  ///   something becomes due 1,000 times at one instant, more than 1,000,000 jobs of the calling test lead to each other
  ///   there, or they block for 10 s; `shutDown`, `invalidHandle`, `invalidArgument`.
  public nonisolated(nonsending) func advance(by duration: Duration) async throws(ChimeError) {
    try await time.advance(by: duration)
  }

  /// Moves time forward from deadline to deadline, without waiting for any task. Each tick runs inside this call, at
  /// exactly its deadline.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now.
  /// - Throws: as `advance(by:)`; `busy` also while another thread releases the handler of one of the queue's timers.
  public func advanceTimers(by duration: Duration) throws(ChimeError) { try time.advance(by: duration) }

  /// Moves time forward until no timer is pending and no task sleeps on this queue.
  ///
  /// A repeating timer without a limit keeps it going: cancel it in a handler, or cancel the calling task.
  ///
  /// - Throws: `CancellationError`; `ChimeError` as `advance(by:)`.
  public nonisolated(nonsending) func run() async throws { try await time.run() }

  /// The earliest deadline of a running timer; `nil` if there is none. It may be too early (now, for example) while
  /// another thread is inside the queue, never too late.
  public var nextDeadline: TimerInstant? { time.nextDeadline }

  /// Waits until that many timers are due later than now: until code under test sleeps, or has started its timers. Then
  /// `advance`. As long as a timer is due now, which an advance by zero delivers, it waits.
  ///
  /// - Parameters:
  ///   - count: how many, 1 or more.
  ///   - limit: real time, after which the call returns all the same; `nil` for no limit.
  /// - Returns: done, or timedOut.
  /// - Throws: `CancellationError`; `shutDown` if the queue has ended.
  /// - Complexity: O(*n*) for a count above 1, where *n* is the number of the queue's timers.
  @discardableResult
  public nonisolated(nonsending) func untilArmed(
    count: Int = 1, within limit: Duration? = nil
  ) async throws -> ChimeTimer.Outcome {
    try await time.untilArmed(count: count, within: limit)
  }

  /// Moves time without delivering anything, as a sleeping machine would. May be called inside a handler.
  ///
  /// - Parameter duration: 0 or more.
  /// - Throws: `invalidArgument`, `invalidHandle`.
  public func jump(by duration: Duration) throws(ChimeError) { try time.jump(by: duration) }
}

extension TimerQueue {
  /// Makes a virtual queue of the core's.
  static func makeVirtual(
    _ start: Duration, _ label: String, _ honoursLeeway: Bool, seed: UInt64 = 0
  ) throws(ChimeError) -> Result<UInt64, Status> {
    guard start >= .zero else { throw .argument("start is \(start) from the clock's zero: it must be 0 or more") }
    var options = QueueOptions(label: label)
    options.start = start.nanoseconds
    options.honoursLeeway = honoursLeeway
    options.seed = seed
    return QueueCore.makeVirtual(options)
  }
}

import ChimeCore

/// A queue whose time can be moved by hand: a `VirtualTimerQueue` always, a `SerialTimerQueue` and a `MainTimerQueue` when
/// they were made with `virtual:`. In real time the calls of this protocol throw `unsupported`.
///
/// `await advance(by:)` is exact for code that sleeps, too: before and after each instant it lets every task go on until
/// none can. The classes of this module are the only ones that adopt the protocol.
public protocol VirtualTimeQueue: AnyTimerQueue {}

extension VirtualTimeQueue {
  /// What moves the queue's time.
  private func time() throws(ChimeError) -> VirtualTime {
    guard let virtualTime else { throw ChimeError(.unsupported, "the queue's time is not virtual") }
    return virtualTime
  }

  /// Moves time forward from deadline to deadline. Each tick runs inside this call, at exactly its deadline; before and
  /// after each deadline, tasks go on until none can.
  ///
  /// Handlers run where they belong: on the actor's queue, on the main actor, or, on a `VirtualTimerQueue`, on the calling
  /// thread. Time goes no further than `Int64.max` nanoseconds.
  ///
  /// - Parameter duration: 0 or more; 0 delivers what is due now. One of 292 years or more has no end, and is refused:
  ///   `run()` goes on until no timer is pending.
  /// - Throws: `ChimeError` only: `wouldDeadlock` inside a handler of this queue; `busy` while another thread advances it;
  ///   `limit` if something becomes due 1,000 times at one instant, more than 1,000,000 jobs of the calling test lead to each
  ///   other there, or they block for 10 s; `shutDown`, `invalidArgument`; `unsupported` in real time.
  public nonisolated(nonsending) func advance(by duration: Duration) async throws {
    try await time().advanceWithTasks(by: duration)
  }

  /// Moves time forward until no timer is pending and no task sleeps on this queue.
  ///
  /// A repeating timer without a limit keeps it going, one behind `ticks(_:)` too: cancel it in a handler, or cancel the
  /// calling task. `advance(by:)` has an end.
  ///
  /// - Throws: `CancellationError`; `ChimeError` as `advance(by:)`, and `limit` when timers were due at 100,000 instants and
  ///   more are.
  public nonisolated(nonsending) func run() async throws { try await time().run() }

  /// Moves time without delivering anything, as a sleeping machine would. May be called inside a handler. Time goes no
  /// further than `Int64.max` nanoseconds.
  ///
  /// - Parameter duration: 0 or more.
  /// - Throws: `invalidArgument`, `shutDown`; `unsupported` in real time.
  public func jump(by duration: Duration) throws { try time().jump(by: duration) }

  /// Waits until that many timers are due later than now: until code under test sleeps, or has started its timers. Then
  /// `advance`. As long as a timer is due now, which an advance by zero delivers, it waits.
  ///
  /// - Parameters:
  ///   - count: how many; less than 1 counts as 1.
  ///   - limit: real time, after which the call returns all the same, at once if it is less than 0; `nil` for no limit.
  /// - Returns: done, or timedOut.
  /// - Throws: `CancellationError`; `shutDown` if the queue has ended; `unsupported` in real time.
  /// - Complexity: O(*n*) for a count above 1, where *n* is the number of the queue's timers.
  @discardableResult
  public nonisolated(nonsending) func untilArmed(
    count: Int = 1, within limit: Duration? = nil
  ) async throws -> ChimeTimer.Outcome {
    try await time().untilArmed(count: count, within: limit)
  }
}

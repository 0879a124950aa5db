import ChimeCore

/// A timer queue's time as a Swift `Clock`, `AnyTimerQueue.clock`: on a virtual queue, code that sleeps can be tested without waiting.
///
///     let queue = try VirtualTimerQueue()
///     let clock = queue.clock
///     let task = Task { try await clock.sleep(for: .seconds(60)) }
///     try await queue.advance(by: .seconds(60))
///     try await task.value
public struct TimerQueueClock: _Concurrency.Clock {
  /// The queue whose time this is; it lives as long as its clock.
  let queue: AnyTimerQueue

  /// The time on the queue's clock; on a virtual queue it stands still between two advances.
  public var now: TimerInstant { queue.now }
  /// One nanosecond, the unit of deadlines.
  public var minimumResolution: Duration { .nanoseconds(1) }

  /// Suspends the task until `deadline` on the queue's clock, and at most `tolerance` plus the wake-up longer.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past returns at once.
  ///   - tolerance: how late the task may wake up in order to share a wake-up; less than 0 counts as 0.
  /// - Throws: `CancellationError` if the task is cancelled; `ChimeError` if no timer can be created, or the deadline is
  ///   on another clock; `shutDown` if the queue ends first.
  public func sleep(until deadline: TimerInstant, tolerance: Duration? = nil) async throws {
    try Task.checkCancellation()
    try Schedule.check(deadline, for: queue.timeline)
    if deadline <= now { return }
    let sleeper = Sleeper()
    let schedule = Schedule(
      first: deadline.nanoseconds, firstIsDeadline: true, leeway: max(0, tolerance?.nanoseconds ?? 0))
    let timer = try sleeper.timer(on: queue, schedule)
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { sleeper.wait($0) }
    } onCancel: {
      timer.cancel()
      sleeper.end(.failure(CancellationError()))
    }
    withExtendedLifetime(timer) {}
  }
}

/// One task that sleeps, or its end that came first.
private final class Sleeper: Sendable {
  private enum State {
    case isAwake
    case sleeps(CheckedContinuation<Void, any Error>)
    case ended(Result<Void, any Error>)
  }

  private let state = Locked(State.isAwake)

  /// Held by the timer's handler only: if that is released without having run, the queue has ended.
  private final class WakeUp: Sendable {
    let sleeper: Sleeper
    init(_ sleeper: Sleeper) { self.sleeper = sleeper }
    deinit { sleeper.end(.failure(ChimeError.shutDown)) }
  }

  func timer(on queue: AnyTimerQueue, _ schedule: Schedule) throws(ChimeError) -> ChimeTimer {
    let wakeUp = WakeUp(self)
    return try ChimeTimer.start(on: queue, schedule) { _ in wakeUp.sleeper.end(.success(())) }
  }

  func wait(_ continuation: CheckedContinuation<Void, any Error>) {
    let result: Result<Void, any Error>? = state.withLock { state in
      if case .ended(let result) = state { return result }
      state = .sleeps(continuation)
      return nil
    }
    if let result { continuation.resume(with: result) }
  }

  /// The first end counts.
  func end(_ result: Result<Void, any Error>) {
    let continuation: CheckedContinuation<Void, any Error>? = state.withLock { state in
      defer { if case .ended = state {} else { state = .ended(result) } }
      if case .sleeps(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(with: result)
  }
}

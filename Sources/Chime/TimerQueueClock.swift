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
    try Schedule.check(deadline, for: queue.timeline)
    let leeway = max(0, tolerance?.nanoseconds ?? 0)
    try await sleep(Schedule(first: deadline.nanoseconds, firstIsDeadline: true, leeway: leeway), deadline <= now)
  }

  /// Suspends the task for a while, and at most `tolerance` plus the wake-up longer. On the wall clock it does not matter if
  /// that is stepped meanwhile, unlike with `sleep(until:tolerance:)`.
  ///
  /// - Parameters:
  ///   - duration: 0 or less returns at once.
  ///   - tolerance: how late the task may wake up in order to share a wake-up; less than 0 counts as 0.
  /// - Throws: `CancellationError` if the task is cancelled; `ChimeError` if no timer can be created; `shutDown` if the queue
  ///   ends first.
  public func sleep(for duration: Duration, tolerance: Duration? = nil) async throws {
    let leeway = max(0, tolerance?.nanoseconds ?? 0)
    try await sleep(Schedule(first: duration.nanoseconds, leeway: leeway), duration <= .zero)
  }

  private func sleep(_ schedule: Schedule, _ isOver: Bool) async throws {
    try Task.checkCancellation()
    if isOver { return }
    RunnableJobs.sleep(on: queue)
    let sleeper = FirstEnd<Void>()
    let wakeUp = WakeUp(sleeper)
    let timer = try ChimeTimer.start(on: queue, schedule) { [wakeUp = consume wakeUp] _ in
      wakeUp.sleeper.end(.success(()))
    }
    defer { timer.cancel() }
    try await sleeper.wait()
  }
}

/// Held by the timer's handler only: if that is released without having run, the queue has ended.
private final class WakeUp: Sendable {
  let sleeper: FirstEnd<Void>
  init(_ sleeper: FirstEnd<Void>) { self.sleeper = sleeper }
  deinit { sleeper.end(.failure(ChimeError.shutDown)) }
}

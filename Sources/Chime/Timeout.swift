import ChimeCore

extension AnyTimerQueue {
  /// Runs `body`, and cancels it if it has not ended in time: a timeout around anything. The call returns when `body` has
  /// ended: a body that does not heed its cancellation is waited for.
  ///
  ///     let page = try await queue.withTimeout(.seconds(2)) { try await fetch(url) }
  ///
  /// `body` runs where the caller is, on the caller's actor, and may use its state. It is a child task of the caller's,
  /// and is cancelled when the time is over. Its end decides: a value is returned, even one that comes late; an error that it
  /// throws when the time was over means that it was exceeded. When the caller goes on does not matter.
  ///
  /// The queue notices that the time is over where its handlers run: on a `MainTimerQueue` not before the main actor is free.
  /// Take a `TimerQueue` for a limit on what holds that actor up. If the queue is shut down meanwhile, nothing limits the
  /// body any more.
  ///
  /// - Parameters:
  ///   - limit: from now, on the queue's clock, a virtual one in tests; 0 or more.
  ///   - tolerance: how late it may be cancelled in order to share a wake-up; less than 0 counts as 0.
  ///   - body: what may take that long; not kept.
  /// - Returns: what `body` returns.
  /// - Throws: what `body` throws in time, and `CancellationError` if the caller is cancelled; otherwise
  ///   `ChimeError.deadlineExceeded`. Without calling `body`: `invalidArgument`, `limit`, `noMemory`; `shutDown` if the
  ///   queue was shut down.
  public nonisolated(nonsending) func withTimeout<Value>(
    _ limit: Duration, tolerance: Duration? = nil, _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    let leeway = max(0, tolerance?.nanoseconds ?? 0)
    return try await run(
      by: Schedule(first: limit.nanoseconds, leeway: leeway), else: "it took longer than \(limit)", #isolation, body)
  }

  /// Runs `body`, and cancels it if it has not ended at a point on the queue's clock; see `withTimeout(_:tolerance:_:)`. A body
  /// that does not heed its cancellation is waited for.
  ///
  /// - Parameters:
  ///   - deadline: on the queue's clock; one in the past cancels the body as it begins.
  ///   - tolerance: how late it may be cancelled in order to share a wake-up; less than 0 counts as 0.
  ///   - body: what may take until then; not kept.
  /// - Returns: what `body` returns.
  /// - Throws: as `withTimeout(_:tolerance:_:)`, and `invalidArgument` for a deadline on another clock.
  public nonisolated(nonsending) func withDeadline<Value>(
    _ deadline: TimerInstant, tolerance: Duration? = nil, _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try Schedule.check(deadline, for: timeline)
    let leeway = max(0, tolerance?.nanoseconds ?? 0)
    return try await run(
      by: Schedule(first: deadline.nanoseconds, firstIsDeadline: true, leeway: leeway),
      else: "it had not ended at \(deadline)", #isolation, body)
  }

  private func run<Value>(
    by schedule: Schedule, else sentence: @autoclosure () -> String, _ caller: isolated (any Actor)?,
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try schedule.check(for: timeline)
    let expiry = Expiry()
    let timer = try ChimeTimer.start(on: self, schedule) { _ in expiry.expire() }
    return try await withoutActuallyEscaping(body) { body in
      _ = caller  // the closure's isolation
      // SAFETY: the caller waits while the child task has the call, on the same actor, and nobody else has it.
      nonisolated(unsafe) let call = TimedCall(body)
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          await unsafe call.run(on: caller, expiry)
          timer.invalidate()
        }
      }
      return try unsafe call.value(else: sentence())
    }
  }
}

/// A body on its way to a child task, and its end on the way back.
private final class TimedCall<Value> {
  private let body: nonisolated(nonsending) () async throws -> Value
  private var result: Result<Value, any Error>?
  private var isLate = false

  init(_ body: nonisolated(nonsending) @escaping () async throws -> Value) { self.body = body }

  func run(on caller: isolated (any Actor)?, _ expiry: Expiry) async {
    expiry.begin()
    do {
      result = .success(try await body())
    } catch {
      result = .failure(error)
    }
    isLate = await expiry.end()
  }

  func value(else sentence: @autoclosure () -> String) throws -> Value {
    switch result {
    case .success(let value): return value
    case .failure(let error):
      if isLate, !(error is CancellationError && Task.isCancelled) {
        throw ChimeError(.deadlineExceeded, sentence())
      }
      throw error
    case nil: invariantFailure("a child task has ended, and its body has not")
    }
  }
}

/// The task that has to end in time, for the timer's handler. It ends only when nobody is about to cancel it.
private final class Expiry: Sendable {
  // SAFETY: the task lives as long as its name is here; only `cancel` is called, which any thread may.
  @safe private enum State: @unchecked Sendable {
    case waits
    case runs(UnsafeCurrentTask)
    /// The time is over, and the task is being cancelled.
    case cancels
    /// Likewise, and the body has ended.
    case ends(CheckedContinuation<Void, Never>)
    /// The time is over.
    case isOver
    /// The body has ended in time.
    case hasEnded
  }

  private let state = Locked(State.waits)

  /// In the task, before its body.
  func begin() {
    unsafe withUnsafeCurrentTask { task in
      guard let task = unsafe task else { return }
      let isOver: Bool = state.withLock { state in
        if case .isOver = state { return true }
        state = unsafe .runs(task)
        return false
      }
      if isOver { unsafe task.cancel() }
    }
  }

  /// In the task, after its body. Gives whether that was too late.
  nonisolated(nonsending) func end() async -> Bool {
    let isOver: Bool? = state.withLock { state in
      switch state {
      case .cancels: return nil
      case .isOver: return true
      case .waits, .runs, .ends, .hasEnded:
        state = .hasEnded
        return false
      }
    }
    if let isOver { return isOver }
    await withCheckedContinuation { continuation in
      let isCancelled: Bool = state.withLock { state in
        if case .isOver = state { return true }
        state = .ends(continuation)
        return false
      }
      if isCancelled { continuation.resume() }
    }
    return true
  }

  /// On the queue. What is called on cancellation is called outside the lock.
  func expire() {
    let task: UnsafeCurrentTask? = unsafe state.withLock { state in
      switch state {
      case .waits:
        state = .isOver
        return nil
      case .runs(let task):
        state = .cancels
        return unsafe task
      case .cancels, .ends, .isOver, .hasEnded: return nil
      }
    }
    guard let task = unsafe task else { return }
    unsafe task.cancel()
    let waiting: CheckedContinuation<Void, Never>? = state.withLock { state in
      defer { state = .isOver }
      if case .ends(let continuation) = state { return continuation }
      return nil
    }
    waiting?.resume()
  }
}

import ChimeCore

/// Runs `body`, and cancels it if it has not ended in time: a deadline around anything.
///
///     let page = try await withDeadline(.seconds(2), on: queue) { try await fetch(url) }
///
/// `body` runs in a task of its own, which is cancelled when the time is over, or the calling task is cancelled. The call
/// returns when `body` has: one that does not heed its cancellation is waited for.
///
/// - Parameters:
///   - limit: from now, on the queue's clock; 0 or more.
///   - queue: any kind; a virtual one in tests.
///   - priority: of the task; `nil` for the caller's.
///   - body: what may take that long.
/// - Returns: what `body` returns, if it does so in time.
/// - Throws: what `body` throws; `ChimeError.deadlineExceeded` if it ended late; `invalidArgument`, `limit`, `noMemory`;
///   `invalidHandle` if the queue was shut down.
public nonisolated(nonsending) func withDeadline<Value: Sendable>(
  _ limit: Duration, on queue: TimerQueue, priority: TaskPriority? = nil,
  _ body: sending @escaping () async throws -> Value
) async throws -> Value {
  let schedule = Schedule(first: limit.nanoseconds)
  try schedule.check(for: queue.timeline)
  let expiry = Expiry<Value>()
  let timer = try ChimeTimer.start(on: queue, schedule) { _ in expiry.expire() }
  let task: Task<Value, any Error>
  if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
    // Begins here: what does not wait costs no change of threads.
    task = Task.immediate(priority: priority, operation: body)
  } else {
    task = Task(priority: priority, operation: body)
  }
  expiry.watch(task)
  let result = await withTaskCancellationHandler {
    await task.result
  } onCancel: {
    task.cancel()
  }
  timer.invalidate()
  if expiry.isLate { throw ChimeError(.deadlineExceeded, "it took longer than \(limit)") }
  return try result.get()
}

/// The task that has to end in time, for the timer's handler.
private final class Expiry<Value: Sendable>: Sendable {
  private struct State {
    var task: Task<Value, any Error>?
    var isLate = false
  }

  private let state = Locked(State())

  var isLate: Bool { state.withLock { $0.isLate } }

  func watch(_ task: Task<Value, any Error>) {
    let isLate = state.withLock { state in
      state.task = task
      return state.isLate
    }
    if isLate { task.cancel() }
  }

  func expire() {
    let task = state.withLock { state in
      state.isLate = true
      return state.task
    }
    task?.cancel()
  }
}

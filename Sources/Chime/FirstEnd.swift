import ChimeCore

/// What one task waits for, and the first of several events that ends the waiting. An end that comes before the wait is kept.
final class FirstEnd<Value: Sendable>: Sendable {
  private enum State {
    case isOpen
    case waits(CheckedContinuation<Value, any Error>)
    case ended(Result<Value, any Error>)
  }

  private let state = Locked(State.isOpen)

  /// Waits for the end; one call. Gives way to cancellation.
  nonisolated(nonsending) func wait() async throws -> Value {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<Value, any Error>? = state.withLock { state in
          if case .ended(let result) = state { return result }
          state = .waits(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      end(.failure(CancellationError()))
    }
  }

  /// The first end counts.
  func end(_ result: Result<Value, any Error>) {
    let continuation: CheckedContinuation<Value, any Error>? = state.withLock { state in
      defer { if case .ended = state {} else { state = .ended(result) } }
      if case .waits(let continuation) = state { return continuation }
      return nil
    }
    continuation?.resume(with: result)
  }
}

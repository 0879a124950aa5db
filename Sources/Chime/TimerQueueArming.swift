import ChimeCore

/// Waiting until a virtual queue has a timer to advance to.
enum TimerQueueArming {
  /// `nil` if no timer runs.
  static func nextDeadline(of id: UInt64) -> Int64? {
    guard let deadline = try? QueueCore.nextDeadline(id).get(), deadline != .max else { return nil }
    return deadline
  }

  static func wait(for id: UInt64, within limit: Duration?) async throws -> Outcome {
    let end = limit.map { ContinuousClock.now + $0 }
    while true {
      guard let now = QueueCore.now(id) else { throw ChimeError.shutDown }
      let next = nextDeadline(of: id)
      if let next, next > now { return .done }
      try Task.checkCancellation()
      if let end, ContinuousClock.now >= end { return .timedOut }
      // A timer is due now, or another thread is inside the queue for an instant.
      if next != nil {
        await Task.yield()
        continue
      }
      let bell = Bell()
      let alarm = end.map { end in
        Task {
          try? await Task.sleep(until: end, clock: .continuous)
          bell.ring()
        }
      }
      await withTaskCancellationHandler {
        await withCheckedContinuation { continuation in
          bell.wait(continuation)
          QueueCore.notifyOfArming(id) { bell.ring() }
          if nextDeadline(of: id) != nil { bell.ring() }
        }
      } onCancel: {
        bell.ring()
      }
      alarm?.cancel()
    }
  }

  /// Lets one task go on, once; also one that waits only after it has rung.
  private final class Bell: Sendable {
    private enum State {
      case silent
      case awaited(CheckedContinuation<Void, Never>)
      case rung
    }

    private let state = Locked(State.silent)

    func wait(_ continuation: CheckedContinuation<Void, Never>) {
      let hasRung = state.withLock { state in
        if case .rung = state { return true }
        state = .awaited(continuation)
        return false
      }
      if hasRung { continuation.resume() }
    }

    func ring() {
      let waiter: CheckedContinuation<Void, Never>? = state.withLock { state in
        defer { state = .rung }
        if case .awaited(let continuation) = state { return continuation }
        return nil
      }
      waiter?.resume()
    }
  }
}

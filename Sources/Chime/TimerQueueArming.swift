import ChimeCore

/// Waiting until timers of a virtual queue are pending.
///
/// The queue calls one function of this object's when a timer is added; this object keeps who waits, so that whoever stops
/// waiting leaves nothing behind.
final class TimerQueueArming: Sendable {
  private struct State {
    var bells: [Int: Bell] = [:]
    var number = 0
    /// The queue has the function, and has not called it yet.
    var isRegistered = false
  }

  private let id: UInt64
  private let state = Locked(State())

  init(_ id: UInt64) { self.id = id }

  /// `nil` if no timer runs.
  var nextDeadline: Int64? {
    guard let deadline = try? QueueCore.nextDeadline(id), deadline != .max else { return nil }
    return deadline
  }

  /// Whether that many timers are due later than now, and none is due now.
  private func isArmed(_ count: Int, _ now: Int64) -> Bool {
    guard let next = nextDeadline, next > now else { return false }
    return count <= 1 || (QueueCore.statistics(id)?.running ?? 0) >= UInt64(count)
  }

  nonisolated(nonsending) func wait(for count: Int, within limit: Duration?) async throws -> ChimeTimer.Outcome {
    let end = limit.map { ContinuousClock.now + $0 }
    while true {
      guard let now = QueueCore.now(id) else { throw ChimeError.shutDown }
      if isArmed(count, now) { return .done }
      try Task.checkCancellation()
      if let end, ContinuousClock.now >= end { return .timedOut }
      // A timer is due now, or another thread is inside the queue for an instant.
      if let next = nextDeadline, next <= now {
        await Task.yield()
        continue
      }
      await nextArming(until: end) { self.isArmed(count, QueueCore.now(self.id) ?? 0) || QueueCore.now(self.id) == nil }
    }
  }

  /// Returns when a timer was added, the queue or the time is over, or the task is cancelled; and at once if `isOver` then.
  private nonisolated(nonsending) func nextArming(
    until end: ContinuousClock.Instant?, _ isOver: @Sendable () -> Bool
  ) async {
    let bell = Bell()
    let (number, registers) = state.withLock { state in
      state.number += 1
      state.bells[state.number] = bell
      defer { state.isRegistered = true }
      return (state.number, !state.isRegistered)
    }
    // The queue rings at the first timer that is added after this; who looks afterwards sees those before.
    if registers { QueueCore.notifyOfArming(id) { [weak self] in self?.ring() } }
    let alarm = end.map { end in
      Task {
        try? await Task.sleep(until: end, clock: .continuous)
        bell.ring()
      }
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        bell.wait(continuation)
        if isOver() { bell.ring() }
      }
    } onCancel: {
      bell.ring()
    }
    alarm?.cancel()
    state.withLock { $0.bells[number] = nil }
  }

  private func ring() {
    let bells = state.withLock { state in
      state.isRegistered = false
      return state.bells
    }
    for bell in bells.values { bell.ring() }
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

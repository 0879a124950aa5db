import ChimeCore
import Dispatch

/// The calls of asynchronous handlers that have begun and not ended, of one handler or of all of a queue's timers. Lets others
/// wait until there is none. Any thread.
package final class RunningCalls: Sendable {
  private struct State {
    var calls: [ObjectIdentifier: HandlerCalls] = [:]
    /// Called once, when there is none.
    var waiting: [Int: @Sendable () -> Void] = [:]
    var number = 0
  }

  private let state = Locked(State())

  /// Whether there is one.
  var isAny: Bool { state.withLock { !$0.calls.isEmpty } }

  /// The handlers whose calls run.
  var all: [HandlerCalls] { state.withLock { Array($0.calls.values) } }

  func begin(_ call: HandlerCalls) { state.withLock { $0.calls[ObjectIdentifier(call)] = call } }

  func end(_ call: HandlerCalls) {
    let over: [Int: @Sendable () -> Void] = state.withLock { state in
      state.calls[ObjectIdentifier(call)] = nil
      if !state.calls.isEmpty { return [:] }
      defer { state.waiting = [:] }
      return state.waiting
    }
    for body in over.values { body() }
  }

  /// Has `body` called when there is none. Gives what `forget` takes; `nil` if there is none now, and nothing is called.
  private func whenNone(_ body: @escaping @Sendable () -> Void) -> Int? {
    state.withLock { state in
      if state.calls.isEmpty { return nil }
      state.number += 1
      state.waiting[state.number] = body
      return state.number
    }
  }

  private func forget(_ number: Int) { state.withLock { $0.waiting[number] = nil } }

  /// Waits until there is none. False if the time is over before.
  ///
  /// - Throws: `wouldDeadlock` if one waits for the caller, or for the actor that the caller is on.
  func waitForNone(until end: ContinuousClock.Instant?) throws(ChimeError) -> Bool {
    let wait = try HandlerCalls.beginWait(for: all, holdsThread: true)
    defer { wait.end() }
    let over = DispatchSemaphore(value: 0)
    guard let number = whenNone({ over.signal() }) else { return true }
    defer { forget(number) }
    let left = end.map { ContinuousClock.now.duration(to: $0).nanoseconds }
    return over.wait(timeout: left.map { .now() + .nanoseconds(Int(max(0, $0))) } ?? .distantFuture) == .success
  }

  /// Waits likewise, and gives way to cancellation.
  ///
  /// - Throws: `CancellationError`; `wouldDeadlock` if one waits for the caller.
  nonisolated(nonsending) func waitForNone(until end: ContinuousClock.Instant?) async throws -> Bool {
    let wait = try HandlerCalls.beginWait(for: all)
    defer { wait.end() }
    let over = FirstEnd<Bool>()
    guard let number = whenNone({ over.end(.success(true)) }) else { return true }
    let alarm = end.map { end in
      Task {
        try await Task.sleep(until: end, clock: .continuous)
        over.end(.success(false))
      }
    }
    defer {
      alarm?.cancel()
      forget(number)
    }
    return try await over.wait()
  }
}

extension ContinuousClock.Instant {
  /// When a timeout is over; `nil` for none, and for one of a lifetime or more.
  static func end(of timeout: Duration?) -> ContinuousClock.Instant? {
    timeout.flatMap { $0 < .seconds(1 << 31) ? ContinuousClock.now + max($0, .zero) : nil }
  }
}

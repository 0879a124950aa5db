/// A value that vanishes after an interval, unless that is begun anew.
///
/// Any thread. The value is gone exactly when its time is over on the queue's clock; it is let go, and the notification
/// comes, in the pass of the queue that follows.
public final class TimeLimited<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var deadline: Int64
    var onExpiry: (@Sendable () -> Void)?
  }

  private let queue: TimerQueue
  private let state: Locked<State>
  /// Set in init.
  private let timer = Locked<ChimeTimer?>(nil)

  /// - Parameters:
  ///   - lifetime: 0 or more, from now.
  ///   - queue: whose clock counts, and where `onExpiry` runs.
  ///   - onExpiry: called once, after the value has vanished; not when the last reference to this object goes before.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`.
  public init(
    _ value: Value, lifetime: Duration, on queue: TimerQueue, onExpiry: (@Sendable () -> Void)? = nil
  ) throws(ChimeError) {
    self.queue = queue
    let deadline = queue.now.saturatingAdd(lifetime.nanoseconds)
    state = Locked(State(value: value, deadline: deadline, onExpiry: onExpiry))
    guard lifetime >= .zero else { throw .invalidArgument }
    let made = try ChimeTimer(queue.id, Schedule(first: deadline, firstIsDeadline: true)) { [weak self] _ in
      self?.expire()
    }
    timer.withLock { $0 = made }
  }

  /// The value, until its time is over.
  public var value: Value? {
    let now = queue.now
    return state.withLock { $0.deadline > now ? $0.value : nil }
  }

  /// Begins the time anew: the value vanishes `interval` from now.
  ///
  /// - Parameter interval: 0 or more.
  /// - Returns: ignored when the value has vanished: it does not come back.
  @discardableResult
  public func resetTimer(interval: Duration) throws(ChimeError) -> Outcome {
    guard interval >= .zero else { throw .invalidArgument }
    let now = queue.now
    let deadline = now.saturatingAdd(interval.nanoseconds)
    let isThere = state.withLock { state in
      guard state.value != nil, state.deadline > now else { return false }
      state.deadline = deadline
      return true
    }
    guard isThere else { return .ignored }
    try timer.withLock({ $0 })?.restart(at: deadline)
    return .done
  }

  /// On the queue.
  private func expire() {
    let now = queue.now
    var rest: Int64?
    var old: Value?
    let notification: (@Sendable () -> Void)? = state.withLock { state in
      // Begun anew after this tick had started.
      if state.deadline > now {
        rest = state.deadline
        return nil
      }
      old = state.value
      state.value = nil
      defer { state.onExpiry = nil }
      return state.onExpiry
    }
    _ = old  // let go outside the lock
    if let rest { _ = try? timer.withLock { $0 }?.restart(at: rest) }
    notification?()
  }
}

/// A value that vanishes after an interval, unless that is begun anew.
///
/// Any thread. The value is gone exactly when its time is over on the queue's clock; it is let go, and the notification
/// comes, in the pass of the queue that follows. With the queue the value vanishes too, without notification.
public final class TimeLimited<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var deadline: Int64
    var onExpiry: ((Value, Tick) -> Void)?
    /// Set in init.
    var timer: ChimeTimer?

    /// `Int64.max` is never, as for timers.
    func isOver(_ now: Int64) -> Bool { deadline <= now && deadline != .max }
  }

  /// Whose clock counts.
  private let queue: UInt64
  /// Keeps the queue, if that is this object's to keep.
  private let owner: TimerQueue?
  private let state: Locked<State>

  /// Takes the value, for that long.
  ///
  /// - Parameters:
  ///   - value: what vanishes.
  ///   - lifetime: 0 or more, from now.
  ///   - queue: whose clock counts, and where `onExpiry` runs.
  ///   - onExpiry: called once, after the value has vanished; not when the last reference to this object goes before.
  /// - Throws: `invalidArgument`; `limit`, `noMemory`; `invalidHandle` when the queue was shut down.
  public convenience init(
    _ value: Value, lifetime: Duration, on queue: TimerQueue, onExpiry: sending (() -> Void)? = nil
  ) throws(ChimeError) {
    try self.init(value, lifetime: lifetime.nanoseconds, queue: queue.id, owner: queue, onExpiry: { _, _ in onExpiry?() })
  }

  /// - Parameter onExpiry: gets the value that has vanished.
  package init(
    _ value: Value, lifetime: Int64, queue: UInt64, owner: TimerQueue? = nil,
    onExpiry: sending @escaping (Value, Tick) -> Void
  ) throws(ChimeError) {
    self.queue = queue
    self.owner = owner
    let deadline = (QueueCore.now(queue) ?? 0).saturatingAdd(lifetime)
    state = Locked(State(value: value, deadline: deadline, onExpiry: onExpiry))
    guard lifetime >= 0 else { throw .invalidArgument }
    let end = QueueEnd(self)
    let made = try ChimeTimer(queue, Schedule(first: deadline, firstIsDeadline: true)) { tick in end.limited?.expire(tick) }
    state.withLock { $0.timer = made }
  }

  /// Held by the timer's handler alone: let go with the timer, or with its queue.
  private final class QueueEnd: @unchecked Sendable {
    // Unchecked: a weak reference that is set in init only; several threads may read it.
    private(set) weak var limited: TimeLimited?
    init(_ limited: TimeLimited) { self.limited = limited }
    deinit { limited?.vanish() }
  }

  /// The value, until its time is over.
  public var value: Value? {
    guard let now = QueueCore.now(queue) else { return nil }
    return state.withLock { $0.isOver(now) ? nil : $0.value }
  }

  /// Begins the time anew: the value vanishes `interval` from now.
  ///
  /// - Parameter interval: 0 or more.
  /// - Returns: ignored when the value has vanished: it does not come back.
  @discardableResult
  public func resetTimer(interval: Duration) throws(ChimeError) -> Outcome {
    try resetTimer(interval: interval.nanoseconds)
  }

  package func resetTimer(interval: Int64) throws(ChimeError) -> Outcome {
    guard interval >= 0 else { throw .invalidArgument }
    guard let now = QueueCore.now(queue) else { return .ignored }
    let deadline = now.saturatingAdd(interval)
    let timer: ChimeTimer? = state.withLock { state in
      guard state.value != nil, !state.isOver(now) else { return nil }
      state.deadline = deadline
      return state.timer
    }
    guard let timer else { return .ignored }
    // Outside the lock, since a restart may call what other timers call last; and until the timer stands where the last
    // of several calls wants it.
    var wanted = deadline
    while true {
      do throws(ChimeError) {
        try timer.restart(at: wanted)
      } catch {
        // With its queue the value vanishes.
        if error == .invalidHandle { return .ignored }
        throw error
      }
      let current = state.withLock { $0.deadline }
      if current == wanted { return .done }
      wanted = current
    }
  }

  /// On the queue.
  private func expire(_ tick: Tick) {
    let (old, notification): (Value?, ((Value, Tick) -> Void)?) = state.withLock { state in
      // Begun anew after this tick had started: the timer runs again.
      if !state.isOver(tick.actual) { return (nil, nil) }
      defer { (state.value, state.onExpiry) = (nil, nil) }
      return (state.value, state.onExpiry)
    }
    if let old { notification?(old, tick) }
  }

  /// Lets go of the value without notification.
  private func vanish() {
    // What was taken out is let go outside the lock.
    _ = state.withLock { state in
      defer { (state.value, state.onExpiry) = (nil, nil) }
      return (state.value, state.onExpiry)
    }
  }
}

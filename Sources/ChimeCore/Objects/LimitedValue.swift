/// A value that vanishes after an interval, unless that is restarted. `TimeLimited` and C's expiring values are built
/// on it. Any thread.
package final class LimitedValue<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    var deadline: Int64
    var onExpiry: ((Value, Tick) -> Void)?

    /// `Int64.max` is never, as for timers.
    func isOver(_ now: Int64) -> Bool { deadline <= now && deadline != .max }
  }

  /// The part of this object that the timer's handler needs; the handler does not hold the object itself.
  private final class Shared: Sendable {
    let state: Locked<State>

    init(_ state: sending State) { self.state = Locked(state) }

    /// On the queue.
    func expire(_ tick: Tick) {
      let (old, notification): (Value?, ((Value, Tick) -> Void)?) = state.withLock { state in
        // Restarted after this tick had started: the timer runs again.
        if !state.isOver(tick.start) { return (nil, nil) }
        defer { (state.value, state.onExpiry) = (nil, nil) }
        return (state.value, state.onExpiry)
      }
      withExtendedLifetime((old, notification)) {
        if let old { notification?(old, tick) }
      }
    }

    /// Releases the value without notification.
    func vanish() {
      let old: (Value?, ((Value, Tick) -> Void)?) = state.withLock { state in
        defer { (state.value, state.onExpiry) = (nil, nil) }
        return (state.value, state.onExpiry)
      }
      // Released here, outside the lock, and no earlier: the end of the notification takes another lock, inside which
      // others take this one.
      withExtendedLifetime(old) {}
    }
  }

  /// Held by the timer's handler only: released with the timer, or with its queue.
  private final class QueueEnd: Sendable {
    let shared: Shared
    init(_ shared: Shared) { self.shared = shared }
    deinit { shared.vanish() }
  }

  /// The queue whose clock decides.
  private let queue: UInt64
  private let shared: Shared
  private let timer: UInt64

  /// - Parameters:
  ///   - lifetime: 0 or more, from now.
  ///   - onExpiry: gets the value that has vanished; not called if this object goes first.
  ///
  /// Not an initialiser: an object whose initialiser throws is not freed in Embedded Swift 6.3.1
  /// (`final class C { init() throws(E) { throw E() } }`).
  package static func make(
    _ value: Value, lifetime: Int64, queue: UInt64, onExpiry: sending @escaping (Value, Tick) -> Void
  ) throws(ChimeError) -> LimitedValue {
    guard lifetime >= 0 else {
      throw Status.invalidArgument.because("lifetime is %t: it must be 0 or more", lifetime).error
    }
    let deadline = (QueueCore.now(queue) ?? 0).saturatingAdd(lifetime)
    let shared = Shared(State(value: value, deadline: deadline, onExpiry: onExpiry))
    let end = QueueEnd(shared)
    let timer = try HandlerBox.start(
      on: queue, Schedule(first: deadline, firstIsDeadline: true), HandlerBox { tick in end.shared.expire(tick) })
    return LimitedValue(queue, shared, timer)
  }

  private init(_ queue: UInt64, _ shared: Shared, _ timer: UInt64) {
    self.queue = queue
    self.shared = shared
    self.timer = timer
  }

  deinit {
    shared.vanish()
    _ = TimerRef.release(timer)
  }

  /// The value, until its time is over.
  package var value: Value? {
    guard let now = QueueCore.now(queue) else { return nil }
    return shared.state.withLock { $0.isOver(now) ? nil : $0.value }
  }

  /// Restarts the time; ignored if the value has vanished.
  /// - Parameter lifetime: 0 or more, from now.
  package func reset(lifetime: Int64) throws(ChimeError) -> Outcome {
    guard lifetime >= 0 else {
      throw Status.invalidArgument.because("lifetime is %t: it must be 0 or more", lifetime).error
    }
    guard let now = QueueCore.now(queue) else { return .ignored }
    let deadline = now.saturatingAdd(lifetime)
    let isThere = shared.state.withLock { state in
      guard state.value != nil, !state.isOver(now) else { return false }
      state.deadline = deadline
      return true
    }
    guard isThere else { return .ignored }
    // Outside the lock, since a restart may call what other timers call last; and until the timer stands where the last
    // of several calls wants it.
    var wanted = deadline
    while true {
      guard let timer = TimerRef(timer) else { return .ignored }  // With its queue the value vanishes.
      let status = timer.restart(Schedule(first: wanted, firstIsDeadline: true))
      if status == .invalidHandle || status == .unknownHandle { return .ignored }
      _ = try status.outcome()
      let current = shared.state.withLock { $0.deadline }
      if current == wanted { return .done }
      wanted = current
    }
  }
}

/// A value of the host's that vanishes after an interval, by id, for C. An acquired value stays valid, even when its
/// time is over or it is released, until it is yielded. Its finalizer is called once, by the last yield or release,
/// with no lock held. Any thread.
package final class Expiring: Sendable, ProcessState {
  private struct State {
    /// Set by `make`, until the release. This reference cycle is broken by what comes first: expiry, release or the end
    /// of the queue.
    var limited: LimitedValue<OwnedContext>?
    var handler: TickFunction?
    /// The handler's; there while the handler is.
    var context: OwnedContext?
    /// How many acquires have not been yielded; and, unless that is 0, the value.
    var holds: UInt64 = 0
    var held: OwnedContext?
    var isNotifying = false
  }

  private let state = Locked(State())

  private static let table = HandleTable<Expiring>(.expiring)

  static func makeGlobals() { _ = table.find(0) }
  static func reinitialize() { table.reinitialize() }

  private init() {}

  // MARK: By id

  private static func unknown(_ id: UInt64) -> Status { Status.unknown(id, .expiring, "expiring") }

  /// Creates a value that vanishes `lifetime` from now; on failure it stays the caller's. Leeway, label and flags are
  /// `LimitedValue.make`'s.
  package static func make(
    _ value: Context, _ finalizer: ContextFunction?, lifetime: Int64, leeway: Int64 = 0, label: String = "",
    flags: TimerOptions.Flags = [], on queue: UInt64
  ) throws(Status) -> UInt64 {
    guard let core = QueueCore.find(queue) else { throw QueueCore.unknown(queue) }
    if core.givesRecords { throw Status.unsupported.because("queue gives records, and calls no finalizers") }
    let expiring = Expiring()
    let id = try table.add(expiring)
    let value = OwnedContext(value, finalizer)
    let limited: LimitedValue<OwnedContext>
    do {
      limited = try LimitedValue.make(
        value, lifetime: lifetime, leeway: leeway, label: label, flags: flags, queue: queue
      ) { expiring.end($0) }
    } catch {
      value.disown()
      table.remove(id)
      throw error
    }
    expiring.state.withLock { $0.limited = limited }
    _ = consume value
    limited.begin()
    return id
  }

  /// Sets the handler that is called once, after the value has vanished; `nil` for none.
  /// - Returns: ok; ignored if the value has vanished: the context stays the caller's; invalidHandle.
  package static func onExpiry(
    _ id: UInt64, _ handler: TickFunction?, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    guard let expiring = table.find(id) else { return unknown(id) }
    let new = handler.map { _ in OwnedContext(context, finalizer) }
    // Released outside the lock.
    var old: OwnedContext?
    var value: OwnedContext?
    let status: Status = expiring.state.withLock { state in
      guard let limited = state.limited else { return unknown(id) }
      value = limited.value
      guard value != nil else { return .ignored }
      old = state.context
      state.handler = handler
      state.context = new
      return .ok
    }
    if status != .ok { new?.disown() }
    withExtendedLifetime((old, value)) {}
    return status
  }

  /// Gives the value, which stays valid until it is yielded; `nil` if it has vanished.
  package static func acquire(_ id: UInt64) throws(Status) -> Context? {
    guard let expiring = table.find(id) else { throw unknown(id) }
    return try expiring.state.withLock { state throws(Status) in
      guard let limited = state.limited else { throw unknown(id) }
      guard let value = limited.value else { return nil }
      state.holds += 1
      state.held = value
      return value.context
    }
  }

  /// Undoes one `acquire`, also after the release; ignored if there is none.
  package static func yield(_ id: UInt64) -> Status {
    guard let expiring = table.find(id) else { return unknown(id) }
    // Released outside the lock.
    var last: OwnedContext?
    let (status, isOver): (Status, Bool) = expiring.state.withLock { state in
      guard state.holds > 0 else { return (.ignored, false) }
      state.holds -= 1
      if state.holds > 0 { return (.ok, false) }
      last = state.held
      state.held = nil
      return (.ok, state.limited == nil)
    }
    if isOver { table.remove(id) }
    withExtendedLifetime(last) {}
    return status
  }

  /// Restarts the value's time; ignored if it has vanished.
  /// - Parameter lifetime: 0 or more, from now.
  package static func reset(_ id: UInt64, lifetime: Int64) -> Status {
    guard let expiring = table.find(id) else { return unknown(id) }
    guard let limited = expiring.state.withLock({ $0.limited }) else { return unknown(id) }
    return limited.reset(lifetime: lifetime)
  }

  /// Ends it: there is no notification any more, and the value is released unless it is acquired.
  /// - Returns: ok; running if the handler that had started has not returned; invalidHandle.
  package static func release(_ id: UInt64) -> Status {
    guard let expiring = table.find(id) else { return unknown(id) }
    // Released outside the lock.
    var limited: LimitedValue<OwnedContext>?
    var context: OwnedContext?
    let (status, isOver): (Status, Bool) = expiring.state.withLock { state in
      if state.limited == nil { return (unknown(id), false) }
      (limited, context) = (state.limited, state.context)
      (state.limited, state.handler, state.context) = (nil, nil, nil)
      return (state.isNotifying ? .running : .ok, state.holds == 0)
    }
    if isOver { table.remove(id) }
    limited?.vanish()
    withExtendedLifetime(context) {}
    return status
  }

  /// The value has vanished: by a tick, on the queue, which is notified; or by the release or the queue's end.
  private func end(_ expired: (value: OwnedContext, tick: CoreTick)?) {
    // Released outside the lock.
    let (handler, context): (TickFunction?, OwnedContext?) = state.withLock { state in
      defer { (state.handler, state.context) = (nil, nil) }
      state.isNotifying = expired != nil && state.handler != nil
      return (state.handler, state.context)
    }
    guard let (value, tick) = expired, let handler, let context else { return }
    do throws(Forked) {
      try handler(
        CoreTick(
          timer: 0, generation: tick.generation, sequence: 1, missed: 0, scheduled: tick.scheduled, actual: tick.actual,
          context: context.context, target: value.context, kind: TickKind.due.rawValue))
      state.withLock { $0.isNotifying = false }
    } catch {}  // Its caller, which called it by a function of C, sees that, too.
    withExtendedLifetime((value, context)) {}
  }
}

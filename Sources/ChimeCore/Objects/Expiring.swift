import Synchronization

/// A value of the host's that vanishes after an interval, by id, for C. An acquired value stays valid, even when its
/// time is over or it is released, until it is yielded. Its finalizer is called once, by the last yield or release,
/// with no lock held. Any thread; no call on a value waits for another (P29).
package final class Expiring: @unchecked Sendable, ProcessState {
  // Unchecked for `limited`, which is stored before anybody knows the object.

  /// Who is told that the value has vanished.
  private final class Expiry: Sendable {
    let handler: TickFunction
    let context: OwnedContext

    init(_ handler: TickFunction, _ context: OwnedContext) { (self.handler, self.context) = (handler, context) }
  }

  /// The value. It refers to this until it ends: by expiry, release or the end of the queue.
  private var limited: LimitedValue<OwnedContext>?
  // SAFETY: a retained `Expiry`, or `nobody`; that of whoever swaps it out.
  private let expiry = Atomic<UInt>(none)

  private static var none: UInt { 0 }
  /// The value has vanished, or was released.
  private static var nobody: UInt { 1 }

  private static let table = HandleTable<Expiring>(.expiring)

  static func makeGlobals() { _ = table.find(0) }
  static func reinitialize() { table.reinitialize() }

  private init() {}

  // MARK: By id

  private static func unknown(_ id: UInt64) -> Status { Status.unknown(id, .expiring, "expiring") }

  /// The value that an id names; `nil` once it was released.
  private static func find(_ id: UInt64) -> (Expiring, LimitedValue<OwnedContext>)? {
    guard let expiring = table.find(id), let limited = expiring.limited, !limited.isClosed else { return nil }
    return (expiring, limited)
  }

  /// Creates a value that vanishes `lifetime` from now; on failure it stays the caller's. Leeway, label and flags are
  /// `LimitedValue.make`'s.
  package static func make(
    _ value: Context, _ finalizer: ContextFunction?, lifetime: Int64, leeway: Int64 = 0, label: String = "",
    flags: TimerOptions.Flags = [], on queue: UInt64
  ) throws(Status) -> UInt64 {
    guard let core = QueueCore.find(queue) else { throw QueueCore.unknown(queue) }
    if core.givesRecords { throw Status.unsupported.because("queue gives records, and calls no finalizers") }
    let expiring = Expiring()
    let value = OwnedContext(value, finalizer)
    let id: UInt64
    do {
      let limited = try LimitedValue.make(
        value, lifetime: lifetime, leeway: leeway, label: label, flags: flags, queue: queue
      ) { expiring.end($0) }
      expiring.limited = limited
      id = try table.add(expiring)
    } catch {
      value.disown()
      expiring.limited?.vanish()
      throw error
    }
    _ = consume value
    expiring.limited?.begin()
    return id
  }

  /// Sets the handler that is called once, after the value has vanished; `nil` for none.
  /// - Returns: ok; ignored if the value has vanished: the context stays the caller's; invalidHandle.
  package static func onExpiry(
    _ id: UInt64, _ handler: TickFunction?, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    guard let (expiring, limited) = find(id) else { return unknown(id) }
    if !limited.isThere { return limited.isClosed ? unknown(id) : .ignored }
    let new = handler.map { Expiry($0, OwnedContext(context, finalizer)) }
    let bits = new.map { UInt(bitPattern: unsafe Unmanaged.passRetained($0).toOpaque()) } ?? none
    var current = expiring.expiry.load(ordering: .relaxed)
    while current != nobody {
      let (isDone, found) = expiring.expiry.compareExchange(
        expected: current, desired: bits, ordering: .acquiringAndReleasing)
      if isDone {
        _ = taken(current)
        return .ok
      }
      current = found
    }
    taken(bits)?.context.disown()
    return limited.isClosed ? unknown(id) : .ignored
  }

  /// Gives the value, which stays valid until it is yielded; `nil` if it has vanished.
  package static func acquire(_ id: UInt64) throws(Status) -> Context? {
    guard let (_, limited) = find(id) else { throw unknown(id) }
    switch limited.acquire() {
    case .value(let value): return value.context
    case .vanished: return nil
    case .released: throw unknown(id)
    }
  }

  /// Undoes one `acquire`, also after the release; ignored if there is none.
  package static func yield(_ id: UInt64) -> Status {
    guard let limited = table.find(id)?.limited else { return unknown(id) }
    guard let isLast = limited.yield() else { return .ignored }
    if isLast { table.remove(id) }
    return .ok
  }

  /// Restarts the value's time; ignored if it has vanished.
  /// - Parameter lifetime: 0 or more, from now.
  package static func reset(_ id: UInt64, lifetime: Int64) -> Status {
    find(id)?.1.reset(lifetime: lifetime) ?? unknown(id)
  }

  /// Ends it: there is no notification any more, and the value is released unless it is acquired.
  /// - Returns: ok; running if the handler that had started has not returned; invalidHandle.
  package static func release(_ id: UInt64) -> Status {
    guard let (_, limited) = find(id), let (isTold, isUsed) = limited.close() else { return unknown(id) }
    if !isUsed { table.remove(id) }
    limited.vanish()
    return isTold ? .running : .ok
  }

  // MARK: Who is told

  /// Who was told by these bits, which the caller has swapped out.
  private static func taken(_ bits: UInt) -> Expiry? {
    // SAFETY: retained when they were stored.
    unsafe bits == nobody
      ? nil : UnsafeRawPointer(bitPattern: bits).map { unsafe Unmanaged.fromOpaque($0).takeRetainedValue() }
  }

  /// The value has vanished: by a tick, on the queue, which is notified; or by the release or the queue's end.
  private func end(_ expired: (value: OwnedContext, tick: CoreTick)?) {
    // A release beside this waits for who is told, or keeps this from telling; so that is settled before it is taken.
    let tells = expired != nil && expiry.load(ordering: .acquiring) != Self.none && limited?.mayTell() == true
    let expiry = Self.taken(expiry.exchange(Self.nobody, ordering: .acquiringAndReleasing))
    if !tells { return }
    do throws(Forked) {
      if let (value, tick) = expired, let expiry {
        try expiry.handler(
          CoreTick(
            timer: 0, generation: tick.generation, sequence: 1, missed: 0, scheduled: tick.scheduled,
            actual: tick.actual, context: expiry.context.context, target: value.context, kind: TickKind.due.rawValue))
      }
      limited?.hasTold()
    } catch {}  // Its caller, which called it by a function of C, sees that, too.
    withExtendedLifetime((expired, expiry)) {}
  }
}

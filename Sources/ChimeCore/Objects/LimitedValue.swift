import Synchronization

/// A value that vanishes after an interval, unless that is restarted. `TimeLimited` and C's expiring values are built
/// on it; both call `vanish` when they go. Any thread; no call waits for another, nor does the tick (P29).
package final class LimitedValue<Value: Sendable>: @unchecked Sendable {
  // Unchecked for `held` and `onEnd`, which whoever has ended the value, or given its last hold back, has for itself.

  /// Who still needs the value, in one word.
  private struct Uses {
    var bits: UInt64

    /// Its time is not over.
    static var isThere: UInt64 { 1 }
    /// Its owner has released it.
    static var isClosed: UInt64 { 2 }
    /// `onEnd` tells somebody, who has not returned.
    static var isTold: UInt64 { 4 }
    static var one: UInt64 { 8 }

    func has(_ bit: UInt64) -> Bool { bits & bit != 0 }
    var count: UInt64 { bits / Uses.one }
    /// Nobody does.
    var isLetGo: Bool { count == 0 && !has(Uses.isThere) }
  }

  /// How an acquire ends.
  package enum Acquired {
    case value(Value)
    case vanished
    case released
  }

  /// Held by the timer only: released with it, or with its queue.
  private final class Receiver: TickReceiver {
    let limited: LimitedValue
    init(_ limited: LimitedValue) { self.limited = limited }
    override func ticked(_ tick: CoreTick) { limited.end(tick) }
    deinit { limited.end(nil) }
  }

  /// How far its making has come.
  private enum Making {
    /// A tick ends nothing, because the value would go where it is made.
    static var underWay: UInt8 { 0 }
    /// A tick has come meanwhile.
    static var isLate: UInt8 { 1 }
    static var over: UInt8 { 2 }
  }

  /// The queue whose clock decides.
  private let queue: UInt64
  /// How late its timer may be. It vanishes on time all the same.
  private let leeway: Int64
  /// In the queue's steady time: a lifetime is a distance, which steps of the wall clock do not change. Whoever swaps
  /// `ended` in ends the value.
  private let deadline: Atomic<Int64>
  private let uses = Atomic<UInt64>(Uses.isThere)
  private let making = Atomic<UInt8>(Making.underWay)
  /// 0 until it was made.
  private let timer = Atomic<UInt64>(0)
  private var held: Value?
  private var onEnd: (((Value, CoreTick)?) -> Void)?

  /// The deadline of a value that has ended; no queue's time begins so early.
  private static var ended: Int64 { .min }

  /// - Parameters:
  ///   - lifetime: 0 or more, from now.
  ///   - leeway: 0 or more.
  ///   - label: of its timer; empty: none.
  ///   - onEnd: gets the value that has vanished, and the tick; `nil` after `vanish` or the end of the queue has taken
  ///     the value away. Called once, with no lock held, and by a tick not before `begin`.
  package static func make(
    _ value: Value, lifetime: Int64, leeway: Int64 = 0, label: String = "",
    flags: TimerOptions.Flags = [], queue: UInt64, onEnd: sending @escaping ((Value, CoreTick)?) -> Void
  ) throws(Status) -> LimitedValue {
    guard lifetime >= 0 else { throw refusal(of: lifetime) }
    let deadline = end(of: lifetime, from: QueueCore.steadyNow(queue) ?? 0)
    let limited = LimitedValue(queue, leeway, deadline, value, onEnd)
    let isWall = QueueControlBlocks.find(queue)?.isWall == true
    let schedule = limited.schedule(deadline, lifetime, isWall)
    limited.timer.store(
      try Receiver(limited).makeTimer(on: queue, schedule, label: label, flags), ordering: .relaxed)
    return limited
  }

  /// Called once by whoever has made it, and holds the value no more.
  package func begin() {
    guard making.exchange(Making.over, ordering: .acquiringAndReleasing) == Making.isLate,
      let timer = TimerRef(timer.load(ordering: .relaxed))
    else { return }
    _ = timer.restart(schedule(deadline.load(ordering: .relaxed), 0, timer.control.isWall))
  }

  private init(
    _ queue: UInt64, _ leeway: Int64, _ deadline: Int64, _ value: Value,
    _ onEnd: sending @escaping ((Value, CoreTick)?) -> Void
  ) {
    self.queue = queue
    self.leeway = leeway
    self.deadline = Atomic(deadline)
    held = value
    self.onEnd = onEnd
  }

  private static func end(of lifetime: Int64, from now: Int64) -> Int64 { max(now.saturatingAdd(lifetime), ended + 1) }

  /// `Int64.max` is never, as for timers.
  private static func isOver(_ deadline: Int64, at now: Int64) -> Bool { deadline <= now && deadline != .max }

  /// Where deadlines are times of day the timer gets the distance.
  private func schedule(_ deadline: Int64, _ lifetime: Int64, _ isWall: Bool) -> Schedule {
    isWall
      ? Schedule(first: lifetime, leeway: leeway) : Schedule(first: deadline, firstIsDeadline: true, leeway: leeway)
  }

  private static func refusal(of lifetime: Int64) -> Status {
    Status.invalidArgument.because("lifetime is %t: it must be 0 or more", lifetime)
  }

  // MARK: The end

  /// Takes the value away, unless its time was restarted after the tick had started: then the timer runs again.
  private func end(_ tick: CoreTick?) {
    guard tick == nil ? deadline.exchange(Self.ended, ordering: .acquiringAndReleasing) != Self.ended : isOverNow()
    else { return }
    let onEnd = onEnd.take()
    let value = tick == nil ? nil : held
    letGo(changeUses { $0 & ~Uses.isThere })
    if let tick, let value { onEnd?((value, tick)) } else { onEnd?(nil) }
  }

  /// Whether a tick finds the time over; nobody finds that again.
  private func isOverNow() -> Bool {
    let isMade =
      making.compareExchange(
        expected: Making.underWay, desired: Making.isLate, ordering: .acquiringAndReleasing
      ).original == Making.over
    if !isMade { return false }
    var current = deadline.load(ordering: .acquiring)
    while current != Self.ended {
      if let now = QueueCore.steadyNow(queue), !Self.isOver(current, at: now) { return false }
      let (isDone, found) = deadline.compareExchange(
        expected: current, desired: Self.ended, ordering: .acquiringAndReleasing)
      if isDone { return true }
      current = found
    }
    return false
  }

  /// Takes the value away for good.
  package func vanish() {
    end(nil)
    _ = TimerRef.release(timer.load(ordering: .relaxed))
  }

  // MARK: Its uses

  /// Gives the word, and what it took the place of; `nil` where `next` gives none.
  private func changeUses(_ next: (UInt64) -> UInt64?) -> (old: Uses, new: Uses)? {
    var old = uses.load(ordering: .relaxed)
    while let new = next(old) {
      let (isDone, found) = uses.compareExchange(expected: old, desired: new, ordering: .acquiringAndReleasing)
      if isDone { return (Uses(bits: old), Uses(bits: new)) }
      old = found
    }
    return nil
  }

  /// Releases the value behind a change after which nobody needs it.
  private func letGo(_ change: (old: Uses, new: Uses)?) {
    if let change, change.new.isLetGo, !change.old.isLetGo { held = nil }
  }

  /// Gives the value, if its time is not over, and it was not closed; it is needed until one `yield` more.
  package func acquire() -> Acquired {
    guard !isClosed else { return .released }
    if isThere, tryUse(), let held { return .value(held) }
    return isClosed ? .released : .vanished
  }

  /// False once its time is over, or it was closed.
  private func tryUse() -> Bool {
    changeUses { $0 & (Uses.isThere | Uses.isClosed) == Uses.isThere ? $0 + Uses.one : nil } != nil
  }

  /// Undoes one `acquire`; `nil` if there is none. True if it was the last of what is closed.
  package func yield() -> Bool? {
    guard let change = changeUses({ $0 >= Uses.one ? $0 - Uses.one : nil }) else { return nil }
    letGo(change)
    return change.new.has(Uses.isClosed) && change.new.count == 0
  }

  /// Gives out nothing any more, and tells nobody; `nil` if it was so.
  package func close() -> (isTold: Bool, isUsed: Bool)? {
    changeUses { $0 & Uses.isClosed == 0 ? $0 | Uses.isClosed : nil }
      .map { ($0.old.has(Uses.isTold), $0.old.count > 0) }
  }

  package var isClosed: Bool { Uses(bits: uses.load(ordering: .acquiring)).has(Uses.isClosed) }

  /// Whether `onEnd` may tell somebody; `hasTold` follows.
  package func mayTell() -> Bool { changeUses { $0 & Uses.isClosed == 0 ? $0 | Uses.isTold : nil } != nil }

  package func hasTold() { _ = changeUses { $0 & ~Uses.isTold } }

  /// The value, until its time is over.
  package var value: Value? {
    guard case .value(let value) = acquire() else { return nil }
    _ = yield()
    return value
  }

  /// Whether the value is still given.
  package var isThere: Bool {
    guard let now = QueueCore.steadyNow(queue) else { return false }
    return !Self.isOver(deadline.load(ordering: .acquiring), at: now)
  }

  /// Restarts the time: ok; ignored if the value has vanished; invalidArgument, limit, noMemory.
  /// - Parameter lifetime: 0 or more, from now.
  package func reset(lifetime: Int64) -> Status {
    guard lifetime >= 0 else { return LimitedValue.refusal(of: lifetime) }
    guard let now = QueueCore.steadyNow(queue) else { return .ignored }
    var wanted = Self.end(of: lifetime, from: now)
    var current = deadline.load(ordering: .acquiring)
    while true {
      if Self.isOver(current, at: now) { return .ignored }
      let (isDone, found) = deadline.compareExchange(
        expected: current, desired: wanted, ordering: .acquiringAndReleasing)
      if isDone { break }
      current = found
    }
    // With its queue the value vanishes.
    guard let timer = TimerRef(timer.load(ordering: .relaxed)) else { return .ignored }
    // Until the timer stands where the last of several calls wants it.
    while true {
      let left = wanted == .max ? .max : max(wanted.saturatingSubtract(now), 0)
      let status = timer.restart(schedule(wanted, left, timer.control.isWall))
      if status == .invalidHandle || status == .forked { return .ignored }
      if status.isFailure { return status }
      let current = deadline.load(ordering: .sequentiallyConsistent)
      if current == wanted || current == Self.ended { return .ok }
      wanted = current
    }
  }
}

/// What a timer tells of each tick, and releases when it has ended.
package class TickReceiver {
  func ticked(_ tick: CoreTick) {}

  /// The handler of a timer whose context is a reference to a receiver.
  static var handler: TickFunction {
    unsafe TickFunction { tick, context in
      guard let context = unsafe context else { return }
      // SAFETY: the core's tick; and the reference, which the timer releases afterwards.
      let record = unsafe tick.load(as: CoreTick.self)
      unsafe Unmanaged<TickReceiver>.fromOpaque(context).takeUnretainedValue().ticked(record)
    }
  }

  /// Makes a timer that tells this, and starts it. Gives its id.
  final func makeTimer(
    on queue: UInt64, _ schedule: Schedule, label: String = "", _ flags: TimerOptions.Flags = []
  ) throws(Status) -> UInt64 {
    let context = Context.retaining(self)
    var id: UInt64 = 0
    let options = TimerOptions(handler: TickReceiver.handler, context: context, flags: flags.union(.ownsContext))
    let status = options.labelled(label) { unsafe TimerRef.create(on: queue, $0, schedule, out: &id) }
    if !status.isFailure { return id }
    context.releaseObject()
    throw status
  }
}

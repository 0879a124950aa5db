/// A value that vanishes after an interval, unless that is restarted. `TimeLimited` and C's expiring values are built
/// on it; both call `vanish` when they go. Any thread.
package final class LimitedValue<Value: Sendable>: Sendable {
  private struct State {
    var value: Value?
    /// In the queue's steady time: a lifetime is a distance, which steps of the wall clock do not change.
    var deadline: Int64
    /// Goes with the value.
    var onEnd: (((Value, CoreTick)?) -> Void)?
    /// 0 until it was made.
    var timer: UInt64 = 0
    /// Its maker holds the value no more. Until then a tick ends nothing, because the value would go where it is made.
    var hasBegun = false
    /// A tick came before that.
    var isLate = false

    /// `Int64.max` is never, as for timers.
    func isOver(_ now: Int64) -> Bool { deadline <= now && deadline != .max }
  }

  /// Held by the timer only: released with it, or with its queue.
  private final class Receiver: TickReceiver {
    let limited: LimitedValue
    init(_ limited: LimitedValue) { self.limited = limited }
    override func ticked(_ tick: CoreTick) { limited.end(tick) }
    deinit { limited.end(nil) }
  }

  /// The queue whose clock decides.
  private let queue: UInt64
  /// How late its timer may be. It vanishes on time all the same.
  private let leeway: Int64
  private let state: Locked<State>

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
    let deadline = (QueueCore.steadyNow(queue) ?? 0).saturatingAdd(lifetime)
    let limited = LimitedValue(queue, leeway, State(value: value, deadline: deadline, onEnd: onEnd))
    let isWall = QueueControlBlocks.find(queue)?.isWall == true
    let schedule = limited.schedule(deadline, lifetime, isWall)
    let timer = try Receiver(limited).makeTimer(on: queue, schedule, label: label, flags)
    limited.state.withLock { $0.timer = timer }
    return limited
  }

  /// Called once by whoever has made it, and holds the value no more.
  package func begin() {
    let (isLate, id, deadline) = state.withLock { state in
      state.hasBegun = true
      return (state.isLate, state.timer, state.deadline)
    }
    guard isLate, let timer = TimerRef(id) else { return }
    _ = timer.restart(schedule(deadline, 0, timer.control.isWall))
  }

  private init(_ queue: UInt64, _ leeway: Int64, _ state: sending State) {
    self.queue = queue
    self.leeway = leeway
    self.state = Locked(state)
  }

  /// Where deadlines are times of day the timer gets the distance.
  private func schedule(_ deadline: Int64, _ lifetime: Int64, _ isWall: Bool) -> Schedule {
    isWall
      ? Schedule(first: lifetime, leeway: leeway) : Schedule(first: deadline, firstIsDeadline: true, leeway: leeway)
  }

  private static func refusal(of lifetime: Int64) -> Status {
    Status.invalidArgument.because("lifetime is %t: it must be 0 or more", lifetime)
  }

  /// Takes the value away, unless its time was restarted after the tick had started: then the timer runs again.
  private func end(_ tick: CoreTick?) {
    // Released, and called, outside the lock.
    var (old, onEnd): (Value?, (((Value, CoreTick)?) -> Void)?) = state.withLock { state in
      if tick != nil, let now = QueueCore.steadyNow(queue), !state.isOver(now) { return (nil, nil) }
      if tick != nil, !state.hasBegun {
        state.isLate = true
        return (nil, nil)
      }
      defer { (state.value, state.onEnd) = (nil, nil) }
      return (state.value, state.onEnd)
    }
    if let tick, let value = old {
      onEnd?((value, tick))
    } else {
      old = nil
      onEnd?(nil)
    }
  }

  /// Takes the value away for good.
  package func vanish() {
    end(nil)
    _ = TimerRef.release(state.withLock { $0.timer })
  }

  /// The value, until its time is over.
  package var value: Value? {
    guard let now = QueueCore.steadyNow(queue) else { return nil }
    return state.withLock { $0.isOver(now) ? nil : $0.value }
  }

  /// Restarts the time: ok; ignored if the value has vanished; invalidArgument, limit, noMemory.
  /// - Parameter lifetime: 0 or more, from now.
  package func reset(lifetime: Int64) -> Status {
    guard lifetime >= 0 else { return LimitedValue.refusal(of: lifetime) }
    guard let now = QueueCore.steadyNow(queue) else { return .ignored }
    var wanted = now.saturatingAdd(lifetime)
    let timer: UInt64? = state.withLock { state in
      guard state.value != nil, !state.isOver(now) else { return nil }
      state.deadline = wanted
      return state.timer
    }
    // With its queue the value vanishes.
    guard let timer = timer.flatMap({ TimerRef($0) }) else { return .ignored }
    // Outside the lock, since a restart may call what other timers call last; and until the timer stands where the last
    // of several calls wants it.
    while true {
      let left = wanted == .max ? .max : max(wanted.saturatingSubtract(now), 0)
      let status = timer.restart(schedule(wanted, left, timer.control.isWall))
      if status == .invalidHandle || status == .forked { return .ignored }
      if status.isFailure { return status }
      let current = state.withLock { $0.deadline }
      if current == wanted { return .ok }
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

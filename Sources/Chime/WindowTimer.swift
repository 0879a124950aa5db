import ChimeCore

/// What is behind a `TriggeredAction`: a window that the first trigger opens, an action at its beginning, its end, or both,
/// and one timer. Triggers come from any thread; the action runs on the queue, and its calls never overlap.
final class WindowTimer: Sendable {
  /// A timing, checked, in nanoseconds.
  struct Window {
    let interval: Int64
    let longest: Int64
    let leading: Bool
    let trailing: Bool
    let extends: Bool

    init(_ timing: TriggeredAction.Timing) throws(ChimeError) {
      try Schedule.checkInterval(timing.interval)
      if let longest = timing.longest, longest <= .zero { throw .argument("atMost is \(longest): it must be above 0") }
      if !timing.leading, !timing.trailing {
        throw .argument("leading and trailing are false: the action would never run")
      }
      (interval, longest) = (timing.interval.nanoseconds, timing.longest?.nanoseconds ?? .max)
      (leading, trailing, extends) = (timing.leading, timing.trailing, timing.extends)
    }

    /// When a window ends that the latest trigger extends.
    func end(_ latest: Int64, _ first: Int64) -> Int64 {
      min(latest.saturatingAdd(interval), first.saturatingAdd(longest))
    }
  }

  fileprivate enum Phase {
    /// No window is open.
    case closed
    /// A window is open, and the action of its beginning is about to run.
    case leading
    /// A window is open.
    case open
  }

  /// From a trigger until the action has returned: the only place that knows whether the action is pending.
  fileprivate struct State {
    var phase = Phase.closed
    /// Whether the action runs at the window's end.
    var isWanted = false
    /// The latest trigger, and the first that no action has followed.
    var (latest, first): (Int64, Int64) = (0, 0)
    /// When the timer has to tick; what ticks earlier was called off.
    var wanted = Int64.max

    /// Whether the timer has ticked for a call that has not begun: one that waits for its actor, or for the call before.
    var isDue = false
    /// Whether there is a task that will begin what is due.
    var hasTask = false
    var isRunning = false
    /// How many calls have begun.
    var begun = 0
    /// Whether triggers have gone with the queue.
    var hasLost = false
    /// Who waits, and for the end of which call.
    var flushes: [(call: Int, end: FirstEnd<Void>)] = []

    /// Whether a call is to begin.
    var isAwaited: Bool { phase == .leading || isWanted || isDue }

    /// No call begins any more for what was triggered so far. Gives who has no call to wait for; the others wait on.
    mutating func callOff() -> [FirstEnd<Void>] {
      (phase, isWanted, wanted, isDue) = (.closed, false, .max, false)
      if isRunning {
        for index in flushes.indices { flushes[index].call = min(flushes[index].call, begun) }
        return []
      }
      defer { flushes = [] }
      return flushes.map(\.end)
    }
  }

  /// The part that the handler keeps.
  final class Shared: Sendable {
    fileprivate let state = Locked(State())
    /// Whether windows are measured on the monotonic clock, because the queue's may be stepped.
    let isSteady: Bool
    /// The calls of an asynchronous action.
    let calls: HandlerCalls?
    /// Begins the task in which that is called; `nil` before it is set.
    fileprivate let starter = Locked<TaskStarter<ChimeTimer.Reference>?>(nil)

    init(on queue: AnyTimerQueue, calls: HandlerCalls? = nil) {
      isSteady = queue.timeline == .wall && QueueCore.find(queue.id)?.control.isVirtual == false
      self.calls = calls
    }

    // MARK: Calls

    /// Begins what is due, if the queue has not ended.
    fileprivate func begin(_ timer: ChimeTimer.Reference) -> Bool {
      let isAlive = timer.generation != nil
      return state.withLock { state in
        guard state.isDue, isAlive else {
          state.hasTask = false
          return false
        }
        (state.isDue, state.isRunning) = (false, true)
        state.begun += 1
        return true
      }
    }

    fileprivate func end() {
      let over = state.withLock { state in
        state.isRunning = false
        defer { state.flushes.removeAll { $0.call <= state.begun } }
        return state.flushes.filter { $0.call <= state.begun }
      }
      for flush in over { flush.end.end(.success(())) }
    }

    /// In the queue's tick: calls the action.
    func call(_ timer: ChimeTimer.Reference, _ action: () -> Void) {
      guard begin(timer) else { return }
      action()
      end()
    }

    /// In a task: calls the action as often as it is due.
    func call(
      _ timer: ChimeTimer.Reference, on actor: isolated (any Actor)?, _ action: nonisolated(nonsending) () async -> Void
    ) async {
      guard let calls else { return }
      while calls.begin(on: actor, { begin in self.begin(timer) ? begin() : nil }) != nil {
        await calls.call(on: actor, action)
        end()
        calls.end()
      }
    }

    /// Begins a task for what is due, if there is none, and an action has been set.
    fileprivate func startTask(for timer: ChimeTimer.Reference) {
      guard let starter = starter.withLock({ $0 }) else { return }
      let isWanted: Bool = state.withLock { state in
        if !state.isDue || state.hasTask { return false }
        state.hasTask = true
        return true
      }
      if isWanted { starter.start(timer) }
    }

    // MARK: Ends

    /// Forgets what was triggered.
    func callOff() {
      for flush in state.withLock({ $0.callOff() }) { flush.end(.success(())) }
    }

    /// The task cannot call the action any more.
    func giveUp() {
      state.withLock { $0.hasTask = false }
      callOff()
    }

    /// The timer cannot be started: the next trigger tries again.
    fileprivate func fail(_ error: any Error) {
      let flushes = state.withLock { state in
        if state.phase == .leading { state.isWanted = true }
        state.phase = .closed
        defer { state.flushes = [] }
        return state.flushes
      }
      for flush in flushes { flush.end.end(.failure(error)) }
    }

    /// The timer has ended: lets go of the action.
    func dispose() {
      lose()
      let last = starter.withLock { current in
        defer { current = nil }
        return current
      }
      withExtendedLifetime(last) {}
    }

    /// The queue has ended: what is to begin is lost.
    func lose() {
      let lost: [FirstEnd<Void>] = state.withLock { state in
        if !state.isAwaited { return [] }
        state.hasLost = true
        let begun = state.begun
        defer { state.flushes.removeAll { $0.call > begun } }
        let lost = state.flushes.filter { $0.call > begun }.map(\.end)
        (state.phase, state.isWanted, state.wanted, state.isDue) = (.closed, false, .max, false)
        return lost
      }
      for flush in lost { flush.end(.failure(ChimeError.shutDown)) }
    }
  }

  /// Held by the timer's handler only: when that goes, nothing runs any more.
  private final class End: Sendable {
    let shared: Shared
    init(_ shared: Shared) { self.shared = shared }
    deinit { shared.dispose() }
  }

  private let shared: Shared
  private let queue: AnyTimerQueue
  private let timer: ChimeTimer
  private let window: Window

  /// - Parameter act: in a tick, when the action is due.
  init(
    _ timing: TriggeredAction.Timing, on queue: AnyTimerQueue, _ shared: Shared,
    _ act: sending @escaping (_ timer: ChimeTimer.Reference) -> Void
  ) throws(ChimeError) {
    let window = try Window(timing)
    (self.queue, self.shared, self.window) = (queue, shared, window)
    let end = End(shared)
    timer = try queue.makeIdle { tick in
      let (shared, timer) = (end.shared, tick.timer)
      let now = shared.isSteady ? Clock.monotonic.now : tick.start
      let (isDue, next) = shared.state.withLock { $0.tick(now, window) }
      if let next { WindowTimer.arm(timer, shared, next) }
      if isDue { act(timer) }
    }
  }

  /// With an asynchronous action, which `setAction` sets.
  convenience init(tasks timing: TriggeredAction.Timing, on queue: AnyTimerQueue) throws(ChimeError) {
    let shared = Shared(on: queue, calls: HandlerCalls(on: queue))
    try self.init(timing, on: queue, shared) { timer in shared.startTask(for: timer) }
  }

  /// - Parameter begin: begins a task that calls the action.
  func setAction(_ begin: @escaping @Sendable (Shared, ChimeTimer.Reference) -> Void) {
    if shared.calls == nil { return }
    // The starter does not hold its holder.
    let starter = TaskStarter<ChimeTimer.Reference> { [weak shared] timer in
      if let shared { begin(shared, timer) }
    }
    let previous = shared.starter.withLock { current in
      defer { current = starter }
      return current
    }
    // As the tick has it, so that no call keeps the timer.
    withExtendedLifetime(previous) { shared.startTask(for: timer.reference) }
  }

  deinit { shared.callOff() }

  private var now: Int64 { shared.isSteady ? Clock.monotonic.now : queue.now.nanoseconds }

  func trigger() {
    let (now, window) = (now, window)
    if let next = shared.state.withLock({ $0.trigger(now, window) }) { WindowTimer.arm(timer.reference, shared, next) }
  }

  /// Forgets what was triggered.
  func cancel() {
    timer.cancel()
    shared.callOff()
  }

  var isPending: Bool {
    let isAlive = timer.generation != nil
    return shared.state.withLock { $0.isRunning || $0.isAwaited && isAlive }
  }

  nonisolated(nonsending) func flush() async throws {
    let wait = try HandlerCalls.beginWait(for: shared.calls.map { [$0] } ?? [])
    defer { wait.end() }
    let (now, flush) = (now, FirstEnd<Void>())
    let (isPending, arms, hasLost) = shared.state.withLock { state in
      guard state.isAwaited || state.isRunning else { return (false, false, state.hasLost) }
      let arms = state.isAwaited && !state.isDue
      if arms { state.wanted = min(state.wanted, now) }
      state.flushes.append((state.isAwaited ? state.begun + 1 : state.begun, flush))
      return (true, arms, false)
    }
    if hasLost { throw ChimeError.shutDown }
    if !isPending { return }
    if arms { WindowTimer.arm(timer.reference, shared, now) }
    if timer.generation == nil { shared.lose() }
    try await flush.wait()
  }

  /// Outside the lock, since the core may release what others hold; until the timer stands where the last call wants it.
  private static func arm(_ timer: ChimeTimer.Reference, _ shared: Shared, _ first: Int64) {
    var next = first
    while true {
      let schedule =
        shared.isSteady
        ? Schedule(first: max(0, next.saturatingSubtract(Clock.monotonic.now)))
        : Schedule(first: next, firstIsDeadline: true)
      do {
        if try timer.restart(schedule).isIgnored { return shared.lose() }
      } catch {
        return shared.fail(error)
      }
      let wanted = shared.state.withLock { $0.wanted }
      if wanted == next || wanted == .max { return }
      next = wanted
    }
  }
}

extension WindowTimer.State {
  /// Gives when the timer has to tick, if that changes.
  fileprivate mutating func trigger(_ now: Int64, _ window: WindowTimer.Window) -> Int64? {
    latest = now
    if !isWanted { first = now }
    switch phase {
    case .closed:
      phase = window.leading ? .leading : .open
      isWanted = !window.leading
      wanted = phase == .leading ? now : window.end(now, now)
    case .leading:
      isWanted = window.trailing
      return nil
    case .open:
      if window.trailing { isWanted = true }
      guard window.extends else { return nil }
      wanted = isWanted ? window.end(now, first) : now.saturatingAdd(window.interval)
    }
    return wanted
  }

  /// Notes what is due. Gives whether the action is, and when the timer has to tick next.
  fileprivate mutating func tick(_ now: Int64, _ window: WindowTimer.Window) -> (isDue: Bool, next: Int64?) {
    // Called off, or early by what two readings of the monotonic clock differ.
    guard now >= wanted else { return (false, wanted == .max ? nil : wanted) }
    switch phase {
    case .leading:
      phase = .open
      wanted = window.extends ? window.end(max(latest, now), now) : now.saturatingAdd(window.interval)
      isDue = true
      return (true, wanted)
    case .open where isWanted && !window.extends:
      // A throttled action begins a window of its own.
      isWanted = false
      wanted = now.saturatingAdd(window.interval)
      isDue = true
      return (true, wanted)
    case .closed, .open:
      if isWanted { isDue = true }
      defer { (phase, isWanted, wanted) = (.closed, false, .max) }
      return (isWanted, nil)
    }
  }
}

import ChimeCore

/// When a `TriggeredAction` acts.
extension TriggeredAction {
  /// When an action runs that is asked for more often than it should run: `debounce` or `throttle`.
  public struct Timing: Sendable {
    fileprivate let interval: Duration
    fileprivate let longest: Duration?
    fileprivate let leading: Bool
    fileprivate let trailing: Bool
    /// Whether a trigger moves the window's end.
    fileprivate let extends: Bool

    /// Debounced: once nothing has been triggered for a while. A search while somebody types, saving after changes.
    ///
    /// - Parameters:
    ///   - quiet: how long nothing must have been triggered; above 0.
    ///   - longest: it acts that long after a trigger at the latest, however many follow; above 0, `nil` for no limit.
    ///   - leading: whether it acts at the first trigger.
    ///   - trailing: whether it acts when it is quiet again; with `leading`, only if something was triggered after the
    ///     first.
    /// - Returns: the timing; what is out of range is refused by the action that gets it.
    public static func debounce(
      _ quiet: Duration, atMost longest: Duration? = nil, leading: Bool = false, trailing: Bool = true
    ) -> Timing {
      Timing(interval: quiet, longest: longest, leading: leading, trailing: trailing, extends: true)
    }

    /// Throttled: at most once an interval, however often it is triggered. Saving, progress, requests.
    ///
    /// - Parameters:
    ///   - interval: the least time between two calls of the action; above 0.
    ///   - leading: whether it acts at once, if the last call is long enough ago.
    ///   - trailing: whether it acts at the end of the interval, for what was triggered meanwhile.
    /// - Returns: the timing; what is out of range is refused by the action that gets it.
    public static func throttle(_ interval: Duration, leading: Bool = true, trailing: Bool = true) -> Timing {
      Timing(interval: interval, longest: nil, leading: leading, trailing: trailing, extends: false)
    }
  }
}

/// What is behind a `TriggeredAction`: a window that the first trigger opens, an action at its beginning, its end, or both,
/// and one timer. Triggers come from any thread; the action runs on the queue, and its calls never overlap.
private final class WindowTimer: Sendable {
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
    fileprivate func call(_ timer: ChimeTimer.Reference, _ action: () -> Void) {
      guard begin(timer) else { return }
      action()
      end()
    }

    /// In a task: calls the action as often as it is due.
    fileprivate func call(
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
    fileprivate func fail(_ error: ChimeError) {
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

/// Debounce and throttle: an action that is asked for more often than it should run, and runs once it is quiet (debounced),
/// or at most once an interval (throttled).
///
///     let search = try TriggeredAction(.debounce(.milliseconds(300)), on: queue) { find() }
///     let save = try TriggeredAction(.throttle(.seconds(1)), on: queue, task: { await write() })
///     search.trigger()  // at each key
///
/// Any thread. The action's calls never overlap: what is due while an asynchronous one runs is one more call after it. No call
/// begins after `cancel`, or once the last reference has gone; one that has begun ends by itself.
public final class TriggeredAction: Sendable {
  private let window: WindowTimer

  /// An action on a queue.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: where `action` runs.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  @_disfavoredOverload
  public init(_ timing: Timing, on queue: AnyTimerQueue, action: sending @escaping () -> Void) throws(ChimeError) {
    let shared = WindowTimer.Shared(on: queue)
    window = try WindowTimer(timing, on: queue, shared) { timer in shared.call(timer, action) }
  }

  /// An action on the main actor.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: gives the time.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public init(_ timing: Timing, on queue: MainTimerQueue, action: @escaping @MainActor () -> Void) throws(ChimeError) {
    let shared = WindowTimer.Shared(on: queue)
    window = try WindowTimer(timing, on: queue, shared) { timer in
      MainActor.assumeIsolated { shared.call(timer) { action() } }
    }
  }

  /// An asynchronous action, in a task, on its own actor if it has one: like that of a `Task`, it is isolated as the code is
  /// around it. Unlike a `Task`, it keeps no task-local values, neither of the code that makes it nor of the one that triggers
  /// it: capture those that it needs, and bind them in the action.
  ///
  ///     let id = Request.id
  ///     saving = try TriggeredAction(.throttle(.seconds(1)), on: queue, task: {
  ///       await Request.$id.withValue(id) { await write() }
  ///     })
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: gives the time.
  ///   - action: what to do. What it captures is kept: `[weak self]`, or `setAction(on:_:)`.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init(
    _ timing: Timing, on queue: AnyTimerQueue,
    @_inheritActorContext task action: @escaping @isolated(any) @Sendable () async -> Void
  ) throws(ChimeError) {
    try self.init(timing, on: queue)
    window.setAction { shared, timer in
      Task { await shared.call(timer, on: action.isolation) { await action() } }
    }
  }

  /// An action that is still to be set, with `setAction(on:_:)`: on an actor, which may store it in its `init`.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: gives the time.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public init(_ timing: Timing, on queue: AnyTimerQueue) throws(ChimeError) {
    window = try WindowTimer(tasks: timing, on: queue)
  }

  /// Sets what to do, on an actor, as long as the actor lives; what was triggered before waits for it.
  ///
  ///     actor Store {
  ///       private let saving: TriggeredAction
  ///
  ///       init(on queue: TimerQueue) throws {
  ///         saving = try TriggeredAction(.throttle(.seconds(1)), on: queue)
  ///         saving.setAction(on: self) { store in await store.write() }
  ///       }
  ///     }
  ///
  /// Of an action that was made without one; any other keeps its own. The action keeps no task-local values: capture those that
  /// it needs, and bind them.
  ///
  /// - Parameters:
  ///   - actor: held only during a call.
  ///   - action: what to do, isolated to the actor, with or without `await`. Takes the place of the one before, of which a call
  ///     that has begun goes on.
  public func setAction<Isolation: Actor>(
    on actor: Isolation, _ action: @escaping @Sendable (isolated Isolation) async -> Void
  ) {
    window.setAction { [weak actor] shared, timer in
      Task { [weak actor] in
        guard let actor else { return shared.giveUp() }
        await shared.call(timer, on: actor) { await action(actor) }
      }
    }
  }

  /// Asks for the action.
  public func trigger() { window.trigger() }

  /// Forgets what was triggered; an interval that had begun is over. A call that runs is not cancelled.
  public func cancel() { window.cancel() }

  /// Has the action run now, on the queue, if it is about to run now or later, and waits until it has returned, also if it
  /// was running before: for a clean end, before `shutdown`. What is triggered meanwhile is not waited for. On a virtual queue
  /// the action runs in the next `advance`. `withTimeout` limits the wait.
  ///
  /// - Throws: `shutDown` if the queue has ended before the action could run; `wouldDeadlock` inside an asynchronous action
  ///   that it would wait for; `CancellationError`.
  public nonisolated(nonsending) func flush() async throws { try await window.flush() }

  /// Whether the action is about to run, now or later, or runs: from a trigger until the action has returned.
  public var isPending: Bool { window.isPending }
}

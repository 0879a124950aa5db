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

  fileprivate struct State {
    var phase = Phase.closed
    /// Whether the action runs at the window's end.
    var isWanted = false
    /// The latest trigger, and the first that no action has followed.
    var (latest, first): (Int64, Int64) = (0, 0)
    /// When the timer has to tick; what ticks earlier was called off.
    var wanted = Int64.max
    /// Who waits for the next call of the action.
    var flushes: [FirstEnd<Void>] = []
  }

  /// The part that the handler keeps.
  final class Shared: Sendable {
    fileprivate let state = Locked(State())
    /// Whether windows are measured on the monotonic clock, because the queue's may be stepped.
    let isSteady: Bool

    init(on queue: AnyTimerQueue) {
      isSteady = queue.timeline == .wall && QueueCore.find(queue.id)?.control.isVirtual == false
    }

    /// Runs the action, for those who wait for it.
    func callAction(_ action: () -> Void) {
      let flushes = takeFlushes()
      action()
      for flush in flushes { flush.end(.success(())) }
    }

    nonisolated(nonsending) func callAction(_ action: nonisolated(nonsending) () async -> Void) async {
      let flushes = takeFlushes()
      await action()
      for flush in flushes { flush.end(.success(())) }
    }

    func takeFlushes() -> [FirstEnd<Void>] {
      state.withLock { state in
        defer { state.flushes = [] }
        return state.flushes
      }
    }
  }

  /// Held by the timer's handler only: when that goes, nothing runs any more.
  private final class End: Sendable {
    let shared: Shared
    init(_ shared: Shared) { self.shared = shared }
    deinit { for flush in shared.takeFlushes() { flush.end(.failure(ChimeError.shutDown)) } }
  }

  private let shared: Shared
  private let queue: AnyTimerQueue
  private let timer: ChimeTimer
  private let window: Window
  /// The calls of an asynchronous action.
  private let calls: TaskCalls?

  init(
    _ timing: TriggeredAction.Timing, on queue: AnyTimerQueue, _ shared: Shared, calls: TaskCalls? = nil,
    _ action: sending @escaping (_ tick: ChimeTimer.Tick, _ stops: Int) -> Void
  ) throws(ChimeError) {
    let window = try Window(timing)
    (self.queue, self.shared, self.window, self.calls) = (queue, shared, window, calls)
    let end = End(shared)
    timer = try queue.makeIdle { tick in
      let shared = end.shared
      // Before the look at the state: `cancel` changes that first.
      let stops = calls?.stops ?? 0
      let now = shared.isSteady ? Clock.monotonic.now : tick.start
      let (runs, next) = shared.state.withLock { $0.tick(now, window) }
      if let next { WindowTimer.arm(tick.timer, shared, next) }
      if runs { action(tick, stops) }
    }
  }

  deinit { _ = calls?.stop(.ignored) }

  private var now: Int64 { shared.isSteady ? Clock.monotonic.now : queue.now.nanoseconds }

  func trigger() {
    let (now, window) = (now, window)
    if let next = shared.state.withLock({ $0.trigger(now, window) }) { WindowTimer.arm(timer, shared, next) }
  }

  /// Forgets what was triggered.
  func cancel() {
    timer.cancel()
    let flushes = shared.state.withLock { state in
      defer { state = State() }
      return state.flushes
    }
    _ = calls?.stop(.ignored)
    // The second time what others have asked for meanwhile, which is called off, too.
    for flush in flushes + shared.takeFlushes() { flush.end(.success(())) }
  }

  var isPending: Bool { shared.state.withLock { $0.phase == .leading || $0.isWanted } }

  nonisolated(nonsending) func flush() async throws {
    let caller = try calls?.beginWait()
    defer { caller?.endWait() }
    let now = now
    let flush = FirstEnd<Void>()
    let isPending = shared.state.withLock { state in
      guard state.phase == .leading || state.isWanted else { return false }
      state.wanted = min(state.wanted, now)
      state.flushes.append(flush)
      return true
    }
    if isPending {
      WindowTimer.arm(timer, shared, now)
      if timer.generation == nil { throw ChimeError.shutDown }
      try await flush.wait()
    }
    _ = try await calls?.running.waitForNone(until: nil)
  }

  /// Outside the lock, since the core may release what others hold; until the timer stands where the last call wants it.
  private static func arm(_ timer: TimerReference, _ shared: Shared, _ first: Int64) {
    var next = first
    while true {
      // What can fail is memory: then the next trigger tries again.
      let schedule =
        shared.isSteady
        ? Schedule(first: max(0, next.saturatingSubtract(Clock.monotonic.now)))
        : Schedule(first: next, firstIsDeadline: true)
      guard let outcome = try? timer.restart(schedule), outcome != .ignored else {
        return shared.state.withLock { $0.phase = .closed }
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

  /// Gives whether the action runs now, and when the timer has to tick next.
  fileprivate mutating func tick(_ now: Int64, _ window: WindowTimer.Window) -> (runs: Bool, next: Int64?) {
    // Called off, or early by what two readings of the monotonic clock differ.
    guard now >= wanted else { return (false, wanted == .max ? nil : wanted) }
    switch phase {
    case .closed:
      return (false, nil)
    case .leading:
      phase = .open
      wanted = window.extends ? window.end(max(latest, now), now) : now.saturatingAdd(window.interval)
      return (true, wanted)
    case .open where isWanted && !window.extends:
      // A throttled action begins a window of its own.
      isWanted = false
      wanted = now.saturatingAdd(window.interval)
      return (true, wanted)
    case .open:
      let (runs, waiting) = (isWanted, flushes)
      self = Self()
      flushes = waiting
      return (runs, nil)
    }
  }
}

/// Debounce and throttle: an action that is asked for more often than it should run, and runs once it is quiet (debounced),
/// or at most once an interval (throttled).
///
///     let search = try TriggeredAction(.debounce(.milliseconds(300)), on: queue) { find() }
///     let save = try TriggeredAction(.throttle(.seconds(1)), on: queue, actor: self) { store in await store.write() }
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
  public init(_ timing: Timing, on queue: TimerQueue, action: sending @escaping () -> Void) throws(ChimeError) {
    let shared = WindowTimer.Shared(on: queue)
    window = try WindowTimer(timing, on: queue, shared) { _, _ in shared.callAction(action) }
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
    window = try WindowTimer(timing, on: queue, shared) { _, _ in
      MainActor.assumeIsolated { shared.callAction { action() } }
    }
  }

  /// An action on a queue with an object, as long as the object lives.
  ///
  /// An action that waits is a `task:` that captures the object weakly.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: where `action` runs.
  ///   - target: an object that may be used by any thread; held only during a call.
  ///   - action: gets the target, so that it need not capture it.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init<Object: AnyObject & Sendable>(
    _ timing: Timing, on queue: TimerQueue, target: Object, action: sending @escaping (Object) -> Void
  ) throws(ChimeError) {
    try self.init(timing, on: queue) { [weak target] in
      if let target { action(target) }
    }
  }

  /// An action on the main actor with an object, as long as the object lives.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: gives the time.
  ///   - target: an object of the main actor, or one that may be used by any thread; held only during a call.
  ///   - action: gets the target, so that it need not capture it.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public convenience init<Object: AnyObject & Sendable>(
    _ timing: Timing, on queue: MainTimerQueue, target: Object, action: @escaping @MainActor (Object) -> Void
  ) throws(ChimeError) {
    try self.init(timing, on: queue) { [weak target] in
      if let target { action(target) }
    }
  }

  /// An asynchronous action, in a task, on its own actor if it has one.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: gives the time.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public init(
    _ timing: Timing, on queue: AnyTimerQueue, task action: @escaping @isolated(any) @Sendable () async -> Void
  ) throws(ChimeError) {
    let (calls, shared) = (TaskCalls(on: queue, checksGeneration: false), WindowTimer.Shared(on: queue))
    window = try WindowTimer(timing, on: queue, shared, calls: calls) { tick, stops in
      if calls.put(tick, unlessAfter: stops) {
        Task { await calls.run(on: action.isolation) { _ in await shared.callAction { await action() } } }
      }
    }
  }

  /// An action on an actor, as long as the actor lives. An actor that makes it in its own `init` stores it in a variable of
  /// optional type, in an `init` that is `async`.
  ///
  /// - Parameters:
  ///   - timing: when it acts.
  ///   - queue: gives the time.
  ///   - actor: held only during a call.
  ///   - action: what to do, isolated to the actor, with or without `await`.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `shutDown` if the queue has ended.
  public init<Isolation: Actor>(
    _ timing: Timing, on queue: AnyTimerQueue, actor: Isolation,
    action: @escaping @Sendable (isolated Isolation) async -> Void
  ) throws(ChimeError) {
    let (calls, shared) = (TaskCalls(on: queue, checksGeneration: false), WindowTimer.Shared(on: queue))
    window = try WindowTimer(timing, on: queue, shared, calls: calls) { [weak actor] tick, stops in
      guard calls.put(tick, unlessAfter: stops) else { return }
      Task { [weak actor] in
        guard let actor else {
          calls.giveUp()
          return shared.callAction {}  // nobody waits for it any more
        }
        await calls.run(on: actor) { _ in await shared.callAction { await action(actor) } }
      }
    }
  }

  /// Asks for the action.
  public func trigger() { window.trigger() }

  /// Forgets what was triggered; an interval that had begun is over. A call that runs is not cancelled.
  public func cancel() { window.cancel() }

  /// Has the action run now, on the queue, if it is about to run now or later, and waits until it has returned, also if it
  /// was running before: for a clean end, before `shutdown`. On a virtual queue it runs in the next `advance`. `withTimeout`
  /// limits the wait.
  ///
  /// - Throws: `shutDown` if the queue has ended; `wouldDeadlock` inside an asynchronous action that it would wait for;
  ///   `CancellationError`.
  public nonisolated(nonsending) func flush() async throws { try await window.flush() }

  /// Whether the action is about to run, now or later.
  public var isPending: Bool { window.isPending }
}

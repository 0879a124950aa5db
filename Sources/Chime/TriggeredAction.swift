import ChimeCore

/// What is behind a `TriggeredAction`: a window that the first trigger opens, an action at its beginning, its end, or both,
/// and one timer. Triggers come from any thread; the action runs on the queue, and its calls never overlap.
private final class WindowTimer: Sendable {
  /// At which ends of the window the action runs: at one at least.
  struct Edges {
    let leading: Bool
    let trailing: Bool

    init(_ leading: Bool, _ trailing: Bool) throws(ChimeError) {
      if !leading, !trailing { throw .argument("leading and trailing are false: the action would never run") }
      self.leading = leading
      self.trailing = trailing
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
    /// The latest trigger.
    var latest: Int64 = 0
    /// When the timer has to tick; what ticks earlier was called off.
    var wanted = Int64.max
  }

  /// The part that the handler keeps.
  private final class Shared: Sendable {
    let state = Locked(State())
  }

  private let shared = Shared()
  private let queue: AnyTimerQueue
  private let timer: ChimeTimer
  private let interval: Int64
  private let edges: Edges
  /// Whether a trigger moves the window's end.
  private let extends: Bool

  init(
    _ interval: Duration, _ edges: Edges, extends: Bool, on queue: AnyTimerQueue, _ action: sending @escaping () -> Void
  ) throws(ChimeError) {
    try Schedule.checkInterval(interval)
    let length = interval.nanoseconds
    self.queue = queue
    self.interval = length
    self.edges = edges
    self.extends = extends
    timer = try queue.makeIdle { [shared] tick in
      let (runs, next) = shared.state.withLock { $0.tick(tick.start, length, extends) }
      if let next { WindowTimer.arm(tick.timer, shared, next) }
      if runs { action() }
    }
  }

  func trigger() {
    let now = queue.now.nanoseconds
    let (edges, extends, interval) = (edges, extends, interval)
    if let next = shared.state.withLock({ $0.trigger(now, interval, edges, extends) }) {
      WindowTimer.arm(timer, shared, next)
    }
  }

  /// Forgets what was triggered.
  func cancel() {
    timer.cancel()
    shared.state.withLock { $0 = State() }
  }

  var isPending: Bool { shared.state.withLock { $0.phase == .leading || $0.isWanted } }

  /// Outside the lock, since the core may release what others hold; until the timer stands where the last call wants it.
  private static func arm(_ timer: TimerReference, _ shared: Shared, _ first: Int64) {
    var next = first
    while true {
      // What can fail is memory: then the next trigger tries again.
      let schedule = Schedule(first: next, firstIsDeadline: true)
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
  fileprivate mutating func trigger(_ now: Int64, _ interval: Int64, _ edges: WindowTimer.Edges, _ extends: Bool)
    -> Int64?
  {
    latest = now
    switch phase {
    case .closed:
      phase = edges.leading ? .leading : .open
      isWanted = !edges.leading
      wanted = phase == .leading ? now : now.saturatingAdd(interval)
    case .leading:
      isWanted = edges.trailing
      return nil
    case .open:
      if edges.trailing { isWanted = true }
      guard extends else { return nil }
      wanted = now.saturatingAdd(interval)
    }
    return wanted
  }

  /// Gives whether the action runs now, and when the timer has to tick next.
  fileprivate mutating func tick(_ now: Int64, _ interval: Int64, _ extends: Bool) -> (runs: Bool, next: Int64?) {
    guard now >= wanted else { return (false, nil) }
    switch phase {
    case .closed:
      return (false, nil)
    case .leading:
      phase = .open
      wanted = (extends ? max(latest, now) : now).saturatingAdd(interval)
      return (true, wanted)
    case .open where isWanted && !extends:
      // A throttled action begins a window of its own.
      isWanted = false
      wanted = now.saturatingAdd(interval)
      return (true, wanted)
    case .open:
      let runs = isWanted
      self = Self()
      return (runs, nil)
    }
  }
}

/// An action that is asked for more often than it should run: once it is quiet (debounced), or at most once an interval
/// (throttled).
///
///     let search = try TriggeredAction(debounce: .milliseconds(300), on: queue) { find() }
///     let save = try TriggeredAction(throttle: .seconds(1), on: queue) { write() }
///     search.trigger()  // at each key
///
/// Any thread. The action runs on the queue; its calls never overlap. Nothing runs after the last reference has gone.
public final class TriggeredAction: Sendable {
  private let window: WindowTimer

  /// Acts once nothing has been triggered for a while: a search while somebody types, saving after changes.
  ///
  /// - Parameters:
  ///   - quiet: how long nothing must have been triggered; above 0.
  ///   - leading: whether it acts at the first trigger.
  ///   - trailing: whether it acts when it is quiet again; with `leading`, only if something was triggered after the first.
  ///   - queue: where `action` runs.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `invalidHandle` if the queue was shut
  ///   down.
  public init<Queue: TimerQueueProtocol>(
    debounce quiet: Duration, leading: Bool = false, trailing: Bool = true, on queue: Queue,
    action: sending Queue.Action
  ) throws(ChimeError) {
    let edges = try WindowTimer.Edges(leading, trailing)
    window = try WindowTimer(quiet, edges, extends: true, on: queue, Queue._function(action))
  }

  /// Acts at most once an interval, however often it is triggered: saving, progress, requests.
  ///
  /// - Parameters:
  ///   - interval: the least time between two calls of `action`; above 0.
  ///   - leading: whether it acts at once, if the last call is long enough ago.
  ///   - trailing: whether it acts at the end of the interval, for what was triggered meanwhile.
  ///   - queue: where `action` runs.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, also if it would never act; `limit`, `noMemory`; `invalidHandle` if the queue was shut
  ///   down.
  public init<Queue: TimerQueueProtocol>(
    throttle interval: Duration, leading: Bool = true, trailing: Bool = true, on queue: Queue,
    action: sending Queue.Action
  ) throws(ChimeError) {
    let edges = try WindowTimer.Edges(leading, trailing)
    window = try WindowTimer(interval, edges, extends: false, on: queue, Queue._function(action))
  }

  /// Asks for the action.
  public func trigger() { window.trigger() }

  /// Forgets what was triggered; an interval that had begun is over.
  public func cancel() { window.cancel() }

  /// Whether the action is about to run, now or later.
  public var isPending: Bool { window.isPending }
}

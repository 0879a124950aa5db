import ChimeCore

/// What `Debouncer` and `Throttler` have in common: a window that the first trigger opens, an action at its beginning, its
/// end, or both, and one timer. Triggers come from any thread; the action runs on the queue, and its calls never overlap.
final class EdgeTimer: Sendable {
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
      if let next { EdgeTimer.arm(tick.timer, shared, next) }
      if runs { action() }
    }
  }

  func trigger() {
    let now = queue.now.nanoseconds
    let (edges, extends, interval) = (edges, extends, interval)
    if let next = shared.state.withLock({ $0.trigger(now, interval, edges, extends) }) {
      EdgeTimer.arm(timer, shared, next)
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

extension EdgeTimer.State {
  /// Gives when the timer has to tick, if that changes.
  fileprivate mutating func trigger(_ now: Int64, _ interval: Int64, _ edges: Edges, _ extends: Bool) -> Int64? {
    latest = now
    switch phase {
    case .closed:
      phase = edges.contains(.leading) ? .leading : .open
      isWanted = !edges.contains(.leading)
      wanted = phase == .leading ? now : now.saturatingAdd(interval)
    case .leading:
      isWanted = edges.contains(.trailing)
      return nil
    case .open:
      if edges.contains(.trailing) { isWanted = true }
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

/// At which ends of its window a `Debouncer` or a `Throttler` acts.
public struct Edges: OptionSet, Hashable, Sendable {
  /// The bits.
  public let rawValue: Int

  /// Edges by their bits.
  ///
  /// - Parameter rawValue: 1 for leading, 2 for trailing.
  public init(rawValue: Int) { self.rawValue = rawValue }

  /// At the first trigger.
  public static let leading = Edges(rawValue: 1)
  /// At the end, for triggers after the first action, or for all if there is none.
  public static let trailing = Edges(rawValue: 2)
}

/// Acts once nothing has been triggered for a while: a search while somebody types, saving after changes.
///
///     let search = try Debouncer(for: .milliseconds(300), on: queue) { find() }
///     search.trigger()  // at each key
///
/// Any thread. The action runs on the queue; its calls never overlap. Nothing runs after the last reference has gone.
public final class Debouncer: Sendable {
  private let edges: EdgeTimer

  /// A debouncer that waits for its first trigger.
  ///
  /// - Parameters:
  ///   - interval: how long nothing must have been triggered; above 0.
  ///   - edges: trailing: when it is quiet again; leading: at the first trigger; both: the second time only if something
  ///     was triggered after the first.
  ///   - queue: where `action` runs.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public init<Queue: TimerQueueProtocol>(
    for interval: Duration, edges: Edges = .trailing, on queue: Queue, action: sending Queue.Action
  ) throws(ChimeError) {
    self.edges = try EdgeTimer(interval, edges, extends: true, on: queue, Queue._function(action))
  }

  /// Asks for the action.
  public func trigger() { edges.trigger() }

  /// Forgets what was triggered.
  public func cancel() { edges.cancel() }

  /// Whether the action is about to run, now or later.
  public var isPending: Bool { edges.isPending }
}

/// Acts at most once an interval, however often it is triggered: saving, progress, requests.
///
///     let save = try Throttler(every: .seconds(1), on: queue) { write() }
///     save.trigger()  // at each change
///
/// Any thread. The action runs on the queue; its calls never overlap. Nothing runs after the last reference has gone.
public final class Throttler: Sendable {
  private let edges: EdgeTimer

  /// A throttler that waits for its first trigger.
  ///
  /// - Parameters:
  ///   - interval: the least time between two calls of `action`; above 0.
  ///   - edges: leading: at once, if the last call is long enough ago; trailing: at the end of the interval, for what was
  ///     triggered meanwhile.
  ///   - queue: where `action` runs.
  ///   - action: what to do.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`; `invalidHandle` if the queue was shut down.
  public init<Queue: TimerQueueProtocol>(
    every interval: Duration, edges: Edges = [.leading, .trailing], on queue: Queue, action: sending Queue.Action
  ) throws(ChimeError) {
    self.edges = try EdgeTimer(interval, edges, extends: false, on: queue, Queue._function(action))
  }

  /// Asks for the action.
  public func trigger() { edges.trigger() }

  /// Forgets what was triggered; the interval goes on no more.
  public func cancel() { edges.cancel() }

  /// Whether the action is about to run, now or later.
  public var isPending: Bool { edges.isPending }
}

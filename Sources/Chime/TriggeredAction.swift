import ChimeCore

/// When a `TriggeredAction` acts.
extension TriggeredAction {
  /// When an action runs that is asked for more often than it should run: `debounce` or `throttle`.
  public struct Timing: Sendable {
    let interval: Duration
    let longest: Duration?
    let leading: Bool
    let trailing: Bool
    /// Whether a trigger moves the window's end.
    let extends: Bool

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
  public init(_ timing: Timing, on queue: AnyTimerQueue, action: sending @escaping () -> Void) throws {
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
  public init(_ timing: Timing, on queue: MainTimerQueue, action: @escaping @MainActor () -> Void) throws {
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
  ) throws {
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
  public init(_ timing: Timing, on queue: AnyTimerQueue) throws {
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

import Dispatch

/// What wakes a `DispatchSourceTimerMachine`: the verbs of a `DispatchSourceTimer`. A test can put a recording fake in
/// its place, or a host its own timer.
///
/// The caller has to follow libdispatch's rules, and the machine does: an adapter starts inactive, is activated once,
/// is resumed only after a `suspend`, and is last released only when it is activated, not suspended, and cancelled.
/// The machine makes the calls of one adapter one at a time, from any thread, **with its lock held**: no verb may call
/// the machine, run the event handler inline, or wait for it.
public protocol TimerAdapter: AnyObject, Sendable {
  /// Replaces the schedule, also while suspended; ignored after `cancel`.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick, on the clock of `DispatchTime`; never 0.
  ///     `.distantFuture` disarms.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot.
  ///   - leeway: how late a tick may be; 0 ns or longer.
  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval)

  /// Sets what runs at each tick; called once, before `activate`. The adapter releases it some time after `cancel`.
  ///
  /// The handler may be called too often, or late: the machine decides what is due. It must be called at least once
  /// at or after each deadline at which the adapter is neither suspended nor cancelled.
  ///
  /// - Parameter handler: kept until some time after `cancel`.
  func setEventHandler(_ handler: @escaping @Sendable () -> Void)

  /// Lets the first tick come.
  func activate()

  /// Holds ticks back until `resume`; a handler that is running goes on.
  func suspend()

  /// Undoes one `suspend`.
  func resume()

  /// Ends ticks for good. Not called while suspended.
  func cancel()
}

/// Makes a new adapter each time a machine is started.
public protocol TimerAdapterFactory: Sendable {
  /// A new adapter, neither activated nor cancelled, whose event handler runs on `queue`.
  ///
  /// Called with the lock of the machine held: it must not call the machine.
  ///
  /// - Parameter queue: `nil` for a global queue, as with `DispatchSource.makeTimerSource(queue:)`.
  func makeTimer(queue: DispatchQueue?) -> any TimerAdapter

  /// The time by which the machine decides what is due, on the clock of these adapters' deadlines.
  ///
  /// Any thread, with the machine's lock held. `DispatchTime.now()` unless time is virtual. It never goes back.
  var now: DispatchTime { get }
}

extension TimerAdapterFactory {
  /// The clock of real timers.
  public var now: DispatchTime { .now() }
}

/// A `DispatchSourceTimer` as it is, traps included. Use it through a `DispatchSourceTimerMachine`.
///
/// Owns the source. Any thread. On Linux libdispatch accepts a leeway and ignores it.
public final class DispatchSourceTimerAdapter: TimerAdapter, @unchecked Sendable {
  // SAFETY (unchecked): a dispatch source may be driven from any thread; only its protocol is not marked so.
  private let source: any DispatchSourceTimer

  /// Takes over a source that the caller has created and has not activated, suspended or cancelled. Nobody else may
  /// drive it from then on.
  ///
  /// - Parameter source: inactive.
  public init(adopting source: sending any DispatchSourceTimer) {
    self.source = source
  }

  /// Sets the source; negative intervals and leeways trap.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick.
  ///   - repeating: the interval; `.never` for a one-shot.
  ///   - leeway: how late a tick may be.
  public func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval) {
    source.schedule(deadline: deadline, repeating: repeating, leeway: leeway)
  }

  /// Replaces what the source calls, on its queue.
  ///
  /// - Parameter handler: kept until some time after `cancel`.
  public func setEventHandler(_ handler: @escaping @Sendable () -> Void) {
    source.setEventHandler(handler: handler)
  }

  /// Starts the source; has no effect if it has started.
  public func activate() { source.activate() }
  /// Adds one suspension. A source whose last reference goes while it is suspended traps.
  public func suspend() { source.suspend() }
  /// Removes one suspension. Traps if there is none.
  public func resume() { source.resume() }
  /// Ends the source for good; ignored if it has ended.
  public func cancel() { source.cancel() }
}

/// Makes real timers: a new `DispatchSourceTimer` each time a machine is started.
public struct DispatchSourceTimerAdapterFactory: TimerAdapterFactory {
  /// It has no state: one serves all machines.
  public init() {}

  /// A new source, inactive, whose handler runs on `queue`.
  ///
  /// - Parameter queue: `nil` for a global queue.
  /// - Returns: an adapter that owns the source.
  public func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
    DispatchSourceTimerAdapter(adopting: DispatchSource.makeTimerSource(queue: queue))
  }
}

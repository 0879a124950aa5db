import ChimeCore
import Dispatch

/// What wakes a `DispatchSourceTimerMachine`: the verbs of a `DispatchSourceTimer`, so that a test can put a recording
/// fake in its place, or a host a timer of its own.
///
/// The verbs keep the rules of libdispatch, which are the caller's to follow: made inactive, activated once, `resume`
/// only after a `suspend`, last released only when activated, not suspended and cancelled. The machine follows them.
/// It makes the calls of one adapter one at a time, from any thread, **with its lock held**: no verb may call the
/// machine, run the event handler inline, or wait for it.
public protocol TimerAdapter: AnyObject, Sendable {
  /// Replaces the schedule, also while suspended; ignored after `cancel`.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick, on the clock of `DispatchTime` (`CLOCK_MONOTONIC` on Linux); never 0.
  ///     `.distantFuture` disarms.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot.
  ///   - leeway: how late a tick may be; 0 ns or longer.
  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval)

  /// Sets what runs at each tick; called once, before `activate`. The adapter lets go of it some time after `cancel`.
  ///
  /// The handler may be called too often, or late: the machine decides what is due. It must be called at least once
  /// at or after each deadline at which the adapter is neither suspended nor cancelled.
  func setEventHandler(_ handler: @escaping @Sendable () -> Void)

  /// Lets the first tick come.
  func activate()

  /// Holds ticks back until `resume`; a handler call under way goes on.
  func suspend()

  /// Undoes one `suspend`.
  func resume()

  /// Ends ticks for good. Not called while suspended.
  func cancel()
}

/// Makes the adapter of each life of a machine.
public protocol TimerAdapterFactory: Sendable {
  /// A new adapter, neither activated nor cancelled, whose event handler runs on `queue`.
  ///
  /// Called with the lock of the machine held: it must not call the machine.
  ///
  /// - Parameter queue: `nil` for a global queue, as with `DispatchSource.makeTimerSource(queue:)`.
  func makeTimer(queue: DispatchQueue?) -> any TimerAdapter

  /// The time by which the machine decides what is due: the clock that the deadlines of these adapters are on.
  ///
  /// Any thread, the machine's lock held. `DispatchTime.now()` unless time is virtual; it never goes back.
  var now: DispatchTime { get }
}

extension TimerAdapterFactory {
  /// The clock of real timers.
  public var now: DispatchTime { .now() }
}

/// A `DispatchSourceTimer` as it is, traps included: use it through a `DispatchSourceTimerMachine`.
///
/// Owns the source. Any thread. libdispatch on Linux accepts a leeway and does not use it.
public final class DispatchSourceTimerAdapter: TimerAdapter, @unchecked Sendable {
  // SAFETY (unchecked): a dispatch source may be driven from any thread; only its protocol is not marked so.
  private let source: any DispatchSourceTimer

  /// Adopts a source that the caller made and has not activated, suspended or cancelled; nobody else may drive it
  /// from then on.
  public init(adopting source: sending any DispatchSourceTimer) {
    self.source = source
  }

  /// Sets the source; negative intervals and leeways trap.
  public func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval) {
    source.schedule(deadline: deadline, repeating: repeating, leeway: leeway)
  }

  /// Replaces what the source calls, on its queue.
  public func setEventHandler(_ handler: @escaping @Sendable () -> Void) {
    source.setEventHandler(handler: handler)
  }

  /// Starts the source; of no effect when it has started.
  public func activate() { source.activate() }
  /// Counts one suspension more. A source whose last reference goes while suspended traps.
  public func suspend() { source.suspend() }
  /// Counts one suspension less. Traps when there is none.
  public func resume() { source.resume() }
  /// Ends the source for good; ignored when it has ended.
  public func cancel() { source.cancel() }
}

/// Makes real timers: one new `DispatchSourceTimer` for each life of a machine.
public struct DispatchSourceTimerAdapterFactory: TimerAdapterFactory {
  /// Has no state: one serves all machines.
  public init() {}

  /// A new source, inactive, whose handler runs on `queue`; `nil` for a global queue.
  public func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
    DispatchSourceTimerAdapter(adopting: DispatchSource.makeTimerSource(queue: queue))
  }
}

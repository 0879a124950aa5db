import ChimeCore
import Dispatch

/// What wakes a `DispatchSourceTimerMachine`: the verbs of a `DispatchSourceTimer`, in its types. A test can put a recording
/// fake in its place, or a host its own timer. `MachineTimer` has the other verbs and the rules, which are libdispatch's.
public protocol TimerAdapter: MachineTimer {
  /// Replaces the schedule, also while suspended; ignored after `cancel`.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick, on the clock of `DispatchTime`; never 0.
  ///     `.distantFuture` disarms.
  ///   - repeating: the interval, 1 ns or longer; `.never` for a one-shot.
  ///   - leeway: how late a tick may be; 0 ns or longer.
  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval)
}

extension TimerAdapter {
  /// The machine's numbers in the types of Dispatch.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick; `Int64.max` disarms.
  ///   - interval: in nanoseconds; `Int64.max` for a one-shot.
  ///   - leeway: in nanoseconds.
  public func schedule(deadline: Int64, interval: Int64, leeway: Int64) {
    schedule(
      deadline: DispatchTime(machineInstant: deadline),
      repeating: interval == .max ? .never : .nanoseconds(Int(interval)), leeway: .nanoseconds(Int(leeway)))
  }
}

/// The verbs under the names and with the defaults that a `DispatchSourceTimer` has.
extension TimerAdapter {
  /// Ticks at `deadline`, and every `repeating` from then on.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick: at once, unless another one is given.
  ///   - repeating: the interval, 1 ns or longer.
  public func schedule(deadline: DispatchTime = .now(), repeating: DispatchTimeInterval) {
    schedule(deadline: deadline, repeating: repeating, leeway: .nanoseconds(0))
  }

  /// Ticks at `deadline`, and every `repeating` seconds from then on.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick: at once, unless another one is given.
  ///   - repeating: seconds, rounded up to whole nanoseconds, 1 ns at least; `.infinity`, NaN, or more than 292 years for a
  ///     single tick.
  ///   - leeway: how late a tick may be.
  public func schedule(
    deadline: DispatchTime = .now(), repeating: Double, leeway: DispatchTimeInterval = .nanoseconds(0)
  ) {
    let nanoseconds = Int64(exactly: (repeating * 1e9).rounded(.up))
    schedule(
      deadline: deadline, repeating: nanoseconds.map { .nanoseconds(Int(max($0, 1))) } ?? .never, leeway: leeway)
  }

  /// `setEventHandler(_:)`.
  ///
  /// - Parameter handler: kept until some time after `cancel`; `nil` for one that does nothing.
  public func setEventHandler(handler: (@Sendable () -> Void)?) { setEventHandler(handler ?? {}) }
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

  /// An adapter whose handler runs on a serial dispatch queue of its own.
  ///
  /// - Parameter label: that queue's.
  public func makeTimer(label: String) -> any TimerAdapter { makeTimer(queue: DispatchQueue(label: label)) }
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

  /// Makes a source whose handler runs on a serial dispatch queue of its own.
  ///
  /// - Parameter label: that queue's.
  public convenience init(label: String) {
    self.init(adopting: DispatchSource.makeTimerSource(queue: DispatchQueue(label: label)))
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

import Chime
import ChimeCore
import Foundation

/// The interface of Foundation's `Timer`.
extension WeakTimer {
  // MARK: Creating a timer on the current loop

  /// Creates a timer for `target` and adds it to the current run loop in the default mode.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - target: an object that may be used by any thread, held weakly. If it adopts `ChimeTimer.Target`, what the timer
  ///     holds is released in the loop's next turn after it goes.
  ///   - userInfo: kept by the timer.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - action: called with the timer as long as the target lives. It must not capture the target strongly.
  /// - Returns: the timer; the loop holds it until it is invalid.
  /// - Throws: `invalidArgument` for NaN; `limit`, `noMemory`, `resource`.
  @discardableResult
  public static func scheduledTimer(
    timeInterval: TimeInterval, target: some AnyObject & Sendable, userInfo: (any Sendable)? = nil, repeats: Bool,
    action: sending @escaping (WeakTimer) -> Void
  ) throws -> WeakTimer {
    let timer = try WeakTimer(
      timeInterval: timeInterval, target: target, userInfo: userInfo, repeats: repeats, action: action)
    try timer.add(to: RunLoop.current)
    return timer
  }

  /// Schedules a timer on the current run loop whose action gets the target, which is alive until the action returns.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - target: held weakly; see `scheduledTimer(timeInterval:target:userInfo:repeats:action:)`.
  ///   - userInfo: kept by timer.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - action: called with target and timer.
  /// - Returns: the timer; the loop holds it until it is invalid.
  /// - Throws: `invalidArgument` for NaN; `limit`, `noMemory`, `resource`.
  @discardableResult
  public static func scheduledTimer<Object: AnyObject & Sendable>(
    timeInterval: TimeInterval, target: Object, userInfo: (any Sendable)? = nil, repeats: Bool,
    action: sending @escaping (Object, WeakTimer) -> Void
  ) throws -> WeakTimer {
    let timer = try WeakTimer(
      timeInterval: timeInterval, target: target, userInfo: userInfo, repeats: repeats, action: action)
    try timer.add(to: RunLoop.current)
    return timer
  }

  /// Creates a timer without a target and adds it to the current run loop in the default mode.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - block: called with the timer.
  /// - Returns: the timer; the loop holds it until it is invalid.
  /// - Throws: `invalidArgument` for NaN; `limit`, `noMemory`, `resource`.
  @discardableResult
  public static func scheduledTimer(
    withTimeInterval timeInterval: TimeInterval, repeats: Bool, block: sending @escaping (WeakTimer) -> Void
  ) throws -> WeakTimer {
    let timer = try WeakTimer(timeInterval: timeInterval, repeats: repeats, block: block)
    try timer.add(to: RunLoop.current)
    return timer
  }

  // MARK: Creating a timer

  /// Creates a timer for a target that the compiler does not know to be safe on the loop's thread. It ticks once it has
  /// been added to a run loop.
  ///
  /// The action runs on the loop's thread, and inside `fire` on that of its caller; nothing keeps other threads from the
  /// target meanwhile: the caller has to. With a `Sendable` target, `init(timeInterval:target:userInfo:repeats:action:)`
  /// does the same, checked.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - target: held weakly. Whoever else uses it does so on the loop's thread, or under a lock.
  ///   - userInfo: kept by the timer.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - action: called with target and timer.
  /// - Throws: `invalidArgument` for NaN; `limit`.
  @unsafe
  public convenience init<Object: AnyObject>(
    timeInterval: TimeInterval, unsafeTarget target: Object, userInfo: (any Sendable)? = nil, repeats: Bool,
    action: sending @escaping (Object, WeakTimer) -> Void
  ) throws {
    try self.init(timeInterval, WeakTarget(target), userInfo, repeats, action)
  }

  convenience init<Object: AnyObject>(
    _ timeInterval: TimeInterval, _ target: WeakTarget<Object>, _ userInfo: (any Sendable)?, _ repeats: Bool,
    _ action: sending @escaping (Object, WeakTimer) -> Void
  ) throws(ChimeError) {
    self.init(
      interval: try timeInterval.nanoseconds, repeats: repeats,
      subject: .object(isAlive: { target.object != nil }, token: target.tokenID), userInfo: userInfo
    ) { timer in
      if let object = target.object {
        action(object, timer)
      } else {
        timer.invalidate()
      }
    }
  }

  /// Creates a timer for `target` that ticks once it has been added to a run loop. The first tick is due one interval
  /// from now.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - target: held weakly; see `scheduledTimer(timeInterval:target:userInfo:repeats:action:)`.
  ///   - userInfo: kept by the timer.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - action: called with the timer as long as the target lives.
  /// - Throws: `invalidArgument` for NaN; `limit`.
  public convenience init(
    timeInterval: TimeInterval, target: some AnyObject & Sendable, userInfo: (any Sendable)? = nil, repeats: Bool,
    action: sending @escaping (WeakTimer) -> Void
  ) throws {
    try self.init(timeInterval: timeInterval, target: target, userInfo: userInfo, repeats: repeats) { action($1) }
  }

  /// A timer whose action gets the target, which is alive until the action returns.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - target: held weakly; see `scheduledTimer(timeInterval:target:userInfo:repeats:action:)`.
  ///   - userInfo: kept by the timer.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - action: called with target and timer.
  /// - Throws: `invalidArgument` for NaN; `limit`.
  public convenience init<Object: AnyObject & Sendable>(
    timeInterval: TimeInterval, target: Object, userInfo: (any Sendable)? = nil, repeats: Bool,
    action: sending @escaping (Object, WeakTimer) -> Void
  ) throws {
    try self.init(timeInterval, WeakTarget(target), userInfo, repeats, action)
  }

  /// Creates a timer without a target that ticks once it has been added to a run loop.
  ///
  /// - Parameters:
  ///   - timeInterval: seconds; 0 or less means 0.1 ms.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - block: called with the timer.
  /// - Throws: `invalidArgument` for NaN.
  public convenience init(
    timeInterval: TimeInterval, repeats: Bool, block: sending @escaping (WeakTimer) -> Void
  ) throws {
    self.init(interval: try timeInterval.nanoseconds, repeats: repeats, subject: .nothing) { timer in block(timer) }
  }

  // MARK: Creating a timer with the date of its first tick

  /// Creates a timer for `target` that ticks at `date`, and then at the interval, once it has been added to a run loop.
  ///
  /// - Parameters:
  ///   - date: of the first tick; see `fireDate`.
  ///   - interval: seconds between ticks; 0 or less means 0.1 ms.
  ///   - target: held weakly; see `scheduledTimer(timeInterval:target:userInfo:repeats:action:)`.
  ///   - userInfo: kept by the timer.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - action: called with the timer as long as the target lives.
  /// - Throws: `invalidArgument` for NaN; `limit`.
  public convenience init(
    fireAt date: Date, interval: TimeInterval, target: some AnyObject & Sendable, userInfo: (any Sendable)? = nil,
    repeats: Bool, action: sending @escaping (WeakTimer) -> Void
  ) throws {
    try self.init(timeInterval: interval, target: target, userInfo: userInfo, repeats: repeats, action: action)
    fireDate = date
  }

  /// Creates a timer without a target that ticks at `date`, and then at the interval, once it has been added to a run loop.
  ///
  /// - Parameters:
  ///   - date: of the first tick; see `fireDate`.
  ///   - interval: seconds between ticks; 0 or less means 0.1 ms.
  ///   - repeats: whether the timer goes on after its first tick.
  ///   - block: called with the timer.
  /// - Throws: `invalidArgument` for NaN.
  public convenience init(
    fire date: Date, interval: TimeInterval, repeats: Bool, block: sending @escaping (WeakTimer) -> Void
  ) throws {
    try self.init(timeInterval: interval, repeats: repeats, block: block)
    fireDate = date
  }

  /// Adds the timer to a mode of a run loop; it may be in several modes of one loop.
  ///
  /// - Parameters:
  ///   - runLoop: any thread's.
  ///   - mode: one mode; `.common` means all common modes of the loop.
  /// - Returns: ignored if the timer is invalid, or already in that mode.
  /// - Throws: `invalidArgument` if it is on another loop, `invalidHandle` if the loop's thread has ended; `limit`,
  ///   `noMemory`, `resource`.
  @discardableResult
  public func add(to runLoop: RunLoop, forMode mode: RunLoop.Mode = .default) throws -> ChimeTimer.Outcome {
    try core.add(to: FoundationLoop.of(runLoop), mode: LoopMode(mode.rawValue), companion: self).outcome()
  }

  // MARK: Properties

  /// Seconds between ticks; 0 for a timer that does not repeat.
  public var timeInterval: TimeInterval { core.repeats ? Double(core.interval) / 1e9 : 0 }

  /// When the next tick is due; `.distantFuture` for an invalid timer. Setting it moves the next tick; later ones
  /// follow at the interval. A date in the past is due at once. The date is converted to the monotonic clock when it is
  /// set, so later steps of the wall clock do not move the tick.
  public var fireDate: Date {
    get {
      let deadline = core.nextDeadline
      if deadline == .max { return .distantFuture }
      return Date(timeIntervalSinceNow: Double(deadline.saturatingSubtract(Clock.monotonic.now)) / 1e9)
    }
    set {
      let distance = (newValue.timeIntervalSinceNow * 1e9).rounded(.up)
      // NaN means never.
      core.nextDeadline = Clock.monotonic.now.saturatingAdd(distance.isNaN ? .max : Int64(saturating: distance))
    }
  }

  /// How late a tick may come, in seconds, in order to share a wake-up. A late tick does not move later ones. Negative
  /// values and NaN count as 0; for a repeating timer, a value of the interval or more counts as just below it.
  public var tolerance: TimeInterval {
    get { Double(core.tolerance) / 1e9 }
    set {
      let nanoseconds = (newValue * 1e9).rounded(.up)
      core.tolerance = min(max(nanoseconds.isNaN ? 0 : Int64(saturating: nanoseconds), 0), core.maximumTolerance)
    }
  }
}

extension TimeInterval {
  /// Whole nanoseconds, rounded up and clamped to `Int64`; throws for NaN.
  var nanoseconds: Int64 {
    get throws(ChimeError) {
      if isNaN { throw ChimeError(.invalidArgument, "timeInterval is not a number") }
      return Int64(saturating: (self * 1e9).rounded(.up))
    }
  }
}

extension Int64 {
  /// - Parameter value: not NaN.
  fileprivate init(saturating value: Double) {
    self = value >= 0x1p63 ? .max : value < -0x1p63 ? .min : Int64(value)
  }
}

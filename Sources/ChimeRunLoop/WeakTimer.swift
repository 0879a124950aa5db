import Chime
import ChimeCore
import Foundation

/// A timer on a run loop, like Foundation's `Timer`, that does not keep its target alive: once the target is gone, the
/// timer is invalid and calls nothing more.
///
/// As in Foundation, a run loop holds its timers until they are invalid, so nobody else needs to. All calls may be made
/// from any thread; the action runs on the loop's thread, and inside `fire`.
///
/// Times are rounded to whole nanoseconds. An interval of 0 or less is 0.1 ms, as Foundation documents; one beyond 292
/// years is never.
public final class WeakTimer: Sendable {
  package let core: WeakTimerCore
  /// What the timer was created with.
  public let userInfo: (any Sendable)?

  /// - Parameters:
  ///   - interval: nanoseconds; 0 or less means 0.1 ms.
  ///   - action: called with the timer.
  init(
    interval: Int64, repeats: Bool, subject: WeakTimerCore.Subject, userInfo: (any Sendable)? = nil,
    action: sending @escaping (WeakTimer) -> Void
  ) {
    self.userInfo = userInfo
    let this = WeakReference()
    // Weakly: a timer that is on no loop lives as long as somebody holds it. The loop holds one that is on it.
    core = WeakTimerCore(interval: interval, repeats: repeats, subject: subject) { _ in
      if let timer = this.timer { action(timer) }
    }
    this.timer = self
    if case .object(let isAlive, token: 0) = subject {
      TargetSweep.watch { [weak self] in
        if !isAlive() { self?.invalidate() }
        return self?.isValid != true
      }
    }
  }

  private final class WeakReference: @unchecked Sendable {
    // Unchecked: set before anybody else knows it; weak references may be read by several threads.
    weak var timer: WeakTimer?
  }

  // MARK: Validity

  /// Whether the timer can still tick: false once it has been invalidated, its target is gone, its loop's thread has
  /// ended or, if it does not repeat, its action has returned.
  public var isValid: Bool { core.isValid }

  /// Ends the timer for good and releases its action; if the action is running, after that.
  ///
  /// - Returns: ignored if the timer was invalid; running if the action has not returned.
  @discardableResult
  public func invalidate() -> ChimeTimer.Outcome { core.invalidate().asOutcome }

  // MARK: Ticks

  /// Calls the action now, on this thread, outside the schedule. A timer that does not repeat is invalid afterwards.
  ///
  /// - Returns: ignored if the timer is invalid, or its action is already running, here or on another thread.
  @discardableResult
  public func fire() -> ChimeTimer.Outcome { core.fire().asOutcome }
}

extension Status {
  /// The outcome of a call that cannot fail.
  fileprivate var asOutcome: ChimeTimer.Outcome { (try? outcome()) ?? .ignored }
}

extension WeakTimer: Hashable, CustomStringConvertible {
  /// Whether both are the same timer.
  public static func == (a: WeakTimer, b: WeakTimer) -> Bool { a === b }

  /// Feeds the identity.
  ///
  /// - Parameter hasher: takes it.
  public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }

  /// Whether it is valid, its interval, and when it ticks next: for people.
  public var description: String {
    if !isValid { return "WeakTimer(invalid)" }
    let repeats = core.repeats ? "every \(Duration.nanoseconds(core.interval))" : "once"
    let left = core.nextDeadline.saturatingSubtract(Clock.monotonic.now)
    let next = core.nextDeadline == .max ? "never due" : "due in \(Duration.nanoseconds(max(0, left)))"
    return "WeakTimer(\(repeats), \(next))"
  }
}

import Chime
import ChimeCore
import Foundation

/// A timer in the manner of Foundation's `Timer`, on a run loop, that does not keep its target alive: once the target
/// has gone the timer is invalid, and calls nothing more.
///
/// As with Foundation, the run loop holds a timer that was added to it until the timer is invalid: nobody else needs to.
/// All calls may be made from any thread; the action runs on the loop's, and in `fire`.
///
/// Times are turned into whole nanoseconds. An interval of 0 or less is 0.1 ms, as Foundation documents; one beyond 292
/// years is never.
public final class WeakTimer: Sendable {
  package let core: WeakTimerCore
  /// What was given for it when the timer was made.
  public let userInfo: (any Sendable)?

  /// - Parameters:
  ///   - interval: nanoseconds; 0 or less stands for 0.1 ms.
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

  /// Whether the timer can still tick: false once it was invalidated, its target has gone, its loop's thread has ended,
  /// or, for one that does not repeat, its action has returned.
  public var isValid: Bool { core.isValid }

  /// Ends the timer for good and lets go of its action, when that does not run, else after it.
  ///
  /// - Returns: ignored when the timer was invalid; running when the action has not returned.
  @discardableResult
  public func invalidate() -> Outcome { core.invalidate().asOutcome }

  // MARK: Ticks

  /// Calls the action, now and on this thread, outside the schedule. One that does not repeat is invalid afterwards.
  ///
  /// - Returns: ignored when the timer is invalid or its action runs already, here or on another thread.
  @discardableResult
  public func fire() -> Outcome { core.fire().asOutcome }
}

extension Status {
  /// What a call that cannot fail came to.
  fileprivate var asOutcome: Outcome { self == .ok ? .done : self == .running ? .running : .ignored }
}

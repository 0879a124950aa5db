import ChimeTestSupport
import Chime
import Dispatch

/// A timer that never ticks by itself: it writes down the calls it gets, and ticks when the test says so.
final class RecordingTimer: TimerAdapter {
  private let calls: Log<String>
  private let handler = Locked<(@Sendable () -> Void)?>(nil)

  init(_ calls: Log<String>) { self.calls = calls }
  deinit { calls.add("release") }

  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval) {
    let interval = repeating == .never ? "once" : "every \(repeating.nanoseconds)"
    calls.add("schedule at \(deadline.uptimeNanoseconds) \(interval)")
  }

  func setEventHandler(_ handler: @escaping @Sendable () -> Void) { self.handler.withLock { $0 = handler } }
  func activate() { calls.add("activate") }
  func suspend() { calls.add("suspend") }
  func resume() { calls.add("resume") }
  func cancel() {
    calls.add("cancel")
    let old = handler.withLock { handler in
      defer { handler = nil }
      return handler
    }
    withExtendedLifetime(old) {}
  }

  /// What libdispatch calls, now or, when it is stale, later.
  var tick: @Sendable () -> Void {
    let handler = handler.withLock { $0 }
    return { handler?() }
  }
}

/// Injected where real timers would be made. Its time moves by the test's hand.
final class RecordingTimerFactory: TimerAdapterFactory {
  private struct Last { weak var timer: RecordingTimer? }

  let calls = Log<String>()
  private let last = Locked(Last())
  private let time = Locked<UInt64>(1000)

  func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
    calls.add("make")
    let timer = RecordingTimer(calls)
    last.withLock { $0.timer = timer }
    return timer
  }

  var now: DispatchTime { DispatchTime(uptimeNanoseconds: time.withLock { $0 }) }
  func setNow(_ nanoseconds: UInt64) { time.withLock { $0 = nanoseconds } }

  /// A tick of the timer made last.
  var tick: @Sendable () -> Void { last.withLock { $0.timer }?.tick ?? {} }
}

extension DispatchTimeInterval {
  fileprivate var nanoseconds: Int {
    switch self {
    case .seconds(let count): count * 1_000_000_000
    case .milliseconds(let count): count * 1_000_000
    case .microseconds(let count): count * 1000
    case .nanoseconds(let count): count
    default: .max
    }
  }
}

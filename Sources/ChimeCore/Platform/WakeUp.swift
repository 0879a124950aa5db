/// What a waiting thread sleeps by.
final class WakeUp: @unchecked Sendable {
  // Unchecked for the count, which is guarded by the condition.
  private let condition = Condition()
  private var signals = 0

  /// Lets the thread look again.
  func signal() {
    condition.withLock {
      signals += 1
      condition.signal()
    }
  }

  /// Sleeps until a signal.
  func wait() { _ = sleep(until: .max) }

  /// Sleeps until a signal that nothing has waited for yet, or a time on the monotonic clock: false at that time.
  func sleep(until time: Int64) -> Bool {
    condition.withLock {
      while signals == 0 {
        if time != .max, Clock.monotonic.now >= time { return false }
        condition.wait(until: time)
      }
      signals = 0
      return true
    }
  }
}

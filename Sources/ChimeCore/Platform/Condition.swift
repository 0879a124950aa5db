internal import CPlatform

/// A lock and a condition to wait for under it, on the monotonic clock. (A `DispatchSemaphore` waits on the wall clock,
/// and too long if that is stepped back.) It has priority inheritance, like `Locked`. Any thread.
@safe final class Condition: @unchecked Sendable {
  // SAFETY: allocated in init, freed in deinit, by when nobody waits.
  private let lock = UnsafeMutablePointer<chime_lock>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<chime_condition>.allocate(capacity: 1)

  init() {
    unsafe chime_lock_init(lock)
    unsafe chime_condition_init(changed)
  }

  deinit {
    unsafe chime_condition_destroy(changed)
    unsafe chime_lock_destroy(lock)
    unsafe changed.deallocate()
    unsafe lock.deallocate()
  }

  @inline(__always)
  func withLock<Result>(_ body: () -> Result) -> Result {
    unsafe chime_lock_take(lock)
    defer { unsafe chime_lock_give(lock) }
    return body()
  }

  /// Makes the waiting thread, if there is one, check again. With the lock held.
  func signal() { unsafe chime_condition_signal(changed) }

  /// Waits for a signal until a time on the monotonic clock; `Int64.max` for no limit. May return without a signal.
  /// With the lock held. No cancellation point.
  func wait(until time: Int64) {
    withoutCancellation {
      if time == .max {
        unsafe chime_condition_wait(changed, lock)
      } else {
        unsafe chime_condition_wait_until(changed, lock, time)
      }
    }
  }
}

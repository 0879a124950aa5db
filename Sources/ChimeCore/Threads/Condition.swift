internal import CPlatform

/// A lock and a condition to wait for under it, on the monotonic clock. (A `DispatchSemaphore` waits on the wall clock,
/// and too long if that is stepped back.) It has priority inheritance, like `Locked`. Any thread.
@safe final class Condition: @unchecked Sendable {
  // SAFETY: allocated in init, freed in deinit, by when nobody waits.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)

  init() {
    var mutexAttributes = pthread_mutexattr_t()
    unsafe pthread_mutexattr_init(&mutexAttributes)
    unsafe pthread_mutexattr_setprotocol(&mutexAttributes, CInt(PTHREAD_PRIO_INHERIT))
    unsafe pthread_mutex_init(mutex, &mutexAttributes)
    unsafe pthread_mutexattr_destroy(&mutexAttributes)
    var attributes = pthread_condattr_t()
    unsafe pthread_condattr_init(&attributes)
    unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
    unsafe pthread_cond_init(changed, &attributes)
    unsafe pthread_condattr_destroy(&attributes)
  }

  deinit {
    unsafe pthread_cond_destroy(changed)
    unsafe pthread_mutex_destroy(mutex)
    unsafe changed.deallocate()
    unsafe mutex.deallocate()
  }

  @inline(__always)
  func withLock<Result>(_ body: () -> Result) -> Result {
    unsafe pthread_mutex_lock(mutex)
    defer { unsafe pthread_mutex_unlock(mutex) }
    return body()
  }

  /// Makes the waiting thread, if there is one, check again. With the lock held.
  func signal() { unsafe pthread_cond_signal(changed) }

  /// Waits for a signal until a time on the monotonic clock; `Int64.max` for no limit. May return without a signal.
  /// With the lock held. No cancellation point.
  func wait(until time: Int64) {
    withoutCancellation {
      if time == .max {
        unsafe pthread_cond_wait(changed, mutex)
      } else {
        let (seconds, nanoseconds) = max(time, 0).quotientAndRemainder(dividingBy: 1_000_000_000)
        var time = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
        unsafe pthread_cond_timedwait(changed, mutex, &time)
      }
    }
  }
}

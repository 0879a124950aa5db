internal import CPlatform

/// A value behind a lock: reached only inside `withLock`, by one thread at a time.
///
/// A pthread mutex rather than `Synchronization.Mutex`: the thread sanitizer knows it (it reports the other as a race
/// at every use), and with priority inheritance a real-time thread does not wait for a thread that it has preempted.
@safe package struct Locked<Value>: ~Copyable, @unchecked Sendable {
  // SAFETY: allocated in init, freed in deinit, touched only with the mutex held.
  private let lock: UnsafeMutablePointer<chime_lock>
  private let value: UnsafeMutablePointer<Value>

  /// - Parameter inherits: priority inheritance, with which the system hands a lock over that others wait for: where many
  ///   threads want it for moments, each then waits for the next one to be scheduled.
  package init(_ value: sending Value, inherits: Bool = true) {
    unsafe lock = UnsafeMutablePointer.allocate(capacity: 1)
    unsafe inherits ? chime_lock_init(lock) : chime_lock_init_without_inheritance(lock)
    unsafe self.value = UnsafeMutablePointer.allocate(capacity: 1)
    unsafe self.value.initialize(to: value)
  }

  /// Unlocks what another thread had locked before the fork, and replaces what that thread left behind, without
  /// releasing it, by `value`. In a forked child's only thread.
  package borrowing func reinitialize(_ value: sending Value) {
    reinitialize()
    unsafe self.value.initialize(to: value)
  }

  /// Unlocks, and keeps a value that is consistent at every moment.
  package borrowing func reinitialize() {
    unsafe chime_lock_init(lock)
  }

  deinit {
    unsafe chime_lock_destroy(lock)
    unsafe lock.deallocate()
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
  }

  @inline(__always)
  package borrowing func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe chime_lock_take(lock)
    defer { unsafe chime_lock_give(lock) }
    return try unsafe body(&value.pointee)
  }

  /// `withLock` for a lock that several threads take again and again, each for a moment. With priority inheritance the
  /// system hands a lock over to a thread that sleeps for it, and each of many has to be scheduled before the next one gets
  /// it. So threads spin for about 2 us, then let others run in between. Only those with real-time priority sleep at once,
  /// which makes the holder run.
  @inline(__always)
  package borrowing func withBusyLock<Result>(_ body: (inout Value) -> Result) -> Result {
    unsafe chime_lock_take_busy(lock)
    defer { unsafe chime_lock_give(lock) }
    return unsafe body(&value.pointee)
  }
}

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

/// Waits for another thread to finish a few instructions: spins, then yields, then sleeps, so that a real-time thread
/// does not spin for ever while the thread it waits for cannot run on its processor.
struct SpinWait {
  private var rounds = 0
  static var roundsWithoutSleep: Int { 63 }

  mutating func pause() {
    rounds += 1
    if rounds >= 32 { SpinWait.rest(after: rounds) }
  }

  /// Spins once. False when it has spun for longer than any change of a timer takes: the other thread has probably lost its
  /// processor.
  @inline(never)
  mutating func spin() -> Bool {
    rounds += 1
    chime_pause()
    return rounds < Tunables.spinsForWriter
  }

  // A function of its own, so that callers, who hardly ever wait, inline no more than a count.
  @inline(never)
  private static func rest(after rounds: Int) {
    if rounds <= SpinWait.roundsWithoutSleep {
      chime_yield()
    } else {
      withoutCancellation { chime_rest(50) }
    }
  }
}

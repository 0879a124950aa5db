internal import CPlatform

/// A value behind a lock: reached only inside `withLock`, by one thread at a time.
///
/// A pthread mutex rather than `Synchronization.Mutex`: the thread sanitizer knows it (it reports the other as a race
/// at every use), and with priority inheritance a real-time thread does not wait for a thread that it has preempted.
@safe package struct Locked<Value>: ~Copyable, @unchecked Sendable {
  // SAFETY: allocated in init, freed in deinit, touched only with the mutex held.
  fileprivate let lock: UnsafeMutablePointer<chime_lock>
  fileprivate let value: UnsafeMutablePointer<Value>

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

/// A value behind a lock whose changes can be waited for, on the monotonic clock. (A `DispatchSemaphore` waits on the wall
/// clock, and too long if that is stepped back.) Any thread.
@safe struct Condition<Value>: ~Copyable, @unchecked Sendable {
  private let state: Locked<Value>
  // SAFETY: allocated and initialised in init, freed in deinit, by when nobody waits.
  private let changed = UnsafeMutablePointer<chime_condition>.allocate(capacity: 1)

  /// What a waiting thread makes of the value.
  enum Wait<Result> {
    case done(Result)
    /// It waits for a change, until a time; `Int64.max` for no limit.
    case until(Int64)
  }

  init(_ value: sending Value) {
    state = Locked(value)
    unsafe chime_condition_init(changed)
  }

  deinit {
    unsafe chime_condition_destroy(changed)
    unsafe changed.deallocate()
  }

  borrowing func withLock<Result>(_ body: (inout Value) -> Result) -> Result { state.withLock(body) }

  /// Changes the value, and makes the waiting thread, if there is one, look at it again.
  borrowing func change(_ body: (inout Value) -> Void) {
    state.withLock { value in
      body(&value)
      unsafe chime_condition_signal(changed)
    }
  }

  /// Asks `body` with the lock held, again after each change, at its time and, it may be, in between, until it is done. No
  /// cancellation point.
  @inline(__always)
  borrowing func wait<Result>(_ body: (inout Value) -> Wait<Result>) -> Result {
    unsafe chime_lock_take(state.lock)
    defer { unsafe chime_lock_give(state.lock) }
    while true {
      switch unsafe body(&state.value.pointee) {
      case .done(let result): return result
      case .until(let time):
        withoutCancellation {
          if time == .max {
            unsafe chime_condition_wait(changed, state.lock)
          } else {
            unsafe chime_condition_wait_until(changed, state.lock, time)
          }
        }
      }
    }
  }
}

/// What a waiting thread sleeps by.
final class WakeUp: Sendable {
  private let signals = Condition(0)

  /// Lets the thread look again.
  func signal() { signals.change { $0 += 1 } }

  /// Sleeps until a signal.
  func wait() { _ = sleep(until: .max) }

  /// Sleeps until a signal that nothing has waited for yet, or a time on the monotonic clock: false at that time.
  func sleep(until time: Int64) -> Bool {
    signals.wait { signals in
      if signals == 0 { return time != .max && Clock.monotonic.now >= time ? .done(false) : .until(time) }
      signals = 0
      return .done(true)
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

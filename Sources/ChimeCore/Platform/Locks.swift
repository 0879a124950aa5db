internal import CPlatform
import Synchronization

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

  package borrowing func withLock<Result, Failure: Error>(
    _ body: (inout Value) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    unsafe chime_lock_take(lock)
    defer { unsafe chime_lock_give(lock) }
    return try unsafe body(&value.pointee)
  }

  /// `withLock`, or `nil` while another thread has the lock.
  package borrowing func withLockIfFree<Result>(_ body: (inout Value) -> Result) -> Result? {
    if unsafe !chime_lock_try(lock) { return nil }
    defer { unsafe chime_lock_give(lock) }
    return unsafe body(&value.pointee)
  }

  /// `withLock` for those who wait for no thread that stands still: `nil` where another one has the lock for longer than a
  /// change takes.
  package borrowing func withLockIfSoon<Result>(_ body: (inout Value) -> Result) -> Result? {
    var spinWait = SpinWait()
    while unsafe !chime_lock_try(lock) { if !spinWait.spin() { return nil } }
    defer { unsafe chime_lock_give(lock) }
    return unsafe body(&value.pointee)
  }

  /// `withLock` for a lock that several threads take again and again, each for a moment. With priority inheritance the
  /// system hands a lock over to a thread that sleeps for it, and each of many has to be scheduled before the next one gets
  /// it. So threads spin for about 2 us, then let others run in between. Only those with real-time priority sleep at once,
  /// which makes the holder run.
  package borrowing func withContendedLock<Result>(_ body: (inout Value) -> Result) -> Result {
    unsafe chime_lock_take_busy(lock)
    defer { unsafe chime_lock_give(lock) }
    return unsafe body(&value.pointee)
  }
}

/// What a thread sleeps by, on the monotonic clock, or several threads, of which a signal wakes one. (A `DispatchSemaphore`
/// waits on the wall clock, and too long if that is stepped back.) Any thread wakes it.
@safe final class WakeUp: @unchecked Sendable {
  // SAFETY: allocated and initialised in init, freed in deinit, by when nobody sleeps or wakes.
  private let sleeper = UnsafeMutablePointer<chime_sleeper>.allocate(capacity: 1)

  init() { unsafe chime_sleeper_init(sleeper) }

  deinit {
    unsafe chime_sleeper_destroy(sleeper)
    unsafe sleeper.deallocate()
  }

  /// Lets the thread look again. On Linux a thread that stands still in here holds up nobody.
  func signal() { unsafe chime_sleeper_wake(sleeper) }

  /// Sleeps until a signal.
  func wait() { _ = sleep(until: .max) }

  /// Sleeps until a signal that nothing has waited for yet, or a time on the monotonic clock: false at that time. No
  /// cancellation point.
  func sleep(until time: Int64) -> Bool {
    while true {
      if withoutCancellation({ unsafe chime_sleeper_sleep(sleeper, time) }) { return true }
      if time != .max, Clock.monotonic.now >= time { return false }
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
      sleep()
    }
  }

  /// Lets a thread of lower priority go on, too, if it waits for this processor.
  @inline(never)
  static func sleep() { withoutCancellation { chime_rest(50) } }
}

/// A request that a run return, which the run takes: of a host-driven queue, or the main queue. Any thread, and signal
/// handlers.
///
/// Whoever asks stores the request, then wakes the run; a run takes it, or finds that there is none, before it waits, and
/// says beforehand that it will wait; all sequentially consistent: store buffering (P11c).
struct StopRequest: ~Copyable {
  /// Who is to stop: a queue's id, so that a request that came late means nothing to the next queue; 0 for nobody.
  private let pending = Atomic<UInt64>(0)

  /// The token where only one run exists.
  static var only: UInt64 { 1 }

  /// Asks, while `isThere`; false if that one has been asked already, or is not there any more.
  func make(for id: UInt64 = only, while isThere: () -> Bool = { true }) -> Bool {
    var current = pending.load(ordering: .sequentiallyConsistent)
    while current != id, isThere() {
      let result = pending.compareExchange(expected: current, desired: id, ordering: .sequentiallyConsistent)
      if result.exchanged { return true }
      current = result.original
    }
    return false
  }

  /// Takes the request; true for the one run that did.
  func take(for id: UInt64 = only) -> Bool {
    pending.compareExchange(expected: id, desired: 0, ordering: .sequentiallyConsistent).exchanged
  }

  func isPending(for id: UInt64 = only) -> Bool { pending.load(ordering: .sequentiallyConsistent) == id }

  /// A hint, for a pass that gives up its slice: a late look costs the rest of it.
  var seemsPending: Bool { pending.load(ordering: .relaxed) != 0 }

  /// Forgets it, where nobody else knows of it.
  func reset() { pending.store(0, ordering: .relaxed) }
}

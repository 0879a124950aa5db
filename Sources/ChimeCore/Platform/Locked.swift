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

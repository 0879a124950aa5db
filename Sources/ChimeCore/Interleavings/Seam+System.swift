#if CHIME_INTERLEAVINGS
  internal import CPlatform

  // What the core asks of libc, under the same names: see `Seam`. Where no scheduler decides, one thread
  // runs, which needs no locks.

  // MARK: Threads, locks, conditions

  func pthread_self() -> pthread_t { Seam.isOn ? Seam.scheduler.thread : 1 }

  func chime_own_thread_number() -> UInt64 { Seam.isOn ? UInt64(Seam.scheduler.thread) : 1 }

  @discardableResult
  func sched_yield() -> CInt {
    if Seam.isOn { Seam.scheduler.yield(sleeping: 0) }
    return 0
  }

  @discardableResult
  func usleep(_ microseconds: useconds_t) -> CInt {
    if Seam.isOn { Seam.scheduler.yield(sleeping: Int64(microseconds) * 1000) }
    return 0
  }

  @discardableResult
  func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> CInt {
    if Seam.isOn { unsafe Seam.scheduler.lock(mutex) }
    return 0
  }

  /// Never succeeds: the scheduler knows those who wait.
  func pthread_mutex_trylock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> CInt { EBUSY }

  @discardableResult
  func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>) -> CInt {
    if Seam.isOn { unsafe Seam.scheduler.unlock(mutex) }
    return 0
  }

  @discardableResult
  func pthread_cond_wait(
    _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>
  ) -> CInt {
    if Seam.isOn { unsafe Seam.scheduler.wait(condition, mutex, until: .max) }
    return 0
  }

  @discardableResult
  func pthread_cond_timedwait(
    _ condition: UnsafeMutablePointer<pthread_cond_t>, _ mutex: UnsafeMutablePointer<pthread_mutex_t>,
    _ time: UnsafePointer<timespec>
  ) -> CInt {
    if Seam.isOn {
      let time = unsafe time.pointee
      unsafe Seam.scheduler.wait(
        condition, mutex, until: Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec))
    }
    return 0
  }

  @discardableResult
  func pthread_cond_signal(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> CInt {
    if Seam.isOn { unsafe Seam.scheduler.signal(condition, all: false) }
    return 0
  }

  @discardableResult
  func pthread_cond_broadcast(_ condition: UnsafeMutablePointer<pthread_cond_t>) -> CInt {
    if Seam.isOn { unsafe Seam.scheduler.signal(condition, all: true) }
    return 0
  }

  @discardableResult
  func pthread_create(
    _ thread: UnsafeMutablePointer<pthread_t>, _ attributes: UnsafePointer<pthread_attr_t>!,
    _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?,
    _ argument: UnsafeMutableRawPointer!
  ) -> CInt {
    let argument = unsafe argument
    unsafe Seam.scheduler.start { unsafe _ = body(argument) }
    return 0
  }

  @discardableResult
  func pthread_key_create(
    _ key: UnsafeMutablePointer<pthread_key_t>, _ destructor: (@convention(c) (UnsafeMutableRawPointer?) -> Void)!
  ) -> CInt {
    unsafe key.pointee = unsafe Seam.scheduler.makeKey(destructor)
    return 0
  }

  func pthread_getspecific(_ key: pthread_key_t) -> UnsafeMutableRawPointer! {
    unsafe Seam.scheduler.specific(key)
  }

  @discardableResult
  func pthread_setspecific(_ key: pthread_key_t, _ value: UnsafeRawPointer!) -> CInt {
    unsafe Seam.scheduler.setSpecific(key, value)
    return 0
  }

  /// As the key has it, for each of the scheduler's threads.
  func chime_thread_state() -> UnsafeMutableRawPointer? {
    unsafe pthread_getspecific(ThreadState.key.load(ordering: .relaxed) &- 1)
  }

  // MARK: Time and descriptors

  @discardableResult
  func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>) -> CInt {
    let (seconds, nanoseconds) = (Seam.isOn ? Seam.scheduler.now() : 0).quotientAndRemainder(dividingBy: 1_000_000_000)
    unsafe time.pointee = timespec(tv_sec: Int(seconds), tv_nsec: Int(nanoseconds))
    return 0
  }

  @discardableResult
  func poll(_ entries: UnsafeMutablePointer<pollfd>!, _ count: nfds_t, _ milliseconds: CInt) -> CInt {
    guard Seam.isOn else { return 0 }
    let end = milliseconds < 0 ? Int64.max : Seam.scheduler.now() + Int64(milliseconds) * 1_000_000
    return unsafe Seam.scheduler.poll(entries[0].fd, until: end) ? 1 : 0
  }
#endif

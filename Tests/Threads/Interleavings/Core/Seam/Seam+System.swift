internal import CPlatform

// What the core asks of libc, under the same names: see `Seam`. Where no scheduler decides, one thread
// runs, which needs no locks.

// MARK: Threads, locks, conditions

func chime_own_thread_number() -> UInt64 { Seam.isOn ? UInt64(Seam.scheduler.thread) : 1 }

func chime_yield() {
  if Seam.isOn { Seam.scheduler.yield(sleeping: 0) }
}

func chime_rest(_ microseconds: UInt32) {
  if Seam.isOn { Seam.scheduler.yield(sleeping: Int64(microseconds) * 1000) }
}

func chime_lock_take(_ lock: UnsafeMutablePointer<chime_lock>) {
  if Seam.isOn { unsafe Seam.scheduler.lock(lock) }
}

func chime_lock_try(_ lock: UnsafeMutablePointer<chime_lock>) -> Bool {
  unsafe !Seam.isOn || Seam.scheduler.tryLock(lock)
}

func chime_lock_take_busy(_ lock: UnsafeMutablePointer<chime_lock>) { unsafe chime_lock_take(lock) }

func chime_lock_give(_ lock: UnsafeMutablePointer<chime_lock>) {
  if Seam.isOn { unsafe Seam.scheduler.unlock(lock) }
}

func chime_condition_wait(
  _ condition: UnsafeMutablePointer<chime_condition>, _ lock: UnsafeMutablePointer<chime_lock>
) {
  unsafe chime_condition_wait_until(condition, lock, .max)
}

func chime_condition_wait_until(
  _ condition: UnsafeMutablePointer<chime_condition>, _ lock: UnsafeMutablePointer<chime_lock>, _ time: Int64
) {
  if Seam.isOn { unsafe Seam.scheduler.wait(condition, lock, until: time) }
}

func chime_condition_signal(_ condition: UnsafeMutablePointer<chime_condition>) {
  if Seam.isOn { unsafe Seam.scheduler.signal(condition) }
}

// A word of the kernel's: what wakes, and what goes to sleep, is one step each.

func chime_sleeper_init(_ sleeper: UnsafeMutablePointer<chime_sleeper>) {
  unsafe sleeper.pointee = chime_sleeper(is_woken: 0, sleepers: 0)
}
func chime_sleeper_destroy(_ sleeper: UnsafeMutablePointer<chime_sleeper>) {}

func chime_sleeper_wake(_ sleeper: UnsafeMutablePointer<chime_sleeper>) {
  guard Seam.isOn else { return unsafe sleeper.pointee.is_woken = 1 }
  unsafe Seam.scheduler.wake(at: sleeper) { unsafe sleeper.pointee.is_woken = 1 }
}

func chime_sleeper_sleep(_ sleeper: UnsafeMutablePointer<chime_sleeper>, _ time: Int64) -> Bool {
  guard Seam.isOn else { return true }
  unsafe Seam.scheduler.sleep(at: sleeper, until: time) { unsafe sleeper.pointee.is_woken != 0 }
  defer { unsafe sleeper.pointee.is_woken = 0 }
  return unsafe sleeper.pointee.is_woken != 0
}

func chime_thread_create(
  _ thread: UnsafeMutablePointer<UInt>, _ isDetached: CInt,
  _ body: @escaping @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?,
  _ argument: UnsafeMutableRawPointer!
) -> CInt {
  let argument = unsafe argument
  if Seam.threadsLeft == 0 { return EAGAIN }
  Seam.threadsLeft -= 1
  unsafe Seam.scheduler.start { unsafe _ = body(argument) }
  return 0
}

func chime_thread_is_over() -> CInt { 0 }
func chime_set_thread_over() {}

func chime_key_create(
  _ key: UnsafeMutablePointer<UInt32>, _ destructor: (@convention(c) (UnsafeMutableRawPointer?) -> Void)!
) -> CInt {
  unsafe key.pointee = unsafe Seam.scheduler.makeKey(destructor)
  return 0
}

func chime_key_set(_ key: UInt32, _ value: UnsafeRawPointer!) -> CInt {
  unsafe Seam.scheduler.setSpecific(key, value)
  return 0
}

/// As the key has it, for each of the scheduler's threads.
func chime_thread_state() -> UnsafeMutableRawPointer? {
  unsafe Seam.scheduler.specific(ThreadState.key.load(ordering: .relaxed) &- 1)
}

// MARK: Time and descriptors

func chime_clock_now(_ clock: Int32) -> Int64 { Seam.isOn ? Seam.scheduler.now() : 0 }

/// Of the second descriptor, which is libdispatch's, nothing is known here.
func chime_wait_for_files(_ first: CInt, _ second: CInt, _ milliseconds: CInt) -> Bool {
  guard Seam.isOn else { return false }
  let end = milliseconds < 0 ? Int64.max : Seam.scheduler.now() + Int64(milliseconds) * 1_000_000
  _ = Seam.scheduler.poll(first, until: end)
  return false
}

internal import CPlatform

// The poller of the pool, and what it asks of the system's scheduling: one bell and one time, each of which wakes one
// thread.

private enum Simulated {
  nonisolated(unsafe) static var lock = chime_lock()
  nonisolated(unsafe) static var condition = chime_condition()
  nonisolated(unsafe) static var isOpen = false
  nonisolated(unsafe) static var isRung = false
  nonisolated(unsafe) static var time = Int64.max
}

/// As if no thread had ever waited there.
package func resetSimulatedPoller() {
  unsafe (Simulated.lock, Simulated.condition) = (chime_lock(), chime_condition())
  Simulated.isOpen = false
  Simulated.isRung = false
  Simulated.time = .max
  Seam.threadsLeft = .max
}

func chime_poller_open(_ poller: UnsafeMutablePointer<chime_poller>) -> Bool {
  Simulated.isOpen = true
  unsafe poller.pointee = chime_poller(file: 0, bell: 0, timer: 0)
  return true
}

func chime_poller_remove(_ poller: UnsafePointer<chime_poller>, _ file: Int32) {}

func chime_poller_close(_ poller: UnsafeMutablePointer<chime_poller>) {
  Simulated.isOpen = false
  unsafe poller.pointee = chime_poller(file: -1, bell: -1, timer: -1)
}

func chime_poller_wait(_ poller: UnsafePointer<chime_poller>, _ nanoseconds: Int64) -> Int32 {
  guard Seam.isOn else { return Int32(CHIME_POLLER_NOTHING) }
  let end = nanoseconds < 0 ? Int64.max : Seam.scheduler.now() + nanoseconds
  unsafe chime_lock_take(&Simulated.lock)
  defer { unsafe chime_lock_give(&Simulated.lock) }
  while true {
    if Simulated.isRung {
      Simulated.isRung = false
      return Int32(CHIME_POLLER_BELL)
    }
    let now = Seam.scheduler.now()
    if Simulated.time <= now {
      Simulated.time = .max
      return Int32(CHIME_POLLER_TIME)
    }
    if end <= now { return Int32(CHIME_POLLER_NOTHING) }
    unsafe chime_condition_wait_until(&Simulated.condition, &Simulated.lock, min(end, Simulated.time))
  }
}

func chime_poller_keeps_time() -> Bool { true }

func chime_poller_set(_ poller: UnsafePointer<chime_poller>, _ time: Int64) -> Bool {
  change { Simulated.time = time }
  return true
}

func chime_poller_ring(_ poller: UnsafePointer<chime_poller>) {
  precondition(Simulated.isOpen, "the bell of a poller that was closed is rung")
  change { Simulated.isRung = true }
}

private func change(_ body: () -> Void) {
  guard Seam.isOn else { return body() }
  Seam.scheduler.systemCall {
    unsafe chime_lock_take(&Simulated.lock)
    body()
    unsafe chime_condition_signal(&Simulated.condition)
    unsafe chime_lock_give(&Simulated.lock)
  }
}

func chime_timer_slack() -> Int64 { 50 }
func chime_processors() -> Int32 { 2 }
func chime_schedule_as_usual() {}

func chime_spin() {
  guard Seam.isOn else { return }
  unsafe chime_lock_take(&Simulated.lock)
  unsafe chime_condition_wait_until(&Simulated.condition, &Simulated.lock, Seam.scheduler.now() + 2000)
  unsafe chime_lock_give(&Simulated.lock)
}

import CCoroutines

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Timers of the kernel that are none: each has a time from which it is readable. A number is never used again within
/// a run.
struct Files {
  private var made = CHIME_FIRST_FILE
  /// Of those that are open.
  private var times: [Int32: Int64] = [:]
  /// How often each was set.
  private(set) var settings: [Int32: Int] = [:]

  mutating func make() -> Int32 {
    made += 1
    times[made] = .max
    return made
  }

  func isOpen(_ file: Int32) -> Bool { times[file] != nil }
  func time(_ file: Int32) -> Int64 { times[file] ?? .max }

  /// Polling what is not open returns at once.
  func isReadable(_ file: Int32, _ now: Int64) -> Bool { times[file].map { $0 <= now } ?? true }

  mutating func set(_ file: Int32, _ time: Int64) -> Bool {
    settings[file, default: 0] += 1
    return isOpen(file) && times.updateValue(time, forKey: file) != nil
  }
  mutating func close(_ file: Int32) -> Bool { times.removeValue(forKey: file) != nil }
}

// MARK: In front of libc's

@_cdecl("timerfd_create")
func makeFile(clock: Int32, flags: Int32) -> Int32 { Scheduler.shared.files.make() }

@_cdecl("timerfd_settime")
func setFile(
  _ file: Int32, flags: Int32, new: UnsafePointer<itimerspec>, old: UnsafeMutablePointer<itimerspec>?
) -> Int32 {
  let scheduler = Scheduler.shared
  let time = Int64(new.pointee.it_value.tv_sec) * second + Int64(new.pointee.it_value.tv_nsec)
  scheduler.step(time == 0 ? "disarm file" : "arm file")
  if !scheduler.files.set(file, time == 0 ? .max : time) { scheduler.fail("a closed descriptor is set") }
  for other in scheduler.coroutines {
    if case .file(file, _) = other.obstacle, scheduler.files.isReadable(file, scheduler.clock) {
      scheduler.release(other)
    }
  }
  return 0
}

@_cdecl("chime_file_close")
func closeFile(_ file: Int32) {
  Scheduler.shared.step("close file")
  if !Scheduler.shared.files.close(file) { Scheduler.shared.fail("a descriptor is closed twice") }
}

/// No thread of a scenario is the process's main one, whose run loop would drain libdispatch's main queue.
@_cdecl("gettid")
func notTheMainThread() -> pid_t { getpid() + 1 }

@_cdecl("pthread_setname_np")
func setNoName(thread: pthread_t, name: UnsafePointer<CChar>) -> Int32 { 0 }

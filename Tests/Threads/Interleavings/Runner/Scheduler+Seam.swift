import ChimeCore

/// What the core calls: the steps, and all that a thread can wait for.
extension Scheduler {
  func step(_ operation: StaticString, _ file: StaticString, _ line: UInt32) {
    decide()
    trace.add("\(operation)", at: "\(file):\(line)")
  }

  func note(_ old: UInt64, _ new: UInt64) { trace.note(old, new) }

  func step(_ operation: String) {
    decide()
    trace.add(operation)
  }

  // MARK: Locks. The word of the mutex that glibc would use holds the owner's number + 1.

  private func owner(_ mutex: UnsafeMutableRawPointer) -> UnsafeMutablePointer<Int32> {
    mutex.assumingMemoryBound(to: Int32.self)
  }

  func lock(_ mutex: UnsafeMutableRawPointer) {
    step("lock")
    acquire(mutex)
  }

  func tryLock(_ mutex: UnsafeMutableRawPointer) -> Bool {
    step("try to lock")
    if owner(mutex).pointee != 0 { return false }
    owner(mutex).pointee = Int32(current.index + 1)
    return true
  }

  private func acquire(_ mutex: UnsafeMutableRawPointer) {
    let owner = owner(mutex)
    while owner.pointee != 0 {
      if Int(owner.pointee) == current.index + 1 { return fail("\(current.name) locks what it has locked") }
      block(.lock(mutex))
    }
    owner.pointee = Int32(current.index + 1)
  }

  /// No step: a thread that is stopped here could as well be stopped at its next step.
  func unlock(_ mutex: UnsafeMutableRawPointer) {
    owner(mutex).pointee = 0
    for other in coroutines {
      if case .lock(mutex) = other.obstacle { release(other) }
    }
  }

  func wait(_ condition: UnsafeMutableRawPointer, _ mutex: UnsafeMutableRawPointer, until time: Int64) {
    step("wait")
    unlock(mutex)
    if time > clock { block(.condition(condition, until: time)) }
    acquire(mutex)
  }

  func signal(_ condition: UnsafeMutableRawPointer) {
    step("signal")
    for other in coroutines {
      if case .condition(condition, _) = other.obstacle {
        return release(other)
      }
    }
  }

  func sleep(at address: UnsafeMutableRawPointer, until time: Int64, unless isWoken: () -> Bool) {
    step("sleep")
    if !isWoken(), time > clock { block(.condition(address, until: time)) }
  }

  func wake(at address: UnsafeMutableRawPointer, _ change: () -> Void) {
    step("wake")
    change()
    for other in coroutines {
      if case .condition(address, _) = other.obstacle { release(other) }
    }
  }

  func systemCall(_ body: () -> Void) {
    let delay = current.delay
    current.delay = nil
    body()
    current.delay = delay
  }

  func yield(sleeping nanoseconds: Int64) {
    trace.add(nanoseconds > 0 ? "sleep" : "yield")
    giveWay(nanoseconds)
  }

  // MARK: Threads

  var thread: UInt { UInt(current.index + 1) }

  func start(_ body: @escaping () -> Void) {
    _ = add("queue's thread", isDaemon: true, body)
  }

  func makeKey(_ destructor: (@convention(c) (UnsafeMutableRawPointer?) -> Void)?) -> UInt32 {
    destructors.append(destructor)
    return UInt32(destructors.count - 1)
  }

  func specific(_ key: UInt32) -> UnsafeMutableRawPointer? {
    Int(key) < current.specifics.count ? current.specifics[Int(key)] : nil
  }

  func setSpecific(_ key: UInt32, _ value: UnsafeRawPointer?) {
    while current.specifics.count <= Int(key) { current.specifics.append(nil) }
    current.specifics[Int(key)] = UnsafeMutableRawPointer(mutating: value)
  }

  // MARK: Time

  func now() -> Int64 {
    clock += 1
    return clock
  }

  /// The earliest time that somebody waits for and that has not come.
  var nextTime: Int64 {
    var time = Int64.max
    for coroutine in coroutines {
      time = min(time, coroutine.obstacle.until)
      if case .file(let file, _) = coroutine.obstacle { time = min(time, files.time(file)) }
    }
    return time
  }

  /// Time jumps to what is waited for.
  func jump() {
    clock = max(clock, nextTime)
    trace.add("clock is \(clock)", by: "clock")
    for coroutine in coroutines {
      if coroutine.obstacle.until <= clock { release(coroutine) }
      if case .file(let file, _) = coroutine.obstacle, files.isReadable(file, clock) { release(coroutine) }
    }
  }

  // MARK: Descriptors

  func poll(_ file: Int32, until time: Int64) -> Bool {
    step("poll")
    while !files.isReadable(file, clock) {
      if time <= clock { return false }
      block(.file(file, until: time))
    }
    return true
  }
}

import Synchronization

/// The call by which a host that has no loop of its own runs a host-driven queue.
extension QueueCore {
  /// Processes until no timer is running and nothing is left to call, or until `stop`. Waits for time, unless it is not
  /// to: then it returns instead.
  /// - Returns: ok, stopped, timedOut where it may not wait; wrongThread, busy, wouldDeadlock, shutDown, unsupported for a queue that gives records.
  package static func run(_ id: UInt64, untilStopped: Bool, waits: Bool = true) -> Status {
    switch findHost(id) {
    case .failure(let status): return status
    case .success(let (core, driver)):
      if !untilStopped { driver.sleepers.add(1, ordering: .sequentiallyConsistent) }
      defer { if !untilStopped { driver.sleepers.subtract(1, ordering: .sequentiallyConsistent) } }
      var spinWait = SpinWait()
      let wasEnding = ThreadEnd.isCaught
      while true {
        var refused = core.takeStop(driver)
        if refused == .stopped { return .stopped }
        if refused == nil, case .failure(let status) = process(id, most: .max, isOfRun: true, watches: !untilStopped) {
          refused = status
        }
        if let status = refused {
          // A thread that releases a timer may be inside for a moment, with its finalizer.
          if status == .busy, driver.isDrivingThread || driver.drivingThread.load(ordering: .relaxed) == 0 {
            spinWait.pause()
            continue
          }
          return status == .invalidHandle ? .queueHasEnded : status
        }
        if core.closing.hasBegun { return .queueHasEnded }
        if ThreadEnd.isCaught, !wasEnding { return .stopped }
        // A stop inside the last callback is this run's.
        if core.control.stopIsPending(id) { continue }
        // As it was at the end of that pass. A timer that came later is another thread's and has not run yet.
        if !untilStopped, driver.isIdle { return .ok }
        // Something came in the meantime, and a thread that ended a timer may have taken it in.
        if !untilStopped, !driver.isWatching { continue }
        if !waits { return .timedOut }
        core.pollHost(.max)
      }
    }
  }

  /// Takes a stop that is pending; `nil` if there is none. Only who could process the queue now takes it: inside a
  /// handler, or on a thread that may not, it would be the stop of another run.
  private func takeStop(_ driver: HostDriver) -> Status? {
    guard control.stopIsPending(id) else { return nil }
    if !driver.mayDrive { return driver.isBoundElsewhere }
    let status = asPassOfCall { _ in control.takeStop(id) ? .stopped : .ok }
    return status == .ok ? nil : status
  }

  /// Makes `run` return; if none is under way, the next one returns at once. Ignored while a stop is pending.
  /// Async-signal-safe.
  package static func stop(_ id: UInt64) -> Status {
    guard let control = QueueControlBlocks.find(id) else {
      return Fork.isChild ? .inChildOfFork : Status.invalidHandle.asConstant("queue names no queue, or was released")
    }
    guard control.hostFile >= 0 else { return Status.unsupported.asConstant("queue is not host-driven") }
    if !control.requestStop(id) { return .ignored }
    control.wakeHost()
    return .ok
  }

  /// Waits until the descriptor is readable, the queue ends or is to stop, a signal arrives, or `timeout` nanoseconds
  /// (rounded up to milliseconds) are over.
  private func pollHost(_ timeout: Int64) {
    control.pinned {
      let file = control.hostFile
      // Read after the descriptor, which may be that of the next queue in the control block. A stop that came before the
      // queue was armed has left nothing but the request; one that comes from here on finds this thread's pin (P11c).
      if file < 0 || closing.hasBegun || control.stopIsPending(id) { return }
      Descriptors.wait(file, timeout: timeout)
    }
  }
}

import Synchronization

/// Virtual time: it moves when somebody moves it, from deadline to deadline.
extension QueueCore {
  /// Passes at one instant, before `advance` gives up.
  private static var passesPerInstant: Int { 1000 }

  /// Moves time forward by a duration of 0 or more, delivering on the way.
  package static func advance(_ id: UInt64, by duration: Int64) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    return core.advance(to: core.cell.virtualNow.saturatingAdd(duration))
  }

  /// Moves time forward to a point, delivering on the way; one in the past delivers what is due now.
  package static func advance(_ id: UInt64, to target: Int64) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    return core.advance(to: target)
  }

  /// Moves time without delivering anything.
  package static func jump(_ id: UInt64, by duration: Int64) -> Status {
    guard let core = find(id) else { return .unknownHandle }
    guard core.cell.isVirtual else { return .unsupported }
    return core.whileItLives { core.cell.moveVirtualNow(by: duration) } == nil ? .unknownHandle : .ok
  }

  private func advance(to target: Int64) -> Status {
    guard cell.isVirtual else { return .unsupported }
    if ThreadState.frames.holds(cell) { return .wouldDeadlock }
    guard takeTokenSoon() else { return .busy }
    if isClosed {
      putDownToken()
      return .shutDown
    }
    let status = ThreadState.current.inside(cell) { frame -> Status in
      let status = deliver(until: target, frame)
      if isAbandoned { return .forked }
      if isClosing.load(ordering: .sequentiallyConsistent) { closeIfPossible(frame) }
      return status
    }
    if isAbandoned { return .forked }
    announceEnd()
    putDownToken()
    disposeIfWanted()
    return status
  }

  private func deliver(until target: Int64, _ frame: CurrentFrame) -> Status {
    var instant = cell.virtualNow
    var passesHere = 0
    let wasEnding = ThreadEnd.isCaught
    while true {
      if isClosing.load(ordering: .sequentiallyConsistent) { return .shutDown }
      takeInbox()
      if !hasWorkNow {
        guard let next = wheel.earliest(), next != .max, next <= max(target, cell.virtualNow) else { break }
        cell.moveVirtualNow(to: next)
      }
      if cell.virtualNow != instant {
        instant = cell.virtualNow
        passesHere = 0
      }
      if passesHere == QueueCore.passesPerInstant { return .limit }
      passesHere += 1
      runSlice(.none, frame)
      if isAbandoned { return .forked }
      // Time stays where a callback has ended the thread.
      if ThreadEnd.isCaught, !wasEnding { return .ok }
    }
    checkThatNothingIsForgotten()
    cell.moveVirtualNow(to: target)
    return .ok
  }

  var hasWorkNow: Bool {
    batchIsOpen || !extras.isEmpty || hasDying || endIsWanted || hasFunctions
  }

  /// Calls the finalizers of timers that were released outside a pass, on the caller's thread; if a pass runs, it does
  /// so at its end.
  func disposeOutsidePass() { asPass(disposeNow) }

  /// Whether the calling thread may call what a released timer calls last: on a bound queue, the bound one.
  var mayDisposeHere: Bool { (adapter as? HostAdapter)?.mayDrive ?? true }

  func disposeIfWanted() { asPassIfWanted(disposeNow) }

  private func disposeNow() {
    if isClosed { return }
    ThreadState.current.inside(cell) { frame in
      takeInbox()
      disposeOfDying(frame)
      if isAbandoned { return }
      if hasDying { adapter.wake(self) }
      if isClosing.load(ordering: .sequentiallyConsistent) { closeIfPossible(frame) }
    }
    if !isAbandoned { announceEnd() }
  }
}

extension QueueCell {
  /// Moves virtual time forward by a distance; saturates.
  func moveVirtualNow(by duration: Int64) {
    var now = virtualNow
    while true {
      let result = unsafe storage.pointee.virtualNow.compareExchange(
        expected: now, desired: now.saturatingAdd(duration), ordering: .sequentiallyConsistent)
      if result.exchanged { return }
      now = result.original
    }
  }

  /// Has the callbacks and finalizer of a released timer called: by a pass, or here when passes run inside calls and
  /// none does.
  func wakeToDispose() {
    if runsInCalls, core?.mayDisposeHere != false {
      core?.disposeOutsidePass()
    } else {
      wake()
    }
  }
}

/// A virtual queue's adapter: nothing wakes it.
final class VirtualAdapter: QueueAdapter {
  func arm(at time: Int64?) {}
  func wake(_ core: QueueCore) {}
  func close() {}
  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status { .unsupported }
  func obstacle(_ core: QueueCore, sinceLastPass: String?) -> String? {
    "it comes with the next advance of its virtual queue"
  }
  var isOnQueue: Bool { false }
  var mayNeverRun: Bool { false }
  var shouldYield: Bool { false }
}

import Synchronization

/// A virtual queue's driver: nothing wakes it, and whoever waits until there is a timer is notified.
final class VirtualDriver: QueueDriver {
  /// See `QueueCore.notifyOfArming`.
  let waiting = Locked<[@Sendable () -> Void]>([])

  private func notify() {
    for body in waiting.withLock({ $0.takeAll() }) { body() }
  }

  func arm(at time: Int64?) {}
  func wake(_ core: QueueCore) { notify() }
  func close() { notify() }
  var takesSync: Bool { false }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    text.add("it comes with the next advance of its virtual queue")
  }
}

/// Virtual time: it moves when somebody moves it, from deadline to deadline.
extension QueueCore {
  /// Passes at one instant, or beyond its end, before `advance` gives up.
  private static var mostPasses: Int { 1000 }

  /// Moves time forward by a duration of 0 or more, delivering on the way. One of `Int64.max` is refused.
  package static func advance(_ id: UInt64, by duration: Int64) -> Status {
    guard let core = findHere(id) else { return unknown(id) }
    if duration == .max { return .endlessAdvance }
    return core.advance(duration, fromNow: true)
  }

  /// Moves time forward to a point, delivering on the way; one in the past delivers what is due now.
  package static func advance(_ id: UInt64, to target: Int64) -> Status {
    guard let core = find(id) else { return unknown(id) }
    return core.advance(target, fromNow: false)
  }

  /// Moves time without delivering anything.
  package static func jump(_ id: UInt64, by duration: Int64) -> Status {
    guard let core = find(id) else { return unknown(id) }
    guard core.control.isVirtual else { return Status.unsupported.because("queue is not virtual") }
    return core.whileItLives { core.control.moveVirtualNow(by: duration) } == nil ? unknown(id) : .ok
  }

  /// Calls `body` once: when a timer is added to a virtual queue that has none, or when the queue ends. The caller then
  /// reads `nextDeadline`: a timer that came before this call has woken nobody, and is seen there (P1).
  package static func notifyOfArming(_ id: UInt64, _ body: @escaping @Sendable () -> Void) {
    guard let core = find(id), let driver = core.driver as? VirtualDriver else { return body() }
    driver.waiting.withLock { $0.append(body) }
    core.control.nextWakeUp = .max
    if find(id) == nil { driver.wake(core) }
  }

  /// - Parameter fromNow: `time` is a duration, from when no other thread moves the time any more.
  private func advance(_ time: Int64, fromNow: Bool) -> Status {
    guard control.isVirtual else { return Status.unsupported.because("queue is not virtual") }
    return .of { () throws(Forked) in
      try asPassOfCall { pass throws(Forked) in
        let status = try deliver(until: time, fromNow: fromNow, pass)
        if closing.hasBegun { try closeIfPossible(pass) }
        return status
      }
    }
  }

  private func deliver(until time: Int64, fromNow: Bool, _ pass: borrowing Pass) throws(Forked) -> Status {
    var instant = control.virtualNow
    let target = fromNow ? instant.saturatingAdd(time) : time
    var (passesHere, passesBeyond) = (0, 0)
    let wasEnding = pass.frame.thread.hasEnded
    while true {
      if closing.hasBegun { return .queueHasEnded }
      if isSuspended { break }
      takeInbox(pass)
      if !hasWorkNow {
        guard let next = wheel.earliest(until: max(target, control.virtualNow)), next != .max else { break }
        control.moveVirtualNow(to: next)
      }
      if control.virtualNow != instant {
        instant = control.virtualNow
        passesHere = 0
      }
      if passesHere == QueueCore.mostPasses {
        return Status.limit.because(
          "handlers of the queue made something due at once %n times without end, at %t", 1000, instant)
      }
      passesHere &+= 1
      // Handlers have taken time, by `jump`.
      if instant > target { passesBeyond += 1 }
      if passesBeyond > QueueCore.mostPasses {
        return Status.limit.because(
          "handlers of the queue took time: something was due %n times beyond the end of the advance, without end, now at %t",
          1000, instant)
      }
      try collectAndDeliver(Limit(), at: instant, pass)
      // Time stays where a callback has ended the thread.
      if pass.frame.thread.hasEnded, !wasEnding { return .ok }
    }
    checkThatNothingIsForgotten(pass)
    control.moveVirtualNow(to: target)
    return .ok
  }
}

extension QueueControlBlock {
  /// Moves virtual time forward by a distance; saturates.
  func moveVirtualNow(by duration: Int64) {
    var now = virtualNow
    while true {
      let result = storage.virtualNow.compareExchange(
        expected: now, desired: now.saturatingAdd(duration), ordering: .sequentiallyConsistent)
      if result.exchanged { return }
      now = result.original
    }
  }
}

extension QueueCore {
  /// Steps the clock as the queue with that id sees it, for tests, which cannot step the machine's.
  /// - Parameter isNoticed: as the system tells of it.
  package static func stepWallClock(_ id: UInt64, by nanoseconds: Int64, isNoticed: Bool = true) {
    guard let control = QueueControlBlocks.find(id) else { return }
    control.storage.wallShift.add(nanoseconds, ordering: .relaxed)
    if isNoticed { control.wakeAfterStep() }
  }
}

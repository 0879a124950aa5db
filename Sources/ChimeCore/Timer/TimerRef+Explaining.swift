internal import CPlatform

/// Why a timer does not fire, in one sentence.
extension TimerRef {
  /// `nil` when the id is stale.
  package var explanation: String? {
    let control = control
    let now = control.now
    guard let facts = facts(at: now) else { return nil }
    var parts = [facts.state(at: now, control)]
    let isOverdue = facts.deadline.map { $0 <= now } ?? false
    if facts.isBusy {
      parts.append("its handler has not returned yet, and its next call waits for that")
      if facts.missed > 0 { parts.append(phrase("%n missed while its handler runs", Int64(clamping: facts.missed))) }
    } else if facts.hasPendingCallback || isOverdue {
      if facts.hasPendingCallback { parts.append("an extra tick was asked for") }
      parts.append(obstacle(control, now))
    }
    return parts.joined(separator: "; ") + "."
  }

  /// What the record says at one instant.
  private struct Facts {
    var word: TimerWord
    /// When the next tick is due, in the queue's internal time, if the timer is running.
    var deadline: Int64?
    var leeway: Int64
    var tickLimit: UInt64
    /// Due times while the handler runs that will get no tick of their own.
    var missed: UInt64
    var hasSchedule: Bool
    var hasPendingCallback: Bool
    var targetIsGone: Bool
    var isBusy: Bool { word.isBusy }

    func state(at now: Int64, _ control: QueueControlBlock) -> String {
      switch word.state {
      case .idle: hasSchedule ? "it was never activated" : "it was never activated, and has no schedule"
      case .running: running(at: now, control)
      case .suspended: phrase("it was suspended %d ago", now.saturatingSubtract(word.suspendedAt))
      case .finished: tickLimit > 0
        ? phrase("it has finished, after %n due times", Int64(clamping: tickLimit)) : "it has finished: it was a one-shot"
      case .cancelled: targetIsGone ? "its target has gone, which has cancelled it" : "it was cancelled"
      case nil: "it was released"
      }
    }

    private func running(at now: Int64, _ control: QueueControlBlock) -> String {
      guard let deadline, deadline != .max else { return "its deadline is never" }
      if deadline <= now { return phrase("it was due %d ago", now.saturatingSubtract(deadline)) }
      var text = phrase("it is due in %d", deadline.saturatingSubtract(now))
      if leeway > 0, control.honoursLeeway { text += phrase(", or up to %d later by its leeway", leeway) }
      if control.isVirtual { text += ", on a virtual clock, which somebody has to advance" }
      return text
    }
  }

  private func facts(at now: Int64) -> Facts? {
    guard let image else { return nil }
    return Facts(
      word: image.word, deadline: image.word.isRunning ? image.dueTime : nil, leeway: image.leeway.nanoseconds,
      tickLimit: image.tickLimit, missed: image.missedMeanwhile(at: now),
      hasSchedule: image.flags.contains(.hasSchedule), hasPendingCallback: image.word.hasPendingCallback,
      targetIsGone: image.targetID != 0 && TimerTarget.status(of: image.targetID) != .ok)
  }

  /// Why something that is due has not been called.
  private func obstacle(_ control: QueueControlBlock, _ now: Int64) -> String {
    guard let core = control.core else { return "its queue ends" }
    if let other = core.busyTimer(but: slot) { return "the handler of \(other) runs on its queue" }
    let last = core.counters.timeOfLastPass.map { now.saturatingSubtract($0).asDuration }
    return core.driver.obstacle(core, sinceLastPass: last) ?? "its queue is about to call it"
  }
}

extension QueueCore {
  /// Another timer whose handler is running, on a queue that runs one handler at a time.
  fileprivate func busyTimer(but slot: TimerSlot) -> String? {
    if handOver != nil { return nil }
    var found: TimerRef?
    control.forEachSlot { other in
      let word = other.word
      if word.isBusy, other.index != slot.index { found = TimerRef(slot: other, version: other.version) }
    }
    guard let found else { return nil }
    return "timer \(found.id)" + (found.label.map { " \"\($0)\"" } ?? "")
  }
}

/// A text in which `%d` stands for a duration as people read it, three digits and a unit, and `%n` for a number.
@inline(never)
func phrase(_ format: StaticString, _ first: Int64, _ second: Int64 = 0) -> String {
  withUnsafeTemporaryAllocation(of: CChar.self, capacity: 120) { text in
    // SAFETY: a literal ends with a zero byte.
    let format = unsafe UnsafeRawPointer(format.utf8Start).assumingMemoryBound(to: CChar.self)
    guard let address = unsafe text.baseAddress else { return "" }
    unsafe chime_write_sentence(address, text.count, format, format, first, second)
    return unsafe String(cString: address)
  }
}

extension Int64 {
  var asDuration: String { phrase("%d", self) }
}

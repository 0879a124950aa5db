internal import CPlatform

/// Why a timer does not fire, in one sentence.
extension TimerRef {
  /// `nil` when the id is stale.
  package var explanation: String? {
    guard let facts else { return nil }
    let control = control
    let now = control.now
    var parts = [facts.state(at: now, control)]
    let isOverdue = facts.deadline.map { $0 <= now } ?? false
    if facts.isBusy {
      parts.append("its handler has not returned yet, and its next call waits for that")
    } else if facts.hasPendingCallback || isOverdue {
      if facts.hasPendingCallback { parts.append("an extra tick was asked for") }
      parts.append(obstacle(control, now))
    }
    return parts.joined(separator: "; ") + "."
  }

  /// What the record says, taken at one instant.
  private struct Facts {
    var word: TimerWord
    /// When the next tick is due, in the time that the queue keeps, if the timer runs.
    var deadline: Int64?
    var leeway: Int64
    var tickLimit: UInt64
    var isRepeating: Bool
    var hasSchedule: Bool
    var hasPendingCallback: Bool
    var targetIsGone: Bool
    var isBusy: Bool { word.isBusy }

    func state(at now: Int64, _ control: QueueControlBlock) -> String {
      switch word.state {
      case .idle: hasSchedule ? "it was never activated" : "it was never activated, and has no schedule"
      case .running: running(at: now, control)
      case .suspended: "it was suspended \(now.saturatingSubtract(word.suspendedAt).asDuration) ago"
      case .finished: tickLimit > 0 ? "it has finished, after \(tickLimit) due times" : "it has finished: it was a one-shot"
      case .cancelled: targetIsGone ? "its target has gone, which has cancelled it" : "it was cancelled"
      case nil: "it was released"
      }
    }

    private func running(at now: Int64, _ control: QueueControlBlock) -> String {
      guard let deadline, deadline != .max else { return "its deadline is never" }
      if deadline <= now { return "it was due \(now.saturatingSubtract(deadline).asDuration) ago" }
      var text = "it is due in \(deadline.saturatingSubtract(now).asDuration)"
      if leeway > 0, control.honoursLeeway { text += ", or up to \(leeway.asDuration) later by its leeway" }
      if control.isVirtual { text += ", on a virtual clock, which somebody has to advance" }
      return text
    }
  }

  private var facts: Facts? {
    guard let image else { return nil }
    return Facts(
      word: image.word, deadline: image.word.isRunning ? image.dueTime : nil, leeway: image.leeway.nanoseconds,
      tickLimit: image.tickLimit, isRepeating: image.flags.contains(.repeating),
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
  /// Another timer whose handler runs, where one handler at a time does.
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

extension Int64 {
  /// Nanoseconds as people read them: three digits, and a unit.
  var asDuration: String {
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(CHIME_DURATION_TEXT)) { text in
      guard let text = unsafe text.baseAddress else { return "" }
      unsafe chime_write_duration(text, self)
      return unsafe String(cString: text)
    }
  }
}

/// Why a timer does not fire, in one sentence.
extension TimerRef {
  /// `nil` when the id is stale.
  package var explanation: String? { TextWriter.string { explain(into: &$0) } }

  /// False, and nothing written, if the id is stale.
  package func explain(into text: inout TextWriter) -> Bool {
    let control = control
    let now = control.now
    guard let facts = facts(at: now) else { return false }
    facts.tellState(at: now, control, &text)
    if facts.isBusy {
      text.add("; its handler has not returned yet, and its next call waits for that")
      if facts.missed > 0 { text.add(phrase: "; %n missed while its handler runs", Int64(clamping: facts.missed)) }
    } else {
      if facts.hasPendingCallback { text.add("; an extra tick was asked for") }
      if facts.hasPendingCallback || facts.deadline.map({ $0 <= now }) ?? false {
        text.add("; ")
        tellObstacle(control, now, &text)
      }
    }
    if !control.isVirtual { facts.tellMissingUnit(&text) }
    text.add(".")
    return true
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
    /// The interval, or a one-shot's delay; `nil` for a deadline.
    var distance: (nanoseconds: Int64, isInterval: Bool)?
    var hasPendingCallback: Bool
    var targetIsGone: Bool
    var isBusy: Bool { word.isBusy }

    func tellState(at now: Int64, _ control: QueueControlBlock, _ text: inout TextWriter) {
      switch word.state {
      case .idle: text.add(hasSchedule ? "it was never activated" : "it was never activated, and has no schedule")
      case .running: tellRunning(at: now, control, &text)
      case .suspended: text.add(phrase: "it was suspended %d ago", now.saturatingSubtract(word.suspendedAt))
      case .finished:
        if tickLimit == 0 { return text.add("it has finished: it was a one-shot") }
        text.add(phrase: "it has finished, after %n due times", Int64(clamping: tickLimit))
      case .cancelled: text.add(targetIsGone ? "its target has gone, which has cancelled it" : "it was cancelled")
      case nil: text.add("it was released")
      }
    }

    /// Less than a microsecond was seldom meant.
    func tellMissingUnit(_ text: inout TextWriter) {
      guard let distance, (1..<1000).contains(distance.nanoseconds) else { return }
      let what: StaticString = distance.isInterval ? "; its interval is %d" : "; its delay is %d"
      text.add(phrase: what, distance.nanoseconds)
      text.add(": perhaps a unit is missing, such as CHIME_MILLISECOND")
    }

    private func tellRunning(at now: Int64, _ control: QueueControlBlock, _ text: inout TextWriter) {
      guard let deadline, deadline != .max else { return text.add("its deadline is never") }
      if deadline <= now { return text.add(phrase: "it was due %d ago", now.saturatingSubtract(deadline)) }
      text.add(phrase: "it is due in %d", deadline.saturatingSubtract(now))
      if leeway > 0, control.honoursLeeway { text.add(phrase: ", or up to %d later by its leeway", leeway) }
      if control.isVirtual { text.add(", on a virtual clock, which somebody has to advance") }
    }
  }

  private func facts(at now: Int64) -> Facts? {
    guard let snapshot else { return nil }
    return Facts(
      word: snapshot.word, deadline: snapshot.word.isRunning ? snapshot.due : nil, leeway: snapshot.leeway.nanoseconds,
      tickLimit: snapshot.tickLimit, missed: snapshot.missedMeanwhile(at: now),
      hasSchedule: snapshot.flags.contains(.hasSchedule), distance: snapshot.distance,
      hasPendingCallback: snapshot.word.hasPendingCallback,
      targetIsGone: snapshot.targetID != 0 && TimerTarget.status(of: snapshot.targetID) != .ok)
  }

  /// Why something that is due has not been called.
  private func tellObstacle(_ control: QueueControlBlock, _ now: Int64, _ text: inout TextWriter) {
    guard let core = control.core else { return text.add("its queue ends") }
    if let other = core.busyTimer(but: slot) {
      text.add("the handler of timer ")
      text.add(other.id)
      other.tellLabel(&text)
      return text.add(" runs on its queue")
    }
    let last = core.counters.timeOfLastPass.map { now.saturatingSubtract($0) }
    core.driver.tellObstacle(core, sinceLastPass: last, &text)
  }

  /// A space and the label in quotation marks, if there is one.
  func tellLabel(_ text: inout TextWriter) {
    unsafe withLabel { label in
      guard let label = unsafe label else { return }
      text.add(" \"")
      unsafe text.add(label)
      text.add("\"")
    }
  }
}

extension Snapshot {
  /// The interval, or a one-shot's delay; `nil` for a deadline.
  fileprivate var distance: (nanoseconds: Int64, isInterval: Bool)? {
    if flags.contains(.repeating) { return (period, true) }
    return flags.contains(.hasSchedule) && !flags.contains(.firstIsDeadline) ? (period, false) : nil
  }
}

extension QueueCore {
  /// Another timer whose handler is running, on a queue that runs one handler at a time.
  fileprivate func busyTimer(but slot: TimerSlot) -> TimerRef? {
    if handOver != nil { return nil }
    var found: TimerRef?
    control.forEachSlot { other in
      let word = other.word
      if word.isBusy, other.index != slot.index { found = TimerRef(slot: other, version: other.version) }
    }
    return found
  }
}

/// Why a timer does not fire, in one sentence.
extension TimerRef {
  /// Writes a sentence. False, and nothing written, if the id is stale.
  package func explain(into text: inout TextWriter) -> Bool {
    let control = control
    let now = control.now
    guard let snapshot else { return false }
    snapshot.tellState(at: now, &text)
    if snapshot.word.isBusy {
      text.add("; its handler has not returned yet")
      if snapshot.hasCallToCome { text.add(", and its next call waits for that") }
      let missed = snapshot.missedMeanwhile(at: now)
      if missed > 0 { text.add(phrase: "; %n missed while its handler runs", Int64(clamping: missed)) }
    } else {
      let isCancelled = snapshot.word.state == .cancelled
      // There is no tick, not even an extra one, without the target.
      let hasPendingCallback = snapshot.word.hasPendingCallback && (isCancelled || !snapshot.targetHasGone)
      if hasPendingCallback {
        text.add(isCancelled ? "; its cancel handler" : "; an extra tick or another callback")
        text.add(" has not been called yet")
      }
      let waits = hasPendingCallback || snapshot.word.isRunning && snapshot.due != .max
      if waits, control.core?.isSuspended == true {
        text.add("; its queue is suspended")
      } else if hasPendingCallback || snapshot.isDue(at: now) {
        text.add("; ")
        tellObstacle(control, now, &text)
      }
    }
    if !control.isVirtual { snapshot.tellMissingUnit(&text) }
    text.add(".")
    return true
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
      text.add(" ")
      unsafe text.add(foreign: label)
    }
  }
}

extension Snapshot {
  fileprivate func tellState(at now: Int64, _ text: inout TextWriter) {
    switch word.state {
    case .idle:
      text.add("it was never activated")
      if targetHasGone { return text.add(", and cannot be: its target is gone") }
      if !flags.contains(.hasSchedule) { text.add(", and has no schedule") }
    case .running: tellRunning(at: now, &text)
    case .suspended: text.add(phrase: "it was suspended %d ago", now.saturatingSubtract(word.suspendedAt))
    case .finished:
      if tickLimit == 0 {
        text.add("it has finished: it was a one-shot")
      } else {
        text.add(phrase: "it has finished, after %n due times", Int64(clamping: tickLimit))
      }
      if targetHasGone { text.add(", and its target is gone") }
    case .cancelled:
      text.add(targetHasGone ? "its target has gone, which has cancelled it" : "it was cancelled")
    case nil: text.add("it was released")
    }
  }

  fileprivate var targetHasGone: Bool { targetID != 0 && !TimerTarget.isAlive(targetID) }

  /// Not if its deadline is never, which a virtual clock can reach.
  func isDue(at now: Int64) -> Bool { word.isRunning && due <= now && due != .max }

  fileprivate var hasCallToCome: Bool { word.hasPendingCallback || word.isRunning && due != .max }

  private func tellRunning(at now: Int64, _ text: inout TextWriter) {
    if due == .max { return text.add("its deadline is never") }
    if due <= now { return text.add(phrase: "it was due %d ago", now.saturatingSubtract(due)) }
    text.add(phrase: "it is due in %d", due.saturatingSubtract(now))
    if leeway > 0, control.honoursLeeway {
      text.add(phrase: ", or up to %d later by its leeway", leeway)
    }
    if jitter > 0 { text.add(phrase: ", which is its time of the grid and a random part of up to %d", jitter) }
    if control.isVirtual { text.add(", on a virtual clock, which somebody has to advance") }
  }

  /// Whether the interval is shorter than anybody means, on a clock of the system's.
  var hasShortInterval: Bool { !control.isVirtual && flags.contains(.repeating) && (1..<10_000).contains(period) }

  /// Less than 10 us was seldom meant, be it the interval or a one-shot's delay.
  fileprivate func tellMissingUnit(_ text: inout TextWriter) {
    let isInterval = flags.contains(.repeating)
    let isDelay = flags.contains(.hasSchedule) && !flags.contains(.firstIsDeadline)
    guard isInterval || isDelay, (1..<10_000).contains(period) else { return }
    text.add(phrase: isInterval ? "; its interval is %d" : "; its delay is %d", period)
    text.add(": perhaps a unit is missing, such as CHIME_MILLISECOND")
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

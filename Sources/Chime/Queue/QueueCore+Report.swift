/// What a queue has done. `chime_queue_stats` in Swift.
package struct QueueStatistics: Sendable {
  package var timers: UInt64 = 0
  package var running: UInt64 = 0
  package var entries: UInt64 = 0
  package var passes: UInt64 = 0
  package var emptyPasses: UInt64 = 0
  package var ticks: UInt64 = 0
  package var missed: UInt64 = 0
}

/// Telling what a queue does: nothing of it is kept in step while the queue works, it is added up when asked for.
extension QueueCore {
  /// The time on the clock of the queue with that id; `nil` when it is stale.
  package static func now(_ id: UInt64) -> Int64? {
    QueueCells.find(id).map { $0.isWall ? $0.wallNow : $0.now }
  }

  package var statistics: QueueStatistics {
    var result = QueueStatistics()
    cell.forEachSlot { slot in
      let word = slot.word
      if word.isLive { result.timers += 1 }
      if word.isRunning { result.running += 1 }
    }
    result.entries = UInt64(max(entries.load(ordering: .relaxed), 0))
    result.passes = passes.load(ordering: .relaxed)
    result.emptyPasses = emptyPasses.load(ordering: .relaxed)
    result.ticks = ticks.load(ordering: .relaxed)
    result.missed = missed.load(ordering: .relaxed)
    return result
  }

  /// A line for the queue and one for each timer.
  package var dump: String {
    let s = statistics
    var text = "queue \(id) \"\(label)\" now \(cell.outer(cell.now)) timers \(s.timers) running \(s.running) passes \(s.passes)"
    text += " ticks \(s.ticks) missed \(s.missed)\n"
    cell.forEachSlot { slot in
      let timer = TimerRef(slot: slot, life: slot.life)
      guard let info = timer.info else { return }
      text += "timer \(timer.id) \"\(timer.label ?? "")\" \(info.state)\(info.isBusy ? " busy" : "")"
      text += " next \(info.nextDeadline == .max ? "never" : String(info.nextDeadline))"
      text += " interval \(info.interval) ticks \(info.sequence)\n"
    }
    return text
  }
}

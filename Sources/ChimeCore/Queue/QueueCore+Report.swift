import Synchronization

/// What a queue has done, since it was made.
public struct QueueStatistics: Sendable {
  /// Timers that exist and were not released.
  public internal(set) var timers: UInt64 = 0
  /// Of these, those in state running.
  public internal(set) var running: UInt64 = 0
  /// Entries in the wheel, stale ones included.
  public internal(set) var entries: UInt64 = 0
  /// Of these, those whose timer was cancelled, released or moved; they go when their time comes, or when there are many.
  public internal(set) var stale: UInt64 = 0
  /// Visits to the wheel: wake-ups.
  public internal(set) var passes: UInt64 = 0
  /// Of these, those that found nothing due and nothing new.
  public internal(set) var emptyPasses: UInt64 = 0
  /// Callbacks that came with another one's wake-up.
  public internal(set) var merged: UInt64 = 0
  /// Due times that got no tick of their own.
  public internal(set) var missed: UInt64 = 0
  /// Ticks by how late they were: the first number counts those late by less than 1,024 ns, each further one those late
  /// by less than twice as much, the last one all others.
  public internal(set) var lateness: [UInt64] = Array(repeating: 0, count: QueueCounters.buckets)
  /// Ticks that were delivered.
  public var ticks: UInt64 { lateness.reduce(0, &+) }
}

/// Telling what a queue does: most of it is added up when asked for.
extension QueueCore {
  /// The time on the clock of the queue with that id; `nil` when it is stale.
  package static func now(_ id: UInt64) -> Int64? {
    find(id).flatMap { core in core.whileItLives { core.control.isWall ? core.control.wallNow : core.control.now } }
  }

  /// Gives `body` the id of each queue that was not released.
  package static func forEachID(_ body: (UInt64) -> Void) { QueueControlBlocks.forEachID(body) }

  /// `nil` when the queue was released.
  package static func statistics(_ id: UInt64) -> QueueStatistics? {
    find(id).flatMap { core in core.whileItLives { core.statistics } }
  }

  var statistics: QueueStatistics {
    var result = QueueStatistics()
    var placed: UInt64 = 0
    control.forEachSlot { slot in
      let word = slot.word
      if word.isLive { result.timers += 1 }
      if word.isRunning {
        result.running += 1
        if Slab.position(of: slot.index).tick != nil { placed += 1 }
      }
    }
    result.entries = UInt64(max(entries.load(ordering: .relaxed), 0))
    result.stale = result.entries - min(placed, result.entries)
    counters.read(into: &result)
    return result
  }

  /// A line for the queue and one for each timer; `nil` when it was released.
  package static func dump(_ id: UInt64) -> String? { find(id).flatMap { core in core.whileItLives { core.dump } } }

  private var dump: String {
    let s = statistics
    var text = ReportText("queue", id, quoting: label)
    text.add("now", control.wallTime(control.now))
    text.add("timers", s.timers)
    text.add("running", s.running)
    text.add("entries", s.entries)
    text.add("stale", s.stale)
    text.add("passes", s.passes)
    text.add("merged", s.merged)
    text.add("ticks", s.ticks)
    text.add("missed", s.missed)
    var lines = text.line
    control.forEachSlot { slot in
      let timer = TimerRef(slot: slot, version: slot.version)
      guard slot.word.isLive, let info = timer.info else { return }
      var text = ReportText("timer", timer.id, quoting: timer.label ?? "")
      text.add(info.state.name)
      if info.isBusy { text.add("busy") }
      text.add("next", info.nextDeadline == .max ? nil : info.nextDeadline)
      text.add("interval", info.interval)
      text.add("ticks", info.sequence)
      text.add("missed", info.missed)
      lines += text.line
    }
    return lines
  }
}

/// A line of words and numbers.
private struct ReportText {
  private var text: String

  init(_ kind: String, _ id: UInt64, quoting label: String) {
    text = kind + " " + String(id) + " \"" + label + "\""
  }

  var line: String { text + "\n" }

  @inline(never)
  mutating func add(_ word: String) {
    text += " "
    text += word
  }

  mutating func add(_ word: String, _ number: UInt64) {
    add(word)
    add(String(number))
  }

  /// - Parameter number: `nil` for never.
  mutating func add(_ word: String, _ number: Int64?) {
    add(word)
    add(number.map { String($0) } ?? "never")
  }
}

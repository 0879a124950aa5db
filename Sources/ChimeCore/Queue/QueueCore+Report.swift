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

/// What is added up over a queue's timers.
private struct QueueSums {
  var timers: UInt64 = 0
  var running: UInt64 = 0
  var entries: UInt64 = 0
  var stale: UInt64 = 0
}

/// Telling what a queue does: most of it is added up when asked for.
extension QueueCore {
  /// The time on the clock of the queue with that id; `nil` when it is stale.
  package static func now(_ id: UInt64) -> Int64? {
    find(id).flatMap { core in core.whileItLives { core.control.isWall ? core.control.wallNow : core.control.now } }
  }

  /// `nil` when the queue was released.
  package static func statistics(_ id: UInt64) -> QueueStatistics? {
    find(id).flatMap { core in core.whileItLives { core.statistics } }
  }

  var statistics: QueueStatistics {
    var sums = QueueSums()
    add(to: &sums)
    var result = QueueStatistics()
    result.timers = sums.timers
    result.running = sums.running
    result.entries = sums.entries
    result.stale = sums.stale
    counters.read(into: &result)
    return result
  }

  private func add(to sums: inout QueueSums) {
    var placed: UInt64 = 0
    control.forEachSlot { slot in
      let word = slot.word
      if word.isLive { sums.timers += 1 }
      if word.isRunning {
        sums.running += 1
        if Slab.position(of: slot.index).tick != nil { placed += 1 }
      }
    }
    sums.entries = UInt64(max(entries.load(ordering: .relaxed), 0))
    sums.stale = sums.entries - min(placed, sums.entries)
  }

  /// A line for the queue and one for each timer; `nil` when it was released.
  package static func dump(_ id: UInt64) -> String? { TextWriter.string { dump(id, into: &$0) } }

  /// False, and nothing written, when it was released.
  package static func dump(_ id: UInt64, into text: inout TextWriter) -> Bool {
    find(id).flatMap { core in core.whileItLives { core.dump(into: &text) } } != nil
  }

  private func dump(into text: inout TextWriter) {
    var sums = QueueSums()
    add(to: &sums)
    text.begin("queue ", id)
    text.add(label)
    text.add("\"")
    text.add(" now", control.wallTime(control.now))
    text.add(" timers", sums.timers)
    text.add(" running", sums.running)
    text.add(" entries", sums.entries)
    text.add(" stale", sums.stale)
    text.add(" passes", counters.passes.load(ordering: .relaxed))
    text.add(" merged", counters.merged.load(ordering: .relaxed))
    text.add(" ticks", counters.ticks)
    text.add(" missed", counters.missed.load(ordering: .relaxed))
    text.add("\n")
    control.forEachSlot { slot in
      let timer = TimerRef(slot: slot, version: slot.version)
      guard slot.word.isLive, let info = timer.info else { return }
      text.begin("timer ", timer.id)
      timer.withLabel { label in
        if let label = unsafe label { unsafe text.add(label) }
      }
      text.add("\" ")
      text.add(info.state.name)
      if info.isBusy { text.add(" busy") }
      text.add(" next", info.nextDeadline == .max ? nil : info.nextDeadline)
      text.add(" interval", info.interval)
      text.add(" ticks", info.sequence)
      text.add(" missed", info.missed)
      text.add("\n")
    }
  }
}

extension TextWriter {
  /// The beginning of a line, to the opening quotation mark of a label.
  fileprivate mutating func begin(_ kind: StaticString, _ id: UInt64) {
    add(kind)
    add(id)
    add(" \"")
  }

  fileprivate mutating func add(_ word: StaticString, _ number: UInt64) {
    add(word)
    add(" ")
    add(number)
  }

  /// - Parameter number: `nil` for never.
  fileprivate mutating func add(_ word: StaticString, _ number: Int64?) {
    add(word)
    add(" ")
    if let number { add(number) } else { add("never") }
  }
}

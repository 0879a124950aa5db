import Synchronization

/// What a queue has done since it was created.
public struct QueueStatistics: Sendable {
  /// Timers that exist and have not been released.
  public internal(set) var timers: UInt64 = 0
  /// Those in state running.
  public internal(set) var running: UInt64 = 0
  /// Entries in the wheel, stale ones included.
  public internal(set) var entries: UInt64 = 0
  /// Entries whose timer was cancelled, released or moved. They go when their time comes, or when there are many.
  public internal(set) var stale: UInt64 = 0
  /// Visits to the wheel: wake-ups.
  public internal(set) var passes: UInt64 = 0
  /// Passes that found nothing due and nothing new.
  public internal(set) var emptyPasses: UInt64 = 0
  /// Callbacks that shared another one's wake-up.
  public internal(set) var merged: UInt64 = 0
  /// Due times that got no tick of their own.
  public internal(set) var missed: UInt64 = 0
  /// Ticks by how late they were: the first number counts those late by less than 1,024 ns, the second less than 2,048
  /// ns, and so on, doubling; the last counts all others.
  public internal(set) var lateness: [UInt64] = Array(repeating: 0, count: QueueCounters.buckets)
  /// Ticks that were delivered.
  public var ticks: UInt64 { lateness.reduce(0, &+) }
}

/// Reports on a queue. Most numbers are added up on request.
extension QueueCore {
  /// The time on the clock of the queue with that id; `nil` when it is stale.
  package static func now(_ id: UInt64) -> Int64? {
    if let control = QueueControlBlocks.find(id), let now = control.clockTime(ifStill: id) { return now }
    return find(id).flatMap { core in
      core.whileItLives { core.control.isWall ? core.control.wallNow : core.control.now }
    }
  }

  /// False, too, when it is stale.
  package static func givesRecords(_ id: UInt64) -> Bool { QueueControlBlocks.find(id)?.givesRecords == true }

  /// `nil` when the queue was released.
  package static func statistics(_ id: UInt64) -> QueueStatistics? {
    find(id).flatMap { core in core.whileItLives { core.statistics } }
  }

  var statistics: QueueStatistics {
    var result = QueueStatistics()
    (result.timers, result.running, result.entries, result.stale) = sums
    counters.read(into: &result)
    return result
  }

  private var sums: (timers: UInt64, running: UInt64, entries: UInt64, stale: UInt64) {
    var (timers, running, placed) = (UInt64(0), UInt64(0), UInt64(0))
    control.forEachSlot { slot in
      let word = slot.word
      if word.isLive { timers += 1 }
      if word.isRunning {
        running += 1
        if Slab.position(of: slot.index).tick != nil { placed += 1 }
      }
    }
    let entries = UInt64(max(entries.load(ordering: .relaxed), 0))
    return (timers, running, entries, entries - min(placed, entries))
  }

  /// Calls `body` with the id of each timer that has not been released. False, and nothing is called, when the queue was released.
  ///
  /// - Parameter withOwned: also with those that own their context: Swift's, and those within values that expire and weak
  ///   timers, whose context no C program may use.
  package static func forEachTimer(of id: UInt64, withOwned: Bool = false, _ body: (UInt64) -> Void) -> Bool {
    find(id).flatMap { core in
      core.whileItLives {
        core.control.forEachSlot { slot in
          let timer = TimerRef(slot: slot, version: slot.version)
          if withOwned || !slot.flags.contains(.ownsContext), timer.word != nil { body(timer.id) }
        }
      }
    } != nil
  }

  /// Writes a line for the queue and one for each timer. False, and nothing written, if it was released.
  package static func dump(_ id: UInt64, into text: inout TextWriter) -> Bool {
    find(id).flatMap { core in core.whileItLives { core.dump(into: &text) } } != nil
  }

  private func dump(into text: inout TextWriter) {
    let now = control.now
    let sums = sums
    text.add("queue ")
    text.add(id)
    if !label.utf8.isEmpty {
      text.add(" ")
      text.add(foreign: label)
    }
    text.add(": ", sums.timers, " timers")
    text.add(", ", sums.running, " running")
    text.add(", ", counters.passes.load(ordering: .relaxed), " passes")
    text.add(", ", counters.merged.load(ordering: .relaxed), " merged")
    text.add(", ", counters.ticks, " ticks")
    text.add(", ", counters.missed.load(ordering: .relaxed), " missed")
    text.add(", ", sums.entries, " entries")
    text.add(", ", sums.stale, " stale")
    text.add(isSuspended ? ", suspended\n" : "\n")
    control.forEachSlot { slot in
      if slot.word.isLive { TimerRef(slot: slot, version: slot.version).report(at: now, &text) }
    }
  }
}

extension TextWriter {
  /// A number between two texts.
  @inline(never)
  fileprivate mutating func add(_ before: StaticString, _ number: UInt64, _ behind: StaticString) {
    add(before)
    add(number)
    add(behind)
  }
}

extension TimerRef {
  /// Writes a line; nothing if the id is stale.
  fileprivate func report(at now: Int64, _ text: inout TextWriter) {
    guard let snapshot, let state = snapshot.word.state else { return }
    text.add("timer ")
    text.add(id)
    tellLabel(&text)
    text.add(": ")
    text.add(state.name)
    let due = state == .running ? snapshot.due : .max
    if due > now, due != .max { text.add(phrase: ", due in %d", due.saturatingSubtract(now)) }
    if snapshot.isDue(at: now) { text.add(phrase: ", due %d ago", now.saturatingSubtract(due)) }
    if snapshot.flags.contains(.repeating) { text.add(phrase: ", every %d", snapshot.period) }
    if snapshot.hasShortInterval { text.add(" (is a unit missing?)") }
    if snapshot.jitter > 0 { text.add(phrase: ", jitter %d", snapshot.jitter) }
    text.add(", ", snapshot.sequence, " ticks")
    text.add(", ", snapshot.missed, " missed")
    if snapshot.word.isBusy {
      let missed = snapshot.missedMeanwhile(at: now)
      if missed > 0 { text.add(", ", missed, " missed while its handler runs") } else { text.add(", its handler runs") }
    }
    text.add("\n")
  }
}

extension Snapshot {
  /// Periods that have passed while the timer's handler runs, but for the one that the next tick is for.
  func missedMeanwhile(at now: Int64) -> UInt64 {
    guard word.isRunning, flags.contains(.repeating), !flags.contains(.delayPolicy), period > 0, due <= now else {
      return 0
    }
    let missed = UInt64(now.saturatingSubtract(due) / period)
    return tickLimit == 0 ? missed : min(missed, tickLimit - min(tickLimit, dueCount + 1))
  }
}

extension QueueCounters {
  func read(into statistics: inout QueueStatistics) {
    statistics.passes = passes.load(ordering: .relaxed)
    statistics.emptyPasses = emptyPasses.load(ordering: .relaxed)
    statistics.merged = merged.load(ordering: .relaxed)
    statistics.missed = missed.load(ordering: .relaxed)
    for i in 0..<QueueCounters.buckets { unsafe statistics.lateness[i] = late[i].load(ordering: .relaxed) }
  }
}

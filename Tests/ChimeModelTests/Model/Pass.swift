import CChime

/// One pass: what it found due when it began, and how far it has come.
struct Pass {
  /// One callback that a timer may have in this pass.
  struct Turn {
    let timer: ModelTimer
    /// `nil`: ARMED or CANCELLED.
    let tick: Int?
    let epoch: Int
    /// Its first and last due time.
    let due: ClosedRange<Int64>
    /// The timer has another turn in this pass: the documents do not say that both must come in the same one.
    let isOptional: Bool
    var isOver = false

    /// Nothing has happened to the timer since the pass began.
    var isCurrent: Bool { !isOver && epoch == timer.epoch && !timer.isReleased }
    var isBinding: Bool { isCurrent && !isOptional }

    /// Whether this turn comes before the other by deadline, then activation. Unknown counts as no.
    func precedes(_ other: Turn, in reading: Reading) -> Bool {
      let mine = reading.orderedByFirst ? due.lowerBound : due.upperBound
      let others = reading.orderedByFirst ? other.due.lowerBound : other.due.upperBound
      if mine != others { return mine < others }
      guard let place = timer.order.place(in: reading), let otherPlace = other.timer.order.place(in: reading) else {
        return false
      }
      return place < otherPlace
    }
  }

  /// The clock when the pass began.
  let reading: Int64
  /// ARMED and CANCELLED callbacks: before all ticks, in any order.
  var callbacks: [Turn] = []
  var ticks: [Turn] = []
  /// A callback came whose pass cannot be told: at this instant order is not checked any more.
  var isOpen = false

  init(_ timers: [ModelTimer], now: Int64) {
    reading = now
    for timer in timers where !timer.isReleased || timer.owedCancelled > 0 {
      let owes = timer.owesArmed || timer.owedCancelled > 0
      if owes { callbacks.append(Turn(timer: timer, tick: nil, epoch: timer.epoch, due: now...now, isOptional: false)) }
      if timer.isReleased { continue }
      let isDue = timer.isDue(at: now)
      if let time = timer.fireTime {
        add(timer, CHIME_TICK_FIRED, time...time, isOptional: owes || isDue)
      }
      if isDue {
        let due = timer.deadline...max(timer.deadline, timer.lastDueTime(upTo: now))
        add(timer, CHIME_TICK_DUE, due, isOptional: owes || timer.fireTime != nil)
      }
    }
  }

  private mutating func add(_ timer: ModelTimer, _ tick: Int, _ due: ClosedRange<Int64>, isOptional: Bool) {
    ticks.append(Turn(timer: timer, tick: tick, epoch: timer.epoch, due: due, isOptional: isOptional))
  }

  var isEmpty: Bool { callbacks.isEmpty && ticks.isEmpty }

  /// Who must still have a turn in this pass.
  var waiting: [ModelTimer] { isOpen ? [] : (callbacks + ticks).filter(\.isBinding).map(\.timer) }

  /// Uses up a turn of the timer for this callback; `false` when it has none left.
  mutating func takeTurn(_ timer: ModelTimer, _ kind: Int, _ readings: inout [Reading]) throws(Difference) -> Bool {
    if isOpen { return true }
    if kind == CHIME_TICK_ARMED || kind == CHIME_TICK_CANCELLED {
      if let index = callbacks.firstIndex(where: { $0.timer === timer && !$0.isOver }) {
        isOpen = !callbacks[index].isBinding
        callbacks[index].isOver = true
        return true
      }
      // A second callback of the timer belongs to the next pass, or to this one while others still wait.
      if callbacks.contains(where: { $0.timer === timer }), !waiting.isEmpty { return true }
      // In place of a tick that was due when the pass began, or of an activation that was cancelled.
      return takeChangedTurn(timer)
    }
    if callbacks.contains(where: \.isBinding) { return false }
    if let index = ticks.firstIndex(where: { $0.timer === timer && $0.tick == kind && $0.isCurrent }) {
      let turn = ticks[index]
      let others = ticks.filter { $0.isBinding && $0.timer !== timer }
      if turn.isOptional, others.isEmpty { isOpen = true }
      let agreeing = readings.filter { reading in !others.contains { $0.precedes(turn, in: reading) } }
      if agreeing.isEmpty {
        let first = others.first { $0.precedes(turn, in: readings[0]) }!
        throw Difference("timer \(first.timer.number) of the same pass comes first")
      }
      readings = agreeing
      ticks[index].isOver = true
      return true
    }
    // Something happened to the timer since the pass began, and it is due again.
    return takeChangedTurn(timer)
  }

  private mutating func takeChangedTurn(_ timer: ModelTimer) -> Bool {
    guard let index = ticks.firstIndex(where: { $0.timer === timer && !$0.isOver && !$0.isCurrent }) else {
      return false
    }
    ticks[index].isOver = true
    isOpen = true
    return true
  }
}

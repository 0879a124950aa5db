import ChimeCore

/// The newest tick of a timer that nobody has taken yet, where ticks are taken later than they start: for a call of an
/// asynchronous handler, or by a reader of ticks. What is lost in between is counted as missed, and a suspension holds it
/// back. Pure.
struct DueTick {
  /// To be taken.
  private(set) var waiting: ChimeTimer.Tick?
  /// Held back.
  private(set) var held: ChimeTimer.Tick?
  /// The generation in which the timer has been suspended; `nil` if it is not, or held nothing back.
  private var suspended: UInt64?
  /// Ticks of older generations were called off.
  private var oldest: UInt64 = 0
  /// What older ones than these are current in, since the timer was resumed.
  private var resumed: UInt64 = 0

  /// Whether a tick is held back.
  var isHeld: Bool { suspended != nil && held != nil }

  /// Notes a tick. Gives whether there is one to take.
  mutating func put(_ new: ChimeTimer.Tick) -> Bool {
    var tick = new
    if tick.generation < oldest { return waiting != nil }
    if let suspended, tick.generation < suspended {
      held = tick.after(held)
      return waiting != nil
    }
    tick.generation = max(tick.generation, resumed)
    if suspended == nil {
      tick = tick.after(held)
      held = nil
    }
    waiting = waiting?.generation == tick.generation ? tick.after(waiting) : tick
    return true
  }

  /// Takes the tick out, if it is current.
  mutating func take() -> ChimeTimer.Tick? {
    defer { waiting = nil }
    return waiting?.isCurrent == true ? waiting : nil
  }

  /// What was due is called off. Gives whether there was anything.
  ///
  /// - Parameters:
  ///   - generation: the timer's now; `nil` if it has ended.
  ///   - keepsCurrent: whether what is of that generation stays: the change by which the timer came to it, or another since,
  ///     may have brought a tick before this is called.
  mutating func drop(_ generation: UInt64?, keepsCurrent: Bool) -> Bool {
    let generation = generation ?? .max
    oldest = max(oldest, generation)
    var hasDropped = false
    if !keepsCurrent || suspended ?? 0 < generation {
      hasDropped = held != nil
      (suspended, held) = (nil, nil)
    }
    if let tick = waiting, !keepsCurrent || tick.generation < generation {
      hasDropped = true
      waiting = nil
    }
    return hasDropped
  }

  /// The timer has been suspended, or at rest it holds back what is due. An extra tick goes, as that of a plain handler does.
  ///
  /// - Parameters:
  ///   - generation: the timer's now.
  ///   - isAccepted: whether the timer has changed.
  /// - Returns: whether something was to be taken.
  mutating func suspend(_ generation: UInt64, isAccepted: Bool) -> Bool {
    let before = waiting
    waiting = nil
    if let before, !before.isExtra || before.missed > 0 { held = before.after(held) }
    if isAccepted || before != nil { suspended = generation }
    return before != nil
  }

  /// The timer has been resumed.
  ///
  /// - Parameter isDue: whether a tick is about to come, which counts what was held back.
  /// - Returns: whether something had been held back.
  mutating func resume(_ generation: UInt64, isDue: Bool) -> Bool {
    if suspended == nil { return false }
    (suspended, resumed) = (nil, generation)
    guard var tick = held else { return false }
    if isDue { return true }
    tick.generation = generation
    waiting = waiting.map { $0.after(tick) } ?? tick
    held = nil
    return true
  }

  init(oldest: UInt64 = 0) { self.oldest = oldest }
}

extension ChimeTimer.Tick {
  /// This tick, with the one before it, which nobody has seen, counted as missed.
  func after(_ previous: ChimeTimer.Tick?) -> ChimeTimer.Tick {
    guard let previous else { return self }
    var tick = self
    let (sum, overflows) = missed.addingReportingOverflow(previous.missed)
    tick.missed = overflows || sum == .max ? .max : sum + 1
    return tick
  }
}

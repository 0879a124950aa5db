import CChime

/// SplitMix64 (Steele, Lea, Flood 2014): the same steps for the same seed everywhere.
struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64
  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

  mutating func choose<T>(_ weighted: [(Int, T)]) -> T {
    var rest = Int.random(in: 0..<weighted.reduce(0) { $0 + $1.0 }, using: &self)
    for (weight, value) in weighted {
      rest -= weight
      if rest < 0 { return value }
    }
    return weighted[0].1
  }
}

/// Draws operations. Times are small, so that ties and missed ticks are frequent, with an extreme now and then.
struct OperationGenerator {
  static let mostTimers = 14
  private static let extremes: [Int64] = [.max, .max - 1, 1 << 62, .min, -1, 1_000_000_000_000_000]
  var random: SplitMix64

  init(seed: UInt64) { random = SplitMix64(seed: seed) }

  private enum Kind {
    case create, start, after, every, advance, advanceTo, jump, script, timerCall
  }

  /// A step from outside any handler.
  mutating func step(_ model: ModelQueue) -> Operation {
    if model.unreleased.count >= Self.mostTimers { return .release(aTimer(model)) }
    let kinds: [(Int, Kind)] = [
      (4, .create), (3, .start), (1, .after), (1, .every), (22, .advance), (4, .advanceTo), (3, .jump), (12, .script),
      (60, .timerCall),
    ]
    switch random.choose(kinds) {
    case .create: return .create(traits())
    case .start: return .start(traits(), schedule(model), anonymous: random.chance(15))
    case .after: return .after(duration(to: 40), anonymous: random.chance(50))
    case .every: return .every(duration(to: 20), anonymous: false)
    case .advance: return .advance(advance())
    case .advanceTo: return .advanceTo(model.now + Int64.random(in: -20...30, using: &random))
    case .jump: return .jump(jump())
    case .script: return .script(aTimer(model), callback: Int.random(in: 0...3, using: &random), handlerCall(model))
    case .timerCall: return timerCall(model, aTimer(model))
    }
  }

  /// A call to be made from inside a handler; half of them on timers that may be the handler's own.
  private mutating func handlerCall(_ model: ModelQueue) -> Operation {
    let kinds: [(Int, Kind)] = [(2, .create), (5, .start), (2, .after), (2, .advance), (5, .jump), (80, .timerCall)]
    switch random.choose(kinds) {
    case .create: return .create(traits())
    case .start: return .start(traits(), schedule(model), anonymous: false)
    case .after: return .after(duration(to: 10), anonymous: true)
    case .advance: return .advance(duration(to: 10))
    case .jump: return .jump(Int64.random(in: 0...25, using: &random))
    default: return timerCall(model, aTimer(model))
    }
  }

  private enum Call {
    case activate, restart, reschedule, suspend, resume, postpone, postponeUntil, fire, cancel, cancelAndWait, release
  }

  private mutating func timerCall(_ model: ModelQueue, _ timer: Int) -> Operation {
    let calls: [(Int, Call)] = [
      (20, .activate), (10, .restart), (8, .reschedule), (10, .suspend), (14, .resume), (8, .postpone),
      (3, .postponeUntil), (10, .fire), (7, .cancel), (1, .cancelAndWait), (4, .release),
    ]
    switch random.choose(calls) {
    case .activate: return .activate(timer, scheduleOrNil(model))
    case .restart: return .restart(timer, scheduleOrNil(model))
    case .reschedule: return .reschedule(timer, scheduleOrNil(model))
    case .suspend: return .suspend(timer)
    case .resume: return .resume(timer)
    case .postpone: return .postpone(timer, duration(to: 20))
    case .postponeUntil: return .postponeUntil(timer, deadline(model))
    case .fire: return .fire(timer)
    case .cancel: return .cancel(timer)
    case .cancelAndWait: return .cancelAndWait(timer, random.chance(10) ? -1 : .max)
    case .release: return .release(timer)
    }
  }

  /// Mostly a live timer, sometimes a released one, rarely a forged id.
  private mutating func aTimer(_ model: ModelQueue) -> Int {
    if random.chance(1) || model.timers.isEmpty { return -1 }
    if random.chance(2) { return Int.random(in: 0..<model.timers.count, using: &random) }
    return model.unreleased.randomElement(using: &random)?.number ?? -1
  }

  // MARK: Arguments

  private mutating func traits() -> TimerTraits {
    TimerTraits(selfReleasing: random.chance(15), registration: random.chance(30), cancellation: random.chance(30))
  }

  private mutating func duration(to most: Int64) -> Int64 {
    random.chance(2) ? Self.extremes.randomElement(using: &random)! : Int64.random(in: 0...most, using: &random)
  }

  private mutating func deadline(_ model: ModelQueue) -> Int64 {
    if random.chance(3) { return Self.extremes.randomElement(using: &random)! }
    return model.now + Int64.random(in: -40...40, using: &random)
  }

  private mutating func advance() -> Int64 {
    if random.chance(1) { return -1 }
    let most: Int64 = random.choose([(15, 0), (45, 6), (34, 30), (1, 200)])
    return Int64.random(in: 0...most, using: &random)
  }

  private mutating func jump() -> Int64 {
    if random.chance(3) { return -1 }
    return Int64.random(in: 0...(random.chance(5) ? 1_000_000_000_000 : 60), using: &random)
  }

  private mutating func scheduleOrNil(_ model: ModelQueue) -> chime_schedule? {
    random.chance(35) ? nil : schedule(model)
  }

  private mutating func schedule(_ model: ModelQueue) -> chime_schedule {
    let interval = random.chance(35) ? 0 : max(random.chance(96) ? 1 : .min, duration(to: 15))
    let isDeadline = random.chance(25)
    var schedule = makeSchedule(
      first: isDeadline ? deadline(model) : duration(to: 25), interval: interval, deadline: isDeadline,
      limit: random.choose([(70, 0), (25, UInt64.random(in: 1...6, using: &random)), (3, .max)]),
      missed: random.chance(25) ? CHIME_MISSED_DELAY : CHIME_MISSED_COALESCE,
      resume: random.chance(isDeadline ? 3 : 35) ? CHIME_RESUME_REMAINING : CHIME_RESUME_COALESCE)
    if random.chance(20) {
      schedule.leeway_ns = interval > 0 ? Int64.random(in: 0..<interval, using: &random) : duration(to: 90)
    }
    if random.chance(1) { schedule.leeway_ns = interval }
    if random.chance(1) { schedule.flags |= 8 }
    if random.chance(1) { schedule.missed_policy = 7 }
    if random.chance(1) { schedule.resume_policy = -1 }
    if random.chance(1) { schedule.size = random.chance(50) ? 0 : 3 }
    return schedule
  }
}

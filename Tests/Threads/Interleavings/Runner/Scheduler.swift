import ChimeCore

/// Runs the threads of one run one at a time, each a coroutine on the program's only thread, and decides after each
/// step which one goes on.
///
/// The clock is a thread among them: when it is chosen, time jumps to the earliest time that somebody waits for.
/// Otherwise it moves by 1 ns with each look at it.
final class Scheduler: SeamScheduler {
  nonisolated(unsafe) static let shared = Scheduler()

  /// Steps after which a run has no end.
  static let mostSteps = 60_000
  /// A time that no run waits for: a thread that sleeps until then sleeps too long. At the end of a run the threads of the
  /// pool end one after the other, each after five seconds, and there may be sixteen.
  static let horizon: Int64 = 180_000_000_000
  /// The same for one scenario.
  var latest = Scheduler.horizon
  static let start: Int64 = 1_000_000_000

  // The run.
  private(set) var coroutines: [Coroutine] = []
  var current: Coroutine
  /// A bit for each thread that nothing holds up.
  var runnable: UInt64 = 0
  var clock = Scheduler.start
  /// Whether a thread that can go on may be told to wait. Not while a run is prepared and when it is looked over.
  var preempts = false
  private(set) var steps = 0
  /// Steps of the race alone.
  private(set) var raceSteps = 0
  private(set) var failure: String?
  var files = Files()
  let outside: Coroutine

  // How it is decided.
  private var strategy = Strategy.straight
  private var random = RandomNumbers(0)
  private var changeMask: UInt64 = 0
  private var changes: [Int] = []
  private var lowest = 0
  private var clockPriority = 0
  /// How often time may still jump while somebody can go on: a repeating timer would take all of a run.
  var jumpsLeft = 0
  /// PCT: somebody may have become runnable whose priority is higher.
  var isStale = false
  var search = Search(bound: 0)

  /// Called after each step, while the scheduler is off.
  var check: (() -> String?)?
  let trace = StepList()
  var destructors: [(@convention(c) (UnsafeMutableRawPointer?) -> Void)?] = []

  private init() {
    outside = Coroutine(index: -1, name: "outside", isDaemon: true) {}
    current = outside
  }

  // MARK: A run

  /// - Parameter length: the steps of a run, about: among those PCT draws its change points.
  func run(_ strategy: Strategy, seed: UInt64, length: Int, _ body: @escaping () -> Void) -> String? {
    for coroutine in coroutines { coroutine.reclaim() }
    coroutines.removeAll(keepingCapacity: true)
    runnable = 0
    clock = Scheduler.start
    preempts = false
    jumpsLeft = 12
    steps = 0
    raceSteps = 0
    failure = nil
    files = Files()
    check = nil
    trace.removeAll()
    self.strategy = strategy
    random = RandomNumbers(seed)
    switch strategy {
    case .random:
      changeMask = [1, 7, 31][random.below(3)]
    case .pct:
      let depth = 2 + random.below(3)
      changes = (1..<depth).map { _ in 1 + random.below(max(length, 1)) }.sorted(by: >)
      lowest = 0
      clockPriority = Int(random.next() >> 2)
      isStale = true
    case .exhaustive:
      search.begin()
    case .straight:
      break
    }
    current = outside
    let first = add("main", isDaemon: false, body)
    Seam.zeros = 0
    Seam.isOn = true
    current = first
    outside.yield(to: first)
    Seam.isOn = false
    current = outside
    return failure
  }

  func add(_ name: String, isDaemon: Bool, _ body: @escaping () -> Void) -> Coroutine {
    precondition(coroutines.count < 63, "too many threads")
    let coroutine = Coroutine(index: coroutines.count, name: name, isDaemon: isDaemon, body)
    if strategy == .pct { coroutine.priority = Int(random.next() >> 2) }
    coroutines.append(coroutine)
    runnable |= coroutine.bit
    isStale = true
    return coroutine
  }

  /// Waits for the end of other threads.
  func join(_ others: [Coroutine]) {
    for other in others {
      while !other.hasEnded { block(.end(of: other)) }
    }
  }

  /// Ends the run at once: the stacks stay as they are.
  func fail(_ why: String) {
    if failure == nil { failure = why }
    Seam.isOn = false
    current.yield(to: outside)
  }

  func end(_ coroutine: Coroutine) {
    for key in coroutine.specifics.indices {
      guard let value = coroutine.specifics[key] else { continue }
      coroutine.specifics[key] = nil
      destructors[key]?(value)
    }
    coroutine.obstacle = .ended
    runnable &= ~coroutine.bit
    for other in coroutines {
      if case .end(let awaited) = other.obstacle, awaited === coroutine { release(other) }
    }
    if coroutine.index == 0 {
      // The main thread ends last; what is left are threads of queues.
      Seam.isOn = false
      coroutine.yield(to: outside)
    }
    switchAway()
  }

  // MARK: Deciding

  /// Before a step: whoever is to go on, goes on.
  @inline(__always)
  func decide() {
    steps += 1
    if steps > Scheduler.mostSteps { return fail("no end after \(steps) steps") }
    guard preempts else { return }
    raceSteps += 1
    if let check {
      Seam.isOn = false
      let wrong = check()
      Seam.isOn = true
      if let wrong { return fail(wrong) }
    }
    if current.delay != nil { holdUp() }
    switch strategy {
    case .straight: return
    case .random:
      if random.next() & changeMask != 0 { return }
    case .pct:
      if let change = changes.last, change <= raceSteps {
        changes.removeLast()
        current.priority = changes.count - 8
        isStale = true
      }
      if !isStale { return }
    case .exhaustive: break
    }
    go(to: choose(canGoOn: true))
  }

  /// Has a thread held up once until a time, as one that was pushed off its processor: before one of its first steps,
  /// drawn at random.
  func holdUp(_ coroutine: Coroutine, until time: Int64, within steps: Int) {
    if strategy == .random || strategy == .pct { coroutine.delay = (random.below(steps), time) }
  }

  private func holdUp() {
    guard let delay = current.delay else { return }
    current.delay = delay.steps == 0 ? nil : (delay.steps - 1, delay.until)
    // A condition that nobody signals.
    if delay.steps == 0, delay.until > clock { block(.condition(current.stack, until: delay.until)) }
  }

  /// The thread that runs cannot go on.
  func block(_ obstacle: Coroutine.Obstacle) {
    current.obstacle = obstacle
    runnable &= ~current.bit
    switchAway()
  }

  private func switchAway() {
    isStale = true
    go(to: choose(canGoOn: false))
  }

  func release(_ coroutine: Coroutine) {
    coroutine.obstacle = .none
    runnable |= coroutine.bit
    isStale = true
  }

  private func go(to next: Coroutine) {
    let this = current
    if next === this { return }
    current = next
    this.yield(to: next)
  }

  /// A spinner's turn is over: others go first.
  func giveWay(_ nanoseconds: Int64) {
    steps += 1
    clock += max(nanoseconds, 1)
    if steps > Scheduler.mostSteps { return fail("no end after \(steps) steps: \(current.name) spins") }
    if strategy == .pct {
      lowest -= 1
      current.priority = lowest - 16
    }
    let this = current.bit
    // It waits for a time that another waits for.
    if runnable & ~this == 0, nextTime <= latest { jump() }
    if runnable & ~this == 0 { return }
    runnable &= ~this
    isStale = true
    let next = choose(canGoOn: false)
    runnable |= this
    isStale = true
    go(to: next)
  }

  /// Who goes on. When nobody can: the clock jumps, or the run has failed.
  private func choose(canGoOn: Bool) -> Coroutine {
    while true {
      if runnable == 0 {
        if nextTime <= latest {
          jump()
          continue
        }
        fail("nobody can go on: " + obstacles())
      }
      // The clock goes on of itself only where somebody may be interrupted.
      let clockMay = preempts && jumpsLeft > 0 && strategy != .exhaustive && strategy != .straight && nextTime <= latest
      switch strategy {
      case .pct where preempts:
        isStale = false
        var best: Coroutine?
        for coroutine in coroutines where runnable & coroutine.bit != 0 && coroutine.priority > best?.priority ?? .min {
          best = coroutine
        }
        if clockMay, clockPriority > best?.priority ?? .min {
          clockPriority = Int(random.next() >> 2)
          jumpsLeft -= 1
          jump()
          continue
        }
        return best!
      case .random where preempts:
        if clockMay, random.below(8) == 0 {
          jumpsLeft -= 1
          jump()
          continue
        }
        return pick(random.below(runnable.nonzeroBitCount))
      case .exhaustive where preempts:
        let count = runnable.nonzeroBitCount
        let chosen = search.choose(count, preempts: canGoOn)
        if !canGoOn { return pick(chosen) }
        if chosen == 0 { return current }
        let place = (runnable & (current.bit - 1)).nonzeroBitCount
        return pick(chosen <= place ? chosen - 1 : chosen)
      case .pct, .random, .exhaustive, .straight:
        return canGoOn ? current : following
      }
    }
  }

  /// In turn: of three, two spinners would otherwise give way to each other, and never to the one that they wait for.
  private var following: Coroutine {
    let behind = runnable & ~(current.bit | (current.bit - 1))
    return coroutines[(behind != 0 ? behind : runnable).trailingZeroBitCount]
  }

  private func pick(_ number: Int) -> Coroutine {
    var left = runnable
    for _ in 0..<number { left &= left - 1 }
    return coroutines[left.trailingZeroBitCount]
  }

  func obstacles() -> String {
    coroutines.filter { !$0.hasEnded }.map { coroutine in
      let until = coroutine.obstacle.until
      let time = until == .max ? "" : " until \(until)"
      return switch coroutine.obstacle {
      case .none: "\(coroutine.name) can"
      case .lock: "\(coroutine.name) waits for a lock"
      case .condition: "\(coroutine.name) waits for a signal\(time)"
      case .file(let file, _): "\(coroutine.name) polls\(files.isOpen(file) ? "" : " a closed descriptor")\(time)"
      case .end(let other): "\(coroutine.name) waits for the end of \(other.name)"
      case .ended: ""
      }
    }.joined(separator: "; ")
  }
}

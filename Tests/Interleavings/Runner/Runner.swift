import ChimeCore
import Glibc

/// Runs the scenarios, each in a process of its own: a red leaves threads in the middle of calls, and a trap of the core
/// ends the process.
struct Runner {
  var only = ""
  var seed: UInt64
  /// Schedules of each scenario of a protocol, of each pair, and at most in a search.
  var ofProtocols: Int
  var ofPairs: Int
  var searched: Int
  /// Only this one.
  var strategy: Strategy?
  /// Whether the schedule with that seed and strategy is all that is wanted, with its steps printed.
  var isReplay = false

  /// What a child leaves for its parent, also when it dies.
  private struct Report {
    var schedules = 0
    var steps = 0
    /// The latest run.
    var strategy = Strategy.straight
    var seed: UInt64 = 0
  }

  private static var groups: [(name: String, scenarios: [Scenario], isPairs: Bool)] {
    [("protocols", Scenario.protocols, false)]
      + Queue.Kind.allCases.flatMap { kind in
        Scenario.beginnings.map { ("pairs, \(kind.rawValue), \($0)", Scenario.pairs(on: kind, $0), true) }
      }
  }

  // MARK: All

  func run() -> Bool {
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)!
    let report = memory.bindMemory(to: Report.self, capacity: 1)
    report.initialize(to: Report())
    var (passed, failed) = (0, 0)
    for group in Runner.groups {
      let scenarios = group.scenarios.filter { only.isEmpty || $0.name.contains(only) }
      if scenarios.isEmpty { continue }
      var reds = 0
      for scenario in scenarios {
        let status = Runner.inAChild { explore(scenario, group.isPairs ? ofPairs : ofProtocols, report) }
        if status == 0 {
          if !group.isPairs { print("ok    \(scenario.name)") }
          continue
        }
        reds += 1
        let (signal, last) = (status & 0x7F, report.pointee)
        if signal != 0 { print("RED   \(scenario.name): the program died of signal \(signal)") }
        print("      REPLAY='\(scenario.name) \(last.strategy.rawValue) \(last.seed)'")
        if signal != 0 || environment("TRACE") == "none" || group.isPairs && reds > 3 { continue }
        _ = Runner.inAChild { Runner.replay(scenario, last.strategy, last.seed) }
      }
      print("\(group.name): \(scenarios.count - reds) passed, \(reds) failed")
      passed += scenarios.count - reds
      failed += reds
    }
    print("\(report.pointee.schedules) schedules, \(report.pointee.steps) steps")
    print("\(passed) passed, \(failed) failed")
    return failed == 0
  }

  /// Gives what waitpid(2) says of it; 0 where the body was true.
  private static func inAChild(_ body: () -> Bool) -> Int32 {
    fflush(stdout)
    let child = fork()
    if child == 0 {
      let isGreen = body()
      fflush(stdout)
      _exit(isGreen ? 0 : 1)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
    return status
  }

  /// Runs one scenario as often as is wanted, or until it is red.
  private func explore(_ scenario: Scenario, _ count: Int, _ report: UnsafeMutablePointer<Report>) -> Bool {
    let scheduler = Scheduler.shared
    Seam.scheduler = scheduler
    // No later run is the one that makes a control block and its first chunk.
    _ = Scenario("control blocks") { world in
      for _ in 0..<4 { _ = world.queue(.virtual) }
    }.run(.straight, seed: 0, length: 0)
    var length = 0
    let isGreen = { (strategy: Strategy, seed: UInt64) in
      report.pointee.strategy = strategy
      report.pointee.seed = seed
      Seam.isTraced = isReplay && strategy == self.strategy && seed == self.seed
      let (failure, steps) = scenario.run(strategy, seed: seed, length: length)
      if strategy == .straight {
        length = steps
      } else {
        report.pointee.schedules += 1
        report.pointee.steps += steps
      }
      if Seam.isTraced { scheduler.trace.print(last: environment("TRACE") == "all" ? .max : 120) }
      if let failure { print("RED   \(scenario.name): \(failure)") }
      return failure == nil
    }
    // The first runs map memory and fill the lists of free slots: from the last of them on each takes the same steps.
    for i in 0..<6 where !isGreen(.straight, UInt64(i)) { return false }
    for i in 0..<(strategy == .exhaustive ? 0 : count) {
      if !isGreen(strategy ?? (i % 2 == 0 ? .pct : .random), seed &+ UInt64(i)) { return false }
    }
    if scenario.preemptions == 0 || strategy != nil && strategy != .exhaustive { return true }
    scheduler.search = Search(bound: scenario.preemptions)
    for i in 0..<searched {
      if !isGreen(.exhaustive, UInt64(i)) { return false }
      if !scheduler.search.advance() {
        print("      every interleaving with \(scenario.preemptions) preemptions: \(i + 1)")
        break
      }
    }
    return true
  }

  // MARK: One

  /// A schedule as a red has named it. True if nothing is wrong any more.
  static func replay(_ text: String) -> Bool {
    let parts = text.split(separator: " ")
    let name = parts.dropLast(2).joined(separator: " ")
    guard parts.count > 2, let strategy = Strategy(rawValue: String(parts[parts.count - 2])),
      let seed = UInt64(parts[parts.count - 1]),
      let scenario = groups.lazy.flatMap(\.scenarios).first(where: { $0.name == name })
    else {
      print("REPLAY='scenario strategy seed'")
      return false
    }
    return replay(scenario, strategy, seed)
  }

  private static func replay(_ scenario: Scenario, _ strategy: Strategy, _ seed: UInt64) -> Bool {
    let report = UnsafeMutablePointer<Report>.allocate(capacity: 1)
    report.initialize(to: Report())
    // The seed of an exhaustive one is its number in the search.
    let runner = Runner(
      seed: seed, ofProtocols: 1, ofPairs: 1, searched: Int(truncatingIfNeeded: seed &+ 1), strategy: strategy,
      isReplay: true)
    let isGreen = runner.explore(scenario, 1, report)
    if isGreen { print("ok    \(scenario.name)") }
    return isGreen
  }
}

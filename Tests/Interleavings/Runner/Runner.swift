import ChimeCore
import Glibc

/// Runs the scenarios, each group in a process of its own: a red leaves threads in the middle of calls, and a trap of
/// the core ends the process.
struct Runner {
  var only: String
  var seed: UInt64
  /// Schedules of each scenario of a protocol, of each pair, and at most in a search.
  var ofProtocols: Int
  var ofPairs: Int
  var searched: Int
  /// Only this one.
  var strategy: Strategy?

  /// What a child leaves for its parent, also when it dies.
  private struct Report {
    var schedules = 0
    var steps = 0
    var passed = 0
    var failed = 0
    var seed: UInt64 = 0
    var strategy: UInt8 = 0

    var text: String {
      "\(passed) passed, \(failed) failed, \(schedules) schedules, \(steps / max(schedules, 1)) steps each"
    }

    mutating func add(_ other: Report) {
      schedules += other.schedules
      steps += other.steps
      passed += other.passed
      failed += other.failed
    }
  }

  private static var groups: [(name: String, scenarios: [Scenario], isPairs: Bool)] {
    [("protocols", Scenario.protocols, false)]
      + Queue.Kind.allCases.flatMap { kind in
        Scenario.beginnings.map { ("pairs, \(kind.rawValue), \($0)", Scenario.pairs(on: kind, $0), true) }
      }
  }

  // MARK: All

  func run() -> Bool {
    let begun = Runner.seconds
    var all = Report()
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)!
    let report = memory.bindMemory(to: Report.self, capacity: 1)
    for group in Runner.groups {
      let scenarios = group.scenarios.filter { only.isEmpty || $0.name.contains(only) }
      if scenarios.isEmpty { continue }
      report.initialize(to: Report())
      let groupBegun = Runner.seconds
      for scenario in scenarios {
        fflush(stdout)
        let child = fork()
        if child == 0 {
          runChild(scenario, group.isPairs, report)
          fflush(stdout)
          _exit(0)
        }
        var status: Int32 = 0
        waitpid(child, &status, 0)
        if status & 0x7F != 0 {
          let strategy = report.pointee.strategy == 0 ? Strategy.random : .pct
          print("RED   \(scenario.name): the program died of signal \(status & 0x7F)")
          print("      REPLAY='\(scenario.name) \(strategy.rawValue) \(report.pointee.seed)'")
          report.pointee.failed += 1
        }
      }
      let group = (name: group.name, report: report.pointee, time: Runner.seconds - groupBegun)
      print("\(padded(group.name, 36)) \(group.report.text), \(Runner.rounded(group.time)) s")
      all.add(group.report)
    }
    print("\(all.schedules) schedules, \(all.steps) steps, \(Runner.rounded(Runner.seconds - begun)) s")
    print("\(all.passed) passed, \(all.failed) failed")
    return all.failed == 0
  }

  /// Runs one scenario, in a process of its own, so that every run of it finds the same.
  private func runChild(_ scenario: Scenario, _ isPair: Bool, _ report: UnsafeMutablePointer<Report>) {
    Scheduler.shared.connect()
    let begun = Runner.seconds
    guard let red = explore(scenario, isPair ? ofPairs : ofProtocols, report) else {
      report.pointee.passed += 1
      if !isPair { print("ok    \(scenario.name)") }
      return
    }
    print("RED   \(scenario.name): \(red.failure)")
    print("      schedule \(red.schedule), \(red.steps) steps, \(Runner.rounded(Runner.seconds - begun)) s")
    print("      REPLAY='\(scenario.name) \(red.strategy.rawValue) \(red.seed)'")
    if environment("TRACE") != "none", !isPair || report.pointee.failed < 3 {
      Runner.printSteps(scenario.name, red.strategy, red.seed)
    }
    report.pointee.failed += 1
  }

  private struct Red {
    var failure: String
    var strategy: Strategy
    var seed: String
    var schedule: Int
    var steps: Int
  }

  private func explore(_ scenario: Scenario, _ count: Int, _ report: UnsafeMutablePointer<Report>) -> Red? {
    // The first runs map memory and fill the lists of free slots: from the last of them on each takes the same steps.
    var length = 0
    for _ in 0..<6 {
      let (failure, steps) = scenario.run(.none, seed: 0, length: 0)
      if let failure { return Red(failure: failure, strategy: .none, seed: "0", schedule: 0, steps: 0) }
      length = steps
    }
    for i in 0..<(strategy == .exhaustive ? 0 : count) {
      let strategy = strategy ?? (i % 2 == 0 ? .pct : .random)
      let seed = seed &+ UInt64(i)
      report.pointee.seed = seed
      report.pointee.strategy = strategy == .pct ? 1 : 0
      let (failure, steps) = scenario.run(strategy, seed: seed, length: length)
      report.pointee.schedules += 1
      report.pointee.steps += steps
      if let failure {
        return Red(failure: failure, strategy: strategy, seed: "\(seed)", schedule: i + 1, steps: steps)
      }
    }
    guard scenario.preemptions > 0, strategy == nil || strategy == .exhaustive else { return nil }
    let scheduler = Scheduler.shared
    scheduler.search = Search(bound: scenario.preemptions)
    for i in 0..<searched {
      let (failure, steps) = scenario.run(.exhaustive, seed: 0, length: 0)
      report.pointee.schedules += 1
      report.pointee.steps += steps
      if let failure {
        return Red(
          failure: failure, strategy: .exhaustive, seed: scheduler.search.text,
          schedule: (strategy == nil ? count : 0) + i + 1, steps: steps)
      }
      if !scheduler.search.advance() {
        print("      every interleaving with \(scenario.preemptions) preemptions: \(i + 1)")
        break
      }
    }
    return nil
  }

  // MARK: One

  /// A run as a red has named it, in a fresh process, with its steps printed. True if nothing is wrong any more.
  static func replay(_ text: String) -> Bool {
    let parts = text.split(separator: " ")
    let name = parts.dropLast(2).joined(separator: " ")
    guard parts.count > 2, let strategy = Strategy(rawValue: String(parts[parts.count - 2])),
      let scenario = groups.lazy.flatMap(\.scenarios).first(where: { $0.name == name })
    else {
      print("REPLAY='scenario strategy seed'")
      return false
    }
    let scheduler = Scheduler.shared
    scheduler.connect()
    let (early, length) = scenario.run(.none, seed: 0, length: 0)
    if strategy == .exhaustive {
      guard let search = Search(parts[parts.count - 1]) else { return false }
      scheduler.search = search
    }
    Seam.isTraced = true
    let failure =
      early ?? scenario.run(strategy, seed: UInt64(parts[parts.count - 1]) ?? 0, length: length).failure
    scheduler.trace.print(last: environment("TRACE") == "all" ? .max : 120)
    print(failure.map { "RED   \(name): \($0)" } ?? "ok    \(name)")
    return failure == nil
  }

  private static func printSteps(_ name: String, _ strategy: Strategy, _ seed: String) {
    fflush(stdout)
    let child = fork()
    if child == 0 {
      setenv("REPLAY", "\(name) \(strategy.rawValue) \(seed)", 1)
      var arguments = [strdup("/proc/self/exe"), nil]
      execv("/proc/self/exe", &arguments)
      exit(127)
    }
    var status: Int32 = 0
    waitpid(child, &status, 0)
  }

  static var seconds: Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  static func rounded(_ seconds: Double) -> String {
    let hundredths = Int(seconds * 100)
    return "\(hundredths / 100).\(hundredths % 100 < 10 ? "0" : "")\(hundredths % 100)"
  }
}

extension Scheduler {
  /// Puts the scheduler behind the seam.
  func connect() {
    connectFiles()
    Seam.scheduler = self
    // No later run is the one that makes a control block and its first chunk.
    _ = Scenario("control blocks") { world in
      for _ in 0..<4 { _ = world.queue(.virtual) }
      world.race()
    }.run(.none, seed: 0, length: 0)
  }
}

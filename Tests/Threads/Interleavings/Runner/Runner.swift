import ChimeCore

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// Runs the scenarios, each in a process of its own: a red leaves threads in the middle of calls, and a trap of the core
/// ends the process.
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
    /// The number of the latest run.
    var latest = 0
  }

  private let report: UnsafeMutablePointer<Report> = {
    let memory = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)!
    memory.initializeMemory(as: Report.self, to: Report())
    return memory.assumingMemoryBound(to: Report.self)
  }()

  init(only: String, seed: UInt64, isLong: Bool, strategy: Strategy?) {
    (self.only, self.seed, self.strategy) = (only, seed, strategy)
    (ofProtocols, ofPairs, searched) = isLong ? (4000, 120, 50_000) : (600, 8, 3000)
  }

  private static var groups: [(name: String, scenarios: [Scenario], isPairs: Bool)] {
    [("protocols", Scenario.protocols, false)]
      + Queue.Kind.allCases.flatMap { kind in
        Scenario.beginnings.map { ("pairs, \(kind.rawValue), \($0)", Scenario.pairs(on: kind, $0), true) }
      }
  }

  func run() -> Bool {
    var (passed, failed) = (0, 0)
    for group in Runner.groups {
      let scenarios = group.scenarios.filter { only.isEmpty || $0.name.contains(only) }
      if scenarios.isEmpty { continue }
      var reds = 0
      for scenario in scenarios {
        let status = inAChild { explore(scenario, group.isPairs) }
        if status == 0 {
          if !group.isPairs { print("ok    \(scenario.name)") }
          continue
        }
        reds += 1
        let (signal, latest) = (status & 0x7F, report.pointee.latest)
        if signal != 0 { print("RED   \(scenario.name): the program died of signal \(signal)") }
        print("      REPLAY='\(scenario.name) \(latest)'")
        if signal != 0 || environment("TRACE") == "none" || group.isPairs && reds > 3 { continue }
        _ = inAChild { explore(scenario, group.isPairs, replayed: latest) }
      }
      print("\(group.name): \(scenarios.count - reds) passed, \(reds) failed")
      passed += scenarios.count - reds
      failed += reds
    }
    print("\(report.pointee.schedules) schedules, \(report.pointee.steps) steps")
    print("\(passed) passed, \(failed) failed")
    return failed == 0
  }

  /// A run as a red has named it, with its steps printed. True if nothing is wrong any more.
  func replay(_ text: String) -> Bool {
    let name = text.split(separator: " ").dropLast().joined(separator: " ")
    for group in Runner.groups {
      guard let scenario = group.scenarios.first(where: { $0.name == name }) else { continue }
      let isGreen = explore(scenario, group.isPairs, replayed: Int(text.dropFirst(name.count + 1)))
      if isGreen { print("ok    \(name)") }
      return isGreen
    }
    print("REPLAY='scenario number'")
    return false
  }

  /// Gives what waitpid(2) says of it; 0 where the body was true.
  private func inAChild(_ body: () -> Bool) -> Int32 {
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

  /// Runs one scenario as often as is wanted, or until it is red; or again, with the steps of run `replayed`, which is the
  /// last then: a run finds what those before it have left.
  private func explore(_ scenario: Scenario, _ isPair: Bool, replayed: Int? = nil) -> Bool {
    let scheduler = Scheduler.shared
    Seam.scheduler = scheduler
    // No later run is the one that makes a control block and its first chunk.
    _ = Scenario("control blocks") { world in
      for _ in 0..<4 { _ = world.queue(.virtual) }
    }.run(.straight, seed: 0, length: 0)
    var (number, length) = (0, 0)
    var failure: String?
    defer {
      if let failure { print("RED   \(scenario.name): \(failure)") }
    }
    let goesOn = { (strategy: Strategy, seed: UInt64) in
      number += 1
      report.pointee.latest = number
      Seam.isTraced = number == replayed
      let result = scenario.run(strategy, seed: seed, length: length)
      failure = result.failure
      if strategy == .straight {
        length = result.steps
      } else {
        report.pointee.schedules += 1
        report.pointee.steps += result.steps
      }
      if Seam.isTraced { scheduler.trace.print(last: environment("TRACE") == "all" ? .max : 120) }
      return failure == nil && number != replayed
    }
    // The first runs map memory and fill the lists of free slots: from the last of them on each takes the same steps.
    for _ in 0..<6 {
      if !goesOn(.straight, 0) { return failure == nil }
    }
    for i in 0..<(strategy == .exhaustive ? 0 : isPair ? ofPairs : ofProtocols) {
      if !goesOn(strategy ?? (i % 2 == 0 ? .pct : .random), seed &+ UInt64(i)) { return failure == nil }
    }
    if scenario.preemptions == 0 || strategy != nil && strategy != .exhaustive { return true }
    scheduler.search = Search(bound: scenario.preemptions)
    for i in 0..<searched {
      if !goesOn(.exhaustive, 0) { return failure == nil }
      if !scheduler.search.advance() {
        print("      every interleaving with \(scenario.preemptions) preemptions: \(i + 1)")
        break
      }
    }
    return true
  }
}

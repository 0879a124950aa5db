import ChimeCore
import Foundation
import Testing

/// The thread sanitizer knows it, and does not know `Mutex`.
typealias Guarded<Value> = Locked<Value>

/// Code that sleeps on virtual time comes out the same each time. COUNT sets the rounds, which for
/// scenarios are 300 at most; SEED runs one program, and prints it.
@Suite(.serialized) struct VirtualTimeTests {
  private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }
  private let count = Self.number("COUNT")

  /// The model: random programs, one after the other and side by side.
  @Test func sleepsEndWhenTheirSumSays() async {
    let rounds = count ?? 300
    if let seed = Self.number("SEED") {
      print(Program(seed: UInt64(seed)))
      return await expectNoReds("again and again", [program(seed)], count: rounds, lanes: 1)
    }
    let first = Int(Date.now.timeIntervalSince1970 * 1000)
    let programs = (first..<first + rounds).map(program)
    await expectNoReds("serial", Array(programs[..<(rounds / 2)]), lanes: 1)
    await expectNoReds("side by side", Array(programs[(rounds / 2)...]), lanes: 8)
    await besideOthers { await expectNoReds("beside others", Array(programs[..<(rounds / 4)]), lanes: 4) }
  }

  private func program(_ seed: Int) -> Scenario {
    Scenario(name: "SEED=\(seed)", expected: []) {
      let program = Program(seed: UInt64(seed))
      guard let wrong = try await program.wrong() else { return [] }
      var again = 0
      for _ in 0..<20 { again += try await program.wrong() == nil ? 0 : 1 }
      return [wrong, "\(again) of 20 more runs were wrong"]
    }
  }

  private func expectNoReds(_ mode: String, _ scenarios: [Scenario], count: Int = 1, lanes: Int) async {
    for red in await reds(mode, scenarios, count: count, lanes: lanes) { Issue.record("\(red)") }
  }

  @Test func eachScenarioComesOutTheSame() async {
    for red in await redsInAllModes(scenarios, count: min(count ?? 50, 300)) { Issue.record("\(red)") }
  }

  @Test func anAdvanceWaitsForNoOthers() async {
    for red in await redsBesideOthers(count: min(count ?? 50, 300)) { Issue.record("\(red)") }
  }
}

import ChimeTestSupport
import Dispatch
import Testing

@testable import Chime
import ChimeCompat
@testable import ChimeCore

/// A machine on a recording adapter, driven by a script of statements with semicolons between them. What stands behind
/// a `|` is the log since the last look: the calls that the source got, and `*N`, a tick at N. Times are nanoseconds;
/// the clock begins at 1000.
///
///     activate, restart, reschedule   [every N] [from N, or never] [leeway N]
///     postpone N, suspend, resume, cancel
///     is STATE                        expects it
///     now N, at N                     sets the clock; and delivers what the source has in hand
///     through N                       the same at every 10 ns up to there; of that only ticks are logged
///     keep, late                      keeps what the source has in hand; delivers what was kept
///     drop                            lets go of the machine
///
/// A call expects `.done`, with a `?` at the end `.ignored`, with a `!` an error. In the log a schedule is its deadline,
/// `/` interval and `~` leeway.
struct MachineScript: Sendable {
  private typealias Machine = DispatchSourceTimerMachine

  private let factory = RecordingTimerAdapterFactory()
  private var machine: Machine?
  private var kept: @Sendable () -> Void = {}

  /// Plays the script, and expects that no rule of libdispatch was broken.
  static func play(_ script: String) {
    var player = MachineScript()
    for statement in script.split(separator: ";") {
      let parts = statement.split(separator: "|", omittingEmptySubsequences: false)
      player.perform(parts[0].split(separator: " ").map(String.init))
      if parts.count > 1 {
        #expect(player.factory.calls.take() == parts[1].split(separator: " ").map(String.init), "\(statement)")
      }
    }
    player.machine = nil
    #expect(player.factory.violations.all == [])
  }

  private init() {
    machine = Machine(timerFactory: factory) { [factory] in factory.calls.add("*\(factory.now.uptimeNanoseconds)") }
  }

  private mutating func perform(_ words: [String]) {
    switch words[0] {
    case "now": factory.setNow(UInt64(words[1])!)
    case "at": factory.deliver(at: UInt64(words[1])!)
    case "through":
      for now in stride(from: factory.now.uptimeNanoseconds, through: UInt64(words[1])!, by: 10) {
        factory.deliver(at: now)
      }
      for call in factory.calls.take() where call.hasPrefix("*") { factory.calls.add(call) }
    case "keep": kept = factory.delivery
    case "late": kept()
    case "drop": machine = nil
    case "is": #expect("\(machine!.state)" == words[1])
    default:
      let expected = words.last!.last == "?" ? "ignored" : words.last!.last == "!" ? "error" : "done"
      let outcome = try? call(words.map { String($0.prefix { $0 != "?" && $0 != "!" }) })
      #expect(outcome.map { "\($0)" } ?? "error" == expected, "\(words.joined(separator: " "))")
    }
  }

  private func call(_ words: [String]) throws -> ChimeTimer.Outcome? {
    func number(_ word: String) -> Int? { words.firstIndex(of: word).map { Int(words[$0 + 1])! } }
    let time = number("from") ?? number("postpone")
    return try machine!.perform(
      TimerEvent.allCases.first { "\($0)" == words[0] }!,
      words.contains("never") ? .distantFuture : time.map { DispatchTime(uptimeNanoseconds: UInt64($0)) },
      repeating: number("every").map { .nanoseconds($0) }, leeway: .nanoseconds(number("leeway") ?? 0))
  }
}

import Chime
import Testing

/// Checks `Transition` against the table of the design, cell by cell. The text below is that table.
@Suite struct TransitionTests {
  static let rows = """
    | state \\ event | activate | restart | suspend | resume | reschedule | postpone | fire | last tick | cancel |
    | idle | running | running | – | – | idle | – | + | | – |
    | running | – | running | suspended | – | running | running | + | finished | cancelled |
    | suspended | – | running | – | running | suspended | suspended | + | | cancelled |
    | finished | running | running | – | – | finished | – | + | | – |
    | cancelled | running | running | – | – | cancelled | – | – | | – |
    """.split(separator: "\n").map { row in
      row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { $0.split(separator: " ").joined(separator: " ") }
    }

  @Test func theTableHasEachStateAndEachEventOnce() {
    #expect(Self.rows.dropFirst().map { $0[0] } == TimerState.allCases.map { "\($0)" })
    #expect(Self.rows[0].dropFirst().map { $0 == "last tick" ? "lastTick" : $0 } == TimerEvent.allCases.map { "\($0)" })
  }

  @Test(arguments: zip(TimerState.allCases, rows.dropFirst()))
  func theRowIsWhatHappens(state: TimerState, row: [String]) {
    for (event, cell) in zip(TimerEvent.allCases, row.dropFirst()) {
      let transition = Transition(from: state, on: event)
      switch cell {
      case "–", "": #expect(transition == .ignored && transition.next == nil, "\(event)")
      case "+": #expect(transition == .extraTick(state) && transition.next == state, "\(event)")
      default:
        #expect(transition == Self.action(state, event), "\(event)")
        #expect(transition.next.map { "\($0)" } == cell, "\(event)")
      }
    }
  }

  /// What a cell that names a state asks its caller to do: a new life from rest, otherwise a change of this one.
  static func action(_ state: TimerState, _ event: TimerEvent) -> Transition {
    let atRest = state != .running && state != .suspended
    return switch event {
    case .activate: .start
    case .restart: atRest ? .start : .rearm
    case .suspend: .pause
    case .resume: .unpause
    case .reschedule: state == .running ? .rearm : .store(state)
    case .postpone: .move(state)
    case .fire: .extraTick(state)
    case .lastTick: .finish
    case .cancel: .stop
    }
  }
}

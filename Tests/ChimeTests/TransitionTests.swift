import Chime
import Testing

/// Checks `Transition` against the table of DESIGN.md, section 2, cell by cell. The text below is that table.
@Suite struct TransitionTests {
  static let table = """
    | state \\ event | activate | restart | suspend | resume | reschedule | postpone | fire | last tick | cancel |
    | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
    | idle | running | running | – | – | idle | – | + | | – |
    | running | – | running | suspended | – | running | running | + | finished | cancelled |
    | suspended | – | running | – | running | suspended | suspended | + | | cancelled |
    | finished | running | running | – | – | finished | – | + | | – |
    | cancelled | running | running | – | – | cancelled | – | – | | – |
    """

  /// One cell of the table.
  struct Cell: Sendable, CustomTestStringConvertible {
    let state: TimerState
    let event: TimerEvent
    let text: String

    var testDescription: String { "\(state) | \(event) | \(text)" }
  }

  static let rows = table.split(separator: "\n").map(columns)

  static let cells: [Cell] = rows.dropFirst(2).flatMap { row in
    zip(rows[0], row).dropFirst().map { heading, text in
      Cell(state: state(named: row[0]), event: event(named: heading), text: text)
    }
  }

  @Test func theTableHasEachStateAndEachEventOnce() {
    #expect(Self.rows.dropFirst(2).map { Self.state(named: $0[0]) } == Array(TimerState.allCases))
    #expect(Self.rows[0].dropFirst().map(Self.event(named:)) == Array(TimerEvent.allCases))
    #expect(Self.rows.allSatisfy { $0.count == TimerEvent.allCases.count + 1 })
  }

  @Test(arguments: cells)
  func theCellIsTheState(cell: Cell) {
    let transition = Transition(from: cell.state, on: cell.event)
    switch cell.text {
    case "–", "":
      #expect(transition == .ignored)
      #expect(transition.next == nil)
    case "+":
      #expect(transition == .extraTick(cell.state))
      #expect(transition.next == cell.state)
    default:
      #expect(transition.next == Self.state(named: cell.text))
      #expect(transition == Self.action(of: cell))
    }
  }

  /// What a cell that names a state asks its caller to do: a new life from rest, otherwise a change of this one.
  static func action(of cell: Cell) -> Transition {
    let atRest = cell.state != .running && cell.state != .suspended
    return switch cell.event {
    case .activate: .start
    case .restart: atRest ? .start : .rearm
    case .suspend: .pause
    case .resume: .unpause
    case .reschedule: cell.state == .running ? .rearm : .store(cell.state)
    case .postpone: .move(cell.state)
    case .fire: .extraTick(cell.state)
    case .lastTick: .finish
    case .cancel: .stop
    }
  }

  /// The texts between the bars of one row.
  static func columns(_ row: Substring) -> [String] {
    row.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
      .map { $0.split(separator: " ").joined(separator: " ") }
  }

  static func state(named name: String) -> TimerState {
    TimerState.allCases.first { "\($0)" == name }!
  }

  static func event(named name: String) -> TimerEvent {
    TimerEvent.allCases.first { "\($0)" == (name == "last tick" ? "lastTick" : name) }!
  }
}

import ChimeCompat
import Testing

/// `Transition`, cell by cell.
@Suite struct TransitionTests {
  /// What each event asks for where the timer is idle, running, suspended, finished and cancelled.
  static let table: [(TimerEvent, [Transition])] = [
    (.activate, [.start, .ignored, .ignored, .start, .start]),
    (.restart, [.start, .rearm, .rearm, .start, .start]),
    (.suspend, [.ignored, .pause, .ignored, .ignored, .ignored]),
    (.resume, [.ignored, .ignored, .unpause, .ignored, .ignored]),
    (.reschedule, [.store(.idle), .rearm, .store(.suspended), .store(.finished), .store(.cancelled)]),
    (.postpone, [.ignored, .move(.running), .move(.suspended), .ignored, .ignored]),
    (.fire, [.extraTick(.idle), .extraTick(.running), .extraTick(.suspended), .extraTick(.finished), .ignored]),
    (.lastTick, [.ignored, .finish, .ignored, .ignored, .ignored]),
    (.cancel, [.ignored, .stop, .stop, .ignored, .ignored]),
  ]

  @Test(arguments: table) func theRowIsWhatHappens(event: TimerEvent, row: [Transition]) {
    #expect(TimerState.allCases.map { Transition(from: $0, on: event) } == row)
  }

  @Test func eachTransitionLeadsToItsState() {
    #expect(Self.table.map(\.0) == TimerEvent.allCases)
    let changes: [Transition] = [.ignored, .start, .rearm, .unpause, .pause, .finish, .stop]
    #expect(changes.map(\.next) == [nil, .running, .running, .running, .suspended, .finished, .cancelled])
    for state in TimerState.allCases {
      for change in [.store(state), .move(state), .extraTick(state)] as [Transition] { #expect(change.next == state) }
    }
  }
}

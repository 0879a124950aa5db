import Chime
import ChimeCore
import ChimeRunLoop
import ChimeTestSupport
import Foundation
import Testing

/// The first thing that a process asks of Chime makes what the process needs once, whichever thing that is. (In libchime
/// that is made when the library is loaded.)
@Suite struct FirstCallTests {
  enum First: String, CaseIterable, Codable {
    case serial, serialOnTheWallClock, concurrentOnTheWallClock, host, hostOnTheWallClock, preciseOnTheWallClock
    case virtual, main, dispatch, runLoop, weakTimer, ownLoop, actor

    func make() throws {
      switch self {
      case .serial: _ = try TimerQueue()
      case .serialOnTheWallClock: _ = try TimerQueue(clock: .wall)
      case .concurrentOnTheWallClock: _ = try? QueueCore.makeConcurrent(QueueOptions(clock: .wall))
      case .host: _ = try HostTimerQueue()
      case .hostOnTheWallClock: _ = try HostTimerQueue(clock: .wall)
      case .preciseOnTheWallClock: _ = try PreciseTimerQueue(clock: .wall)
      case .virtual: _ = try VirtualTimerQueue()
      case .main: _ = try? QueueCore.makeMain(QueueOptions(clock: .wall))
      case .dispatch: _ = try? QueueCore.makeDispatch(QueueOptions(clock: .wall))
      case .runLoop: _ = try TimerQueue(runLoop: .current)
      case .weakTimer: try WeakTimer(timeInterval: 1, repeats: false) { _ in }.invalidate()
      case .ownLoop: _ = try? Loop.start(label: "")
      case .actor: _ = try SerialTimerQueue(clock: .wall)
      }
    }
  }

  @Test(arguments: First.allCases) func theFirstCallOfAProcessReturns(first: First) async {
    await #expect(processExitsWith: .success) { [first = first as First] in
      // A call that hangs ends the process.
      alarm(30)
      try first.make()
    }
  }
}

import Chime

/// A class that is not `Sendable` cannot give a handler its own state: other calls of its methods use it, too.
final class OwnState {
  private var count = 0
  private var timer: ChimeTimer?

  func start(on queue: TimerQueue) throws {
    var own = 0
    #if PROBE
      // refused: sending value of non-Sendable type
      timer = try queue.schedule(every: .seconds(1)) { _ in self.count += 1 }
    #else
      timer = try queue.schedule(every: .seconds(1)) { _ in own += 1 }
    #endif
  }

  func report() { print(count) }
}

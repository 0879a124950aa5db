import Chime
import ChimeTestSupport

/// What the tests of the systems share. Each suite has the name of a system that people know from elsewhere, writes its
/// usual calls with Chime, and checks that what is wrong with the original is not wrong here.

/// Seconds of a queue's clock.
func seconds(_ instant: TimerInstant) -> Double { Double(instant.nanoseconds) / 1e9 }

extension Log {
  /// What handlers add while that much time passes on a virtual queue.
  func during(_ duration: Duration, on queue: VirtualTimerQueue) throws -> [Element] {
    try queue.advanceTimers(by: duration)
    return take()
  }
}

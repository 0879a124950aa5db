import Chime
import ChimeCore
import ChimeTestSupport
import Testing

/// Timers of a queue on the wall clock, when it is stepped, to the nanosecond: a host-driven queue shows at each step
/// what is due. (Deadlines and delays on every kind of queue: `wall_clock.c` of Tests/Faults; steps beside calls:
/// Tests/Threads/Interleavings.)
@Suite struct WallClockTests {
  let hour = Duration.seconds(3600)
  let queue: HostTimerQueue
  let first: TimerInstant
  let ticks = Log<ChimeTimer.Tick>()

  init() throws {
    queue = try HostTimerQueue(clock: .wall)
    first = queue.now + hour
  }

  /// Steps the clock, and gives the ticks that were due then.
  private func due(afterStep distance: Duration) throws -> [ChimeTimer.Tick] {
    QueueCore.stepWallClock(queue.id, by: distance.nanoseconds)
    try queue.process()
    return ticks.take()
  }

  @Test func aDeadlineStaysWhatItIsOfASuspendedTimerToo() throws {
    let timer = try queue.schedule(at: first) { [ticks] in ticks.add($0) }
    #expect(try due(afterStep: hour * -1).isEmpty && timer.nextDeadline == first)
    let next = try #require(queue.nextDeadline)
    #expect((first...first + .nanoseconds(1024)).contains(next))
    timer.suspend()
    #expect(try due(afterStep: hour * 3).isEmpty)
    timer.resume()
    let resumed = try due(afterStep: .zero)
    #expect(resumed.map(\.scheduled) == [first] && resumed.allSatisfy { $0.actual >= first })
  }
}

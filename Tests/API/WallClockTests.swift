import Chime
import ChimeTestSupport
import Testing

/// Timers of a queue on the wall clock, when it is stepped, to the nanosecond: a host-driven queue shows at each step
/// what is due. (Deadlines and delays on every kind of queue: `wall_clock.c` of Tests/Faults; steps beside calls:
/// Tests/Interleavings.)
@Suite struct WallClockTests {
  let hour: Int64 = 3_600_000_000_000
  let queue: HostTimerQueue
  let first: Int64
  let ticks = Log<Tick>()

  init() throws {
    queue = try HostTimerQueue(clock: .wall)
    first = queue.now + hour
  }

  /// Steps the clock, and gives the ticks that were due then.
  private func due(afterStep distance: Int64) throws -> [Tick] {
    QueueCore.stepWallClock(queue.id, by: distance)
    try queue.process()
    return ticks.take()
  }

  @Test func aRepeatingScheduleCoalescesForwardAndGoesOnAtTheNextPointOfItsGridBackward() throws {
    let timer = try queue.at(deadline: first, every: .seconds(3600)) { [ticks] in ticks.add($0) }
    let forward = try due(afterStep: 5 * hour + hour / 2)
    #expect(forward.map(\.missed) == [4] && forward.map(\.scheduled) == [first + 4 * hour])
    #expect(timer.nextDeadline == first + 5 * hour)
    #expect(try due(afterStep: -10 * hour).isEmpty)
    let next = try #require(timer.nextDeadline)
    #expect((next - first) % hour == 0 && next > queue.now && next <= queue.now + hour)
  }

  @Test func aDeadlineStaysWhatItIsOfASuspendedTimerToo() throws {
    let timer = try queue.at(deadline: first) { [ticks] in ticks.add($0) }
    #expect(try due(afterStep: -hour).isEmpty && timer.nextDeadline == first)
    #expect((first...first + 1024).contains(queue.nextDeadline ?? 0))
    try timer.suspend()
    #expect(try due(afterStep: 3 * hour).isEmpty)
    try timer.resume()
    let resumed = try due(afterStep: 0)
    #expect(resumed.map(\.scheduled) == [first] && resumed.allSatisfy { $0.actual >= first })
  }
}

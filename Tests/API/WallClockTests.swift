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

  init() throws {
    queue = try HostTimerQueue(clock: .wall)
    first = queue.now + hour
  }

  /// Steps the clock, and gives the number of functions that were due then.
  private func step(by distance: Int64) throws -> Int {
    QueueCore.stepWallClock(queue.id, by: distance)
    return try queue.process()
  }

  @Test func aRepeatingScheduleCoalescesForwardAndGoesOnAtTheNextPointOfItsGridBackward() throws {
    let ticks = Log<Tick>()
    let timer = try queue.at(deadline: first, every: .seconds(3600)) { ticks.add($0) }
    #expect(try step(by: 5 * hour + hour / 2) == 1)
    let tick = try #require(ticks.all.first)
    #expect(tick.missed == 4 && tick.scheduled == first + 4 * hour)
    #expect(timer.nextDeadline == first + 5 * hour)
    #expect(try step(by: -10 * hour) == 0)
    let next = try #require(timer.nextDeadline)
    #expect((next - first) % hour == 0 && next > queue.now && next <= queue.now + hour)
  }

  @Test func aDeadlineStaysWhatItIsOfASuspendedTimerToo() throws {
    let ticks = Log<Tick>()
    let timer = try queue.at(deadline: first) { ticks.add($0) }
    #expect(try step(by: -hour) == 0 && timer.nextDeadline == first)
    try timer.suspend()
    #expect(try step(by: 3 * hour) == 0)
    try timer.resume()
    #expect(try queue.process() == 1)
    let tick = try #require(ticks.all.first)
    #expect(tick.scheduled == first && tick.actual >= first)
  }
}

import Chime
import ChimeTestSupport
import Testing

/// Queues on the wall clock, when it is stepped, to the nanosecond: a host-driven queue shows at each step what is due.
/// (Every kind of queue: `wall_clock.c` of Tests/Faults; steps beside calls: Tests/Interleavings.)
@Suite struct WallClockTests {
  static let hour: Int64 = 3_600_000_000_000

  /// A queue on the wall clock, and one timer on it whose first deadline is an hour ahead.
  struct Bench {
    let queue: HostTimerQueue
    let first: Int64
    let ticks = Log<Tick>()
    let timer: ChimeTimer

    init(every interval: Duration? = nil) throws {
      queue = try HostTimerQueue(clock: .wall)
      first = queue.now + WallClockTests.hour
      let (first, ticks) = (first, ticks)
      timer =
        if let interval { try queue.at(deadline: first, every: interval) { ticks.add($0) } } else {
          try queue.at(deadline: first) { ticks.add($0) }
        }
    }

    /// Steps the clock, and gives the number of functions that were due then.
    func step(by distance: Int64) throws -> Int {
      QueueCore.stepWallClock(queue.id, by: distance)
      return Int(try queue.process())
    }
  }

  @Test func anAbsoluteDeadlineComesWithTheClock() throws {
    let bench = try Bench()
    #expect(try bench.step(by: -WallClockTests.hour) == 0 && bench.timer.nextDeadline == bench.first)
    #expect(try bench.step(by: 2 * WallClockTests.hour) == 1)
    let tick = try #require(bench.ticks.all.first)
    #expect(tick.scheduled == bench.first && tick.actual >= bench.first)
  }

  @Test func aRepeatingScheduleCoalescesForwardAndGoesOnAtTheNextPointOfItsGridBackward() throws {
    let bench = try Bench(every: .seconds(3600))
    let hour = WallClockTests.hour
    #expect(try bench.step(by: 5 * hour + hour / 2) == 1)
    let tick = try #require(bench.ticks.all.first)
    #expect(tick.missed == 4 && tick.scheduled == bench.first + 4 * hour)
    #expect(bench.timer.nextDeadline == bench.first + 5 * hour)
    #expect(try bench.step(by: -10 * hour) == 0)
    let next = try #require(bench.timer.nextDeadline)
    #expect((next - bench.first) % hour == 0 && next > bench.queue.now && next <= bench.queue.now + hour)
  }

  @Test(arguments: [hour, -hour]) func delaysDoNotNotice(step: Int64) throws {
    let bench = try Bench()
    let later = try bench.queue.every(.seconds(3600)) { _ in }
    _ = try bench.step(by: step)
    let left = try #require(later.nextDeadline) - bench.queue.now
    #expect(left > Self.hour - 60_000_000_000 && left <= Self.hour)
  }

  @Test func aSuspendedTimerFollowsToo() throws {
    let bench = try Bench()
    try bench.timer.suspend()
    #expect(try bench.step(by: 2 * Self.hour) == 0)
    try bench.timer.resume()
    #expect(try bench.queue.process() == 1)
  }
}

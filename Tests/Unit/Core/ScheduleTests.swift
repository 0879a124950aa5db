import Testing

@testable import ChimeCore

/// What a change of the interval does to the rest of a schedule.
@Suite struct ScheduleTests {
  @Test(arguments: [(1000, 800, 900), (900, 800, 900), (800, 799, 800), (10, 9, 10), (1, 0, 1)])
  func aShorterIntervalShortensLeewayAndJitter(_ interval: Int64, _ leeway: Int64, _ jitter: Int64) throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let timer = try #require(TimerRef(core.makeTimer()))
    #expect(timer.restart(Schedule(first: 1000, interval: 1000, leeway: 800, jitter: 900)) == .ok)
    #expect(timer.reschedule(interval: interval, leeway: nil) == .ok)
    let snapshot = try #require(timer.snapshot)
    #expect(snapshot.interval == interval && snapshot.leeway == leeway && snapshot.jitter == jitter)
  }
}

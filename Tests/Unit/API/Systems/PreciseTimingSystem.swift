import Chime
import ChimeTestSupport
import Testing

@Suite("Precise timing", .serialized) struct PreciseTiming {
  @Test func itWaitsForAbsoluteTimesOnAThreadOfItsOwn() async throws {
    let queue = try PreciseTimerQueue(label: "precise")
    let ticks = Log<ChimeTimer.Tick>()
    let start = queue.now + .milliseconds(2)
    let timer = try queue.schedule(.every(.milliseconds(1), at: start)) { ticks.add($0) }
    #expect(await soon { ticks.count >= 10 })
    timer.cancel()
    for tick in ticks.all {
      #expect(tick.actual >= tick.scheduled && (tick.scheduled.nanoseconds - start.nanoseconds) % 1_000_000 == 0)
    }
  }

  /// `mach_wait_until`
  @Test func aTaskWaitsUntilAnAbsoluteTime() async throws {
    let clock = (try PreciseTimerQueue()).clock
    let deadline = clock.now.advanced(by: .milliseconds(3))
    try await clock.sleep(until: deadline)
    #expect(clock.now >= deadline)
  }
}

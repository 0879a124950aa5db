import Chime
import ChimeCore
import ChimeDiagnostics
import ChimeTestSupport
import Foundation
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

  /// Delays do not follow the clock, nor do the ones above timers: of a throttled or debounced action, between two attempts, of
  /// a task that sleeps for a while.
  @Test func whatStandsAboveTimersCountsInSteadyTime() async throws {
    let (saved, searched, woken) = (Counter(), Counter(), Counter())
    let save = try TriggeredAction(.throttle(.milliseconds(300)), on: queue) { saved.add() }
    let search = try TriggeredAction(.debounce(.milliseconds(300)), on: queue) { searched.add() }
    save.trigger()
    search.trigger()
    try queue.process()
    let retry = Task { [queue] in
      try await queue.retry(attempts: 2, backoff: Backoff(from: .milliseconds(300), jitter: 0)) { attempt in
        if attempt == 1 { throw CocoaError(.featureUnsupported) }
        woken.add()
      }
    }
    let sleeper = Task { [queue] in
      try await queue.clock.sleep(for: .milliseconds(300))
      woken.add()
    }
    #expect(await soon { queue.statistics?.running == 4 })
    QueueCore.stepWallClock(queue.id, by: (hour * -1).nanoseconds)
    save.trigger()
    let end = Date(timeIntervalSinceNow: patience)
    while saved.value < 2 || searched.value < 1 || woken.value < 2, Date() < end {
      try queue.process()
      try await Task.sleep(for: .milliseconds(1))
    }
    #expect(saved.value == 2 && searched.value == 1 && woken.value == 2)
    retry.cancel()
    sleeper.cancel()
  }
}

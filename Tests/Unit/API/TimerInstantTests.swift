import Chime
import ChimeCompat
import ChimeTestSupport
import Dispatch
import Foundation
import Testing

/// Points in time: which clock they are on, and that clocks do not mix.
@Suite struct TimerInstantTests {
  let instant = TimerInstant(.monotonic, nanoseconds: 5)

  @Test func instantsAreOrderedAddedToAndSubtracted() {
    var later = instant + .nanoseconds(7)
    #expect(later.nanoseconds == 12 && later - instant == .nanoseconds(7) && later > instant)
    later -= .nanoseconds(10)
    #expect(later.nanoseconds == 2 && instant - later == .nanoseconds(3))
    later += .nanoseconds(3)
    #expect(later == instant)
    #expect((instant + .seconds(Int64.max)).nanoseconds == .max)
    #expect((instant - .seconds(Int64.max)).nanoseconds <= 5 - Int64.max + 1)
    #expect(instant.duration(to: later - .nanoseconds(3)) == .nanoseconds(-3))
  }

  @Test func instantsOfTwoClocksAreNeverEqualAndHaveNoPlausibleDistance() {
    for a in TimerInstant.Timeline.allCases {
      for b in TimerInstant.Timeline.allCases where a != b {
        let (x, y) = (TimerInstant(a, nanoseconds: 5), TimerInstant(b, nanoseconds: 5))
        #expect(x != y && (x < y) != (y < x))
        #expect(abs((x - y) / .nanoseconds(1)) == Double(Int64.max))
      }
    }
  }

  @Test func aQueueRefusesADeadlineOnAnotherClock() throws {
    let (virtual, wall) = (try VirtualTimerQueue(), try HostTimerQueue(clock: .wall))
    let monotonic = try HostTimerQueue()
    let timer = try virtual.makeTimer { _ in }
    let calls: [() throws -> Void] = [
      { _ = try virtual.schedule(at: monotonic.now) { _ in } },
      { _ = try monotonic.schedule(at: wall.now) { _ in } },
      // Else it would fire at once.
      { _ = try wall.schedule(Schedule(deadline: .now() + 3600)) { _ in } },
      { _ = try virtual.schedule(.every(.seconds(1), at: wall.now)) { _ in } },
      { try timer.activate(.once(at: wall.now)) }, { try timer.restart(.once(at: wall.now)) },
      { try timer.reschedule(.once(at: wall.now)) }, { try timer.postpone(until: wall.now) },
    ]
    for call in calls { #expect(throws: ChimeError.invalidArgument, performing: call) }
    do {
      _ = try monotonic.schedule(at: wall.now) { _ in }
    } catch {
      #expect("\(error)".contains("on the wall clock, and the queue on the monotonic clock"))
    }
    #expect(try monotonic.schedule(Schedule(deadline: .now() + 3600)) { _ in }.state == .running)
  }

  @Test func datesAreInstantsOfTheWallClock() throws {
    let date = Date(timeIntervalSince1970: 1_700_000_000.5)
    let instant = TimerInstant(date)
    #expect(instant.timeline == .wall && instant.nanoseconds == 1_700_000_000_500_000_000)
    #expect(Date(instant) == date && Date(self.instant) == nil)
    #expect(TimerInstant(Date.distantFuture).nanoseconds == .max && TimerInstant(Date.distantPast).nanoseconds == .min)
    let queue = try HostTimerQueue(clock: .wall)
    let now = try #require(Date(queue.now))
    #expect(abs(now.timeIntervalSinceNow) < 60)
    let virtual = try VirtualTimerQueue(start: TimerInstant(date))
    let ticks = Log<Date?>()
    let timer = try virtual.schedule(at: instant + .seconds(10)) { ticks.add(Date($0.scheduled)) }
    try virtual.advanceTimers(by: .seconds(10))
    #expect(ticks.all == [date + 10] && timer.state == .finished)
    #expect(throws: ChimeError.invalidArgument) { try VirtualTimerQueue(start: TimerInstant(Date.distantPast)) }
  }
  @Test func aDateComesBackAsItWas() {
    for year in [-290.0, -100, -0.6, 0.6, 10, 25.9, 30, 100, 255] {
      for _ in 0..<2000 {
        let seconds = year * 31_556_952 + .random(in: 0..<1e6)
        let date = Date(timeIntervalSinceReferenceDate: seconds)
        let instant = TimerInstant(date)
        #expect(Date(instant) == date, "\(seconds)")
        // So far from 2001 a number of seconds is a multiple of 2^-28: in integers, rounded up to whole nanoseconds.
        let whole = seconds.rounded(.down)
        let nanoseconds = (Int64((seconds - whole) * 0x1p28) * 1_000_000_000 + 0xFFF_FFFF) >> 28
        #expect(instant.nanoseconds == (Int64(whole) + 978_307_200) * 1_000_000_000 + nanoseconds, "\(seconds)")
      }
    }
    #expect(TimerInstant(Date(timeIntervalSinceReferenceDate: .nan)).nanoseconds == .max)
    #expect(TimerInstant(Date(timeIntervalSinceReferenceDate: -.infinity)).nanoseconds == .min)
  }
}

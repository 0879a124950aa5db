import CChime
import Testing

/// Promise 17: extremes saturate; nothing overflows, traps or spins.
@Suite(.tags(.promise17Extremes)) struct ExtremesTests {
  static let second: Int64 = 1_000_000_000
  static let hour = 3600 * second
  static let year = 8766 * hour

  /// One timer on a virtual queue, and what it received.
  final class Recorder {
    let queue: chime_queue_t
    private(set) var timer: chime_timer_t = 0
    private(set) var ticks: [chime_tick] = []

    init(_ schedule: chime_schedule, start: Int64 = 0) {
      queue = makeVirtualQueue(start: start)
      var options = chime_timer_options()
      options.size = UInt32(MemoryLayout<chime_timer_options>.size)
      options.context = Unmanaged.passUnretained(self).toOpaque()
      options.handler = { tick, context in
        Unmanaged<Recorder>.fromOpaque(context!).takeUnretainedValue().ticks.append(tick.pointee)
      }
      var schedule = schedule
      let status = chime_timer_start(queue, &options, &schedule, &timer)
      #expect(status == ok)
    }

    deinit { _ = chime_queue_release(queue) }

    @discardableResult func advance(_ duration: Int64) -> chime_status { chime_queue_advance(queue, duration) }
    @discardableResult func jump(_ duration: Int64) -> chime_status { chime_queue_jump(queue, duration) }
    var deadline: Int64 { nextDeadline(of: timer) }
  }

  @Test(.tags(.promise4NoDrift))
  func aPeriodOfACenturyKeepsItsGrid() {
    let century = 100 * Self.year
    let recorder = Recorder(makeSchedule(first: century, interval: century))
    #expect(recorder.advance(century - 1) == ok)
    #expect(recorder.ticks.isEmpty)
    #expect(recorder.advance(1) == ok)
    #expect(recorder.advance(century) == ok)
    #expect(recorder.ticks.map(\.actual_ns) == [century, 2 * century])
    #expect(recorder.deadline == forever)
    #expect(state(of: recorder.timer) == CHIME_STATE_RUNNING)
  }

  @Test(arguments: [100, 1_000_000, 60 * 86_400, 365 * 86_400, 250 * 365 * 86_400] as [Int64])
  func aLongDelayIsExactToTheNanosecond(seconds: Int64) {
    let delay = seconds * Self.second + 7
    let recorder = Recorder(makeSchedule(first: delay), start: 12_345)
    recorder.advance(delay - 1)
    #expect(recorder.ticks.isEmpty)
    recorder.advance(1)
    #expect(recorder.ticks.map(\.actual_ns) == [12_345 + delay])
    #expect(recorder.ticks.map(\.scheduled_ns) == [12_345 + delay])
  }

  @Test func aDelayOfForeverNeverComes() {
    for schedule in [makeSchedule(first: forever), makeSchedule(first: forever, interval: forever, deadline: true)] {
      let recorder = Recorder(schedule, start: 5)
      #expect(recorder.deadline == forever)
      #expect(recorder.advance(200 * Self.year) == ok)
      #expect(recorder.ticks.isEmpty)
      #expect(state(of: recorder.timer) == CHIME_STATE_RUNNING)
      #expect(chime_timer_postpone(recorder.timer, forever) == ok)
      #expect(chime_timer_suspend(recorder.timer) == ok)
      #expect(chime_timer_resume(recorder.timer) == ok)
      #expect(recorder.deadline == forever)
      #expect(chime_timer_cancel(recorder.timer) == ok)
    }
  }

  @Test func anIntervalOfForeverTicksOnce() {
    let recorder = Recorder(makeSchedule(first: 3, interval: forever))
    recorder.advance(200 * Self.year)
    #expect(recorder.ticks.map(\.actual_ns) == [3])
    #expect(recorder.deadline == forever)
  }

  @Test func timeSaturatesAtTheEnd() {
    let recorder = Recorder(makeSchedule(first: forever - 1))
    #expect(recorder.advance(forever) == ok)
    #expect(now(of: recorder.queue) == forever)
    #expect(recorder.ticks.map(\.scheduled_ns) == [forever - 1])
    #expect(recorder.jump(forever) == ok)
    #expect(now(of: recorder.queue) == forever)
    #expect(recorder.advance(forever) == ok)
    #expect(chime_timer_restart(recorder.timer, nil) == ok)
    #expect(recorder.deadline == forever)
    #expect(recorder.advance(0) == ok)
  }

  @Test func whatIsOverdueComesAtTheEndOfTimeToo() {
    let recorder = Recorder(makeSchedule(first: forever - 1))
    #expect(recorder.advance(forever) == ok)
    let overdue = makeSchedule(first: 5, deadline: true)
    for count in 2...4 {
      #expect(withUnsafePointer(to: overdue) { chime_timer_restart(recorder.timer, $0) } == ok)
      #expect(recorder.advance(0) == ok)
      #expect(recorder.ticks.count == count)
    }
  }

  @Test func postponeByForeverSaturates() {
    let recorder = Recorder(makeSchedule(first: 10, interval: 10), start: Self.year)
    #expect(chime_timer_postpone(recorder.timer, forever) == ok)
    #expect(recorder.deadline == forever)
    #expect(chime_timer_postpone_until(recorder.timer, .min) == ok)
    #expect(recorder.deadline == forever)
    recorder.advance(Self.year)
    #expect(recorder.ticks.isEmpty)
  }

  @Test(.tags(.promise5NoStorm), arguments: [Int64.min, -1, 0])
  func aDeadlineLongPastGivesOneTickThatCountsItsPeriods(deadline: Int64) {
    let recorder = Recorder(makeSchedule(first: deadline, interval: 1, deadline: true), start: Self.year)
    recorder.advance(0)
    #expect(recorder.ticks.count == 1)
    #expect(recorder.ticks.map(\.missed) == [UInt64(Int128(Self.year) - Int128(deadline))])
    #expect(recorder.deadline == Self.year + 1)
    recorder.advance(2)
    #expect(recorder.ticks.map(\.missed).dropFirst() == [0, 0])
  }

  /// Each restart misses half of all 64-bit numbers, so that the queue's own count of missed ticks overflows.
  @Test(.tags(.promise1AnyOrder)) func missedTicksBeyondWhatACounterHoldsDoNotTrap() {
    let schedule = makeSchedule(first: .min, interval: 1, deadline: true)
    let recorder = Recorder(schedule)
    for _ in 1...5 {
      #expect(recorder.advance(0) == ok)
      #expect(recorder.ticks.last?.missed == UInt64(Int64.max) + 1)
      #expect(withUnsafePointer(to: schedule) { chime_timer_restart(recorder.timer, $0) } == ok)
    }
  }

  @Test func aOneShotLongPastIsDueAtOnce() {
    let recorder = Recorder(makeSchedule(first: .min, deadline: true))
    recorder.advance(0)
    #expect(recorder.ticks.map(\.scheduled_ns) == [.min])
    #expect(recorder.ticks.map(\.actual_ns) == [0])
    #expect(recorder.ticks.map(\.missed) == [0])
  }

  @Test(.tags(.promise4NoDrift, .promise5NoStorm))
  func aNanosecondIntervalCountsAJumpOfHours() {
    let recorder = Recorder(makeSchedule(first: 1, interval: 1))
    recorder.advance(3)
    for hours in 1...50 as ClosedRange<Int64> {
      recorder.jump(hours * Self.hour)
      recorder.advance(0)
      #expect(recorder.ticks.last?.missed == UInt64(hours * Self.hour - 1))
    }
    recorder.jump(250 * Self.year)
    recorder.advance(0)
    #expect(recorder.ticks.last?.missed == UInt64(250 * Self.year - 1))
    #expect(recorder.ticks.count == 54)
    let delivered = recorder.ticks.reduce(0) { $0 + $1.missed + 1 }
    #expect(delivered == UInt64(now(of: recorder.queue)))
    #expect(stats(of: recorder.queue).missed == delivered - 54)
  }

  @Test func aLimitOfAllThatFitsIsNoLimitToSpeakOf() {
    let recorder = Recorder(makeSchedule(first: 1, interval: 1, limit: .max))
    recorder.advance(2)
    recorder.jump(100 * Self.year)
    recorder.advance(0)
    #expect(recorder.ticks.map(\.missed) == [0, 0, UInt64(100 * Self.year - 1)])
    #expect(state(of: recorder.timer) == CHIME_STATE_RUNNING)
    var info = makeTimerInfo()
    #expect(chime_timer_get_info(recorder.timer, &info) == ok)
    #expect(info.tick_limit == .max)
    #expect(info.due_count == UInt64(100 * Self.year + 2))
  }

  @Test func aLimitEndsInsideAJump() {
    let recorder = Recorder(makeSchedule(first: 1, interval: 1, limit: 1_000_000_000_000))
    recorder.jump(Self.hour)
    recorder.advance(0)
    #expect(recorder.ticks.map(\.missed) == [999_999_999_999])
    #expect(state(of: recorder.timer) == CHIME_STATE_FINISHED)
  }

  @Test func extremeArgumentsAreRefusedOrSaturate() {
    let recorder = Recorder(makeSchedule(first: 5, interval: 5), start: 10)
    #expect(recorder.advance(.min) == invalidArgument)
    #expect(recorder.jump(.min) == invalidArgument)
    #expect(chime_queue_advance_to(recorder.queue, .min) == ok)
    #expect(now(of: recorder.queue) == 10)
    #expect(chime_timer_postpone(recorder.timer, .min) == invalidArgument)
    #expect(chime_timer_cancel_and_wait(recorder.timer, .min) == invalidArgument)
    for schedule in [
      makeSchedule(first: -1), makeSchedule(first: .min), makeSchedule(interval: -1), makeSchedule(interval: .min),
      makeSchedule(interval: 5, leeway: 5), makeSchedule(leeway: -1), makeSchedule(leeway: .min),
      makeSchedule(first: 1, deadline: true, resume: CHIME_RESUME_REMAINING),
      makeSchedule(missed: 2), makeSchedule(resume: 2), makeSchedule(missed: -1),
    ] {
      let status = withUnsafePointer(to: schedule) { chime_timer_restart(recorder.timer, $0) }
      #expect(status == invalidArgument, "\(schedule)")
    }
    for schedule in [makeSchedule(leeway: forever), makeSchedule(interval: forever, leeway: forever - 1)] {
      let status = withUnsafePointer(to: schedule) { chime_timer_reschedule(recorder.timer, $0) }
      #expect(status == ok, "\(schedule)")
    }
    #expect(recorder.deadline == 10)
  }
}

import CChime
import Testing

/// What the schedule alone decides: grid, missed ticks, tick limit, leeway.
@Suite struct ScheduleTimelineTests {
  @Test(.tags(.promise4NoDrift))
  func everyTicksFirstAfterOneInterval() {
    let timeline = Timeline()
    let timer = timeline.every(3)
    timeline.run(to: 9)
    #expect(timer.line == "---x--x--x")
    #expect(timer.ticks.map(\.sequence) == [1, 2, 3])
    #expect(timer.ticks.allSatisfy { $0.scheduled_ns == $0.actual_ns && $0.reserved == 0 })
  }

  @Test func theFirstDelayDiffersFromTheInterval() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 0, interval: 4))
    timeline.run(to: 9)
    #expect(timer.line == "x---x---x-")
  }

  @Test func aOneShotTicksOnceAndIsFinishedBeforeItsHandlerStarts() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 3)) { timer, _ in #expect(timer.state == CHIME_STATE_FINISHED) }
    timeline.run(to: 8)
    #expect(timer.line == "---x-----")
    #expect(timer.nextDeadline == forever)
  }

  @Test func aDeadlineIsAPointOnTheQueuesClock() {
    let timeline = Timeline()
    timeline.run(to: 2)
    let timer = timeline.start(makeSchedule(first: 5, interval: 3, deadline: true))
    timeline.run(to: 9)
    #expect(timer.line == "-----x--x-")
  }

  @Test(.tags(.promise3NeverEarly))
  func aDelayCountsFromTheCallAndNotFromTheStartOfThePass() {
    let timeline = Timeline()
    let late = timeline.timer("late")
    let slow = timeline.start(makeSchedule(first: 2)) { _, _ in
      timeline.jump(5)
      late.activate(makeSchedule(first: 3))
    }
    timeline.run(to: 12)
    #expect(slow.line == "--x>>>>------")
    #expect(late.line == "--->>>>---x--")
  }

  // MARK: Missed ticks

  @Test(.tags(.promise4NoDrift, .promise5NoStorm))
  func coalesceGivesOneTickForAllMissedAndStaysOnTheGrid() {
    let timeline = Timeline()
    let timer = timeline.every(2) { _, tick in if tick.sequence == 1 { timeline.jump(5) } }
    timeline.run(to: 10)
    #expect(timer.line == "--x>>>>1x-x")
    #expect(timer.ticks.map(\.sequence) == [1, 2, 3, 4])
  }

  @Test func coalesceLateWithinOneIntervalMissesNothing() {
    let timeline = Timeline()
    let timer = timeline.every(4) { _, tick in if tick.sequence == 1 { timeline.jump(6) } }
    timeline.run(to: 16)
    #expect(timer.line == "----x>>>>>x-x---x")
    #expect(timer.ticks[1].scheduled_ns == 8)
    #expect(timer.ticks[1].actual_ns == 10)
  }

  @Test func delayCountsTheIntervalFromTheEndOfTheHandlerAndMissesNothing() {
    let timeline = Timeline()
    let schedule = makeSchedule(first: 2, interval: 2, missed: CHIME_MISSED_DELAY)
    let timer = timeline.start(schedule) { _, tick in if tick.sequence == 1 { timeline.jump(5) } }
    timeline.run(to: 11)
    #expect(timer.line == "--x>>>>--x-x")
  }

  @Test func delayAfterALateTickCountsFromThatTick() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 2, interval: 3, missed: CHIME_MISSED_DELAY))
    timeline.jump(9)
    timeline.run(to: 15)
    #expect(timer.line == "->>>>>>>>x--x--x")
  }

  @Test(.tags(.promise5NoStorm))
  func aJumpOverManyPeriodsGivesOneTick() {
    let timeline = Timeline()
    let timer = timeline.every(1)
    timeline.run(to: 2)
    timeline.jump(9)
    timeline.run(to: 12)
    #expect(timer.line == "-xx>>>>>>>>8x")
    #expect(timer.ticks.map(\.missed) == [0, 0, 8, 0])
  }

  @Test func aFirstDeadlineLongPastIsDueAtOnceAndCountsItsPeriods() {
    let timeline = Timeline()
    timeline.jump(10)
    let timer = timeline.start(makeSchedule(first: -1, interval: 3, deadline: true))
    timeline.run(to: 12)
    #expect(timer.line == "->>>>>>>>>3x-")
  }

  // MARK: Tick limit

  @Test func aTickLimitEndsInFinished() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 2, interval: 2, limit: 3))
    timeline.run(to: 5)
    #expect(timer.state == CHIME_STATE_RUNNING)
    timeline.run(to: 10)
    #expect(timer.line == "--x-x-x----")
    #expect(timer.state == CHIME_STATE_FINISHED)
  }

  @Test func missedTicksCountAgainstTheLimitSoThatACountdownEndsOnTime() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 2, interval: 2, limit: 3)) { _, tick in
      if tick.sequence == 1 { timeline.jump(5) }
    }
    timeline.run(to: 12)
    #expect(timer.line == "--x>>>>1-----")
    #expect(timer.state == CHIME_STATE_FINISHED)
  }

  @Test func noMoreTicksAreMissedThanTheLimitLeaves() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 1, interval: 1, limit: 5))
    timeline.jump(100)
    timeline.run(to: 101)
    #expect(timer.ticks.map(\.missed) == [4])
    #expect(timer.state == CHIME_STATE_FINISHED)
  }

  @Test func theHandlerOfTheLastTickMayActivateAgain() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 1, interval: 2, limit: 2)) { timer, tick in
      if timer.state == CHIME_STATE_FINISHED, tick.actual_ns < 5 { #expect(timer.activate() == ok) }
    }
    timeline.run(to: 9)
    #expect(timer.line == "-x-xx-x---")
    #expect(timer.ticks.map(\.sequence) == [1, 2, 1, 2])
  }

  // MARK: Leeway

  @Test(.tags(.promise13Leeway))
  func leewayIsIgnoredUnlessTheQueueHonoursIt() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 5, interval: 8, leeway: 4))
    timeline.run(to: 14)
    #expect(timer.line == "-----x-------x-")
  }

  @Test(.tags(.promise3NeverEarly, .promise13Leeway, .promise4NoDrift))
  func windowsThatContainTheSameMultipleShareOneWakeUp() {
    let timeline = Timeline(flags: CHIME_QUEUE_HONOUR_LEEWAY)
    let timers = [(5, 3), (6, 2), (7, 7), (8, 0)].map { first, leeway in
      timeline.start("\(first)", makeSchedule(first: first, interval: 16, leeway: leeway))
    }
    timeline.run(to: 0)
    let before = stats(of: timeline.queue)
    timeline.run(to: 10)
    let after = stats(of: timeline.queue)
    for timer in timers { #expect(timer.line == "--------x--", "deadline \(timer.name)") }
    #expect(timers.map { $0.ticks.map(\.scheduled_ns) } == [[5], [6], [7], [8]])
    #expect(after.passes - before.passes - (after.empty_passes - before.empty_passes) == 1)
    #expect(timers.map(\.nextDeadline) == [21, 22, 23, 24])
  }

  @Test(.tags(.promise3NeverEarly, .promise13Leeway), arguments: [1, 2, 3, 5, 9, 17, 100] as [Int64])
  func aTickOfAQueueThatHonoursLeewayComesInsideItsWindow(leeway: Int64) {
    for deadline in Int64(1)...200 {
      let timeline = Timeline(flags: CHIME_QUEUE_HONOUR_LEEWAY)
      let timer = timeline.start(makeSchedule(first: deadline, leeway: leeway))
      timeline.run(to: deadline - 1)
      #expect(timer.ticks.isEmpty)
      timeline.run(to: deadline + leeway)
      #expect(timer.ticks.map(\.scheduled_ns) == [deadline])
      #expect(timer.ticks.allSatisfy { $0.actual_ns >= deadline && $0.missed == 0 })
    }
  }
}

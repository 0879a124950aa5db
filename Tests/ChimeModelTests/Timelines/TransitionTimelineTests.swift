import CChime
import Testing

/// What calls on a timer do to its line: resume policies, postpone, restart, reschedule, fire, cancel, release.
@Suite struct TransitionTimelineTests {
  // MARK: Suspend and resume

  @Test(.tags(.promise4NoDrift, .promise5NoStorm))
  func resumeCoalesceGivesTheMissedAsOneTickAtOnceAndKeepsTheGrid() {
    let timeline = Timeline()
    let timer = timeline.every(3)
    timeline.run(to: 4)
    timer.suspend()
    timeline.run(to: 13)
    timer.resume()
    timeline.run(to: 18)
    #expect(timer.line == "---x---------2-x--x")
  }

  @Test func resumeCoalesceBeforeTheNextDeadlineChangesNothing() {
    let timeline = Timeline()
    let timer = timeline.every(5)
    timeline.run(to: 6)
    timer.suspend()
    timeline.run(to: 8)
    timer.resume()
    timeline.run(to: 15)
    #expect(timer.line == "-----x----x----x")
  }

  @Test func aOneShotWhoseTimePassedWhileSuspendedTicksOnceOnResume() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 2))
    timer.suspend()
    timeline.run(to: 6)
    timer.resume()
    timeline.run(to: 8)
    #expect(timer.line == "------x--")
  }

  @Test func resumeRemainingKeepsTheTimeThatWasLeftAndMovesTheGrid() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 5, interval: 5, resume: CHIME_RESUME_REMAINING))
    timeline.run(to: 7)
    timer.suspend()
    timeline.run(to: 10)
    timer.resume()
    timeline.run(to: 18)
    #expect(timer.line == "-----x-------x----x")
  }

  @Test func resumeRemainingCarriesThePeriodsMissedBeforeTheSuspend() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 2, interval: 2, resume: CHIME_RESUME_REMAINING))
    timeline.jump(7)
    timer.suspend()
    timeline.run(to: 10)
    timer.resume()
    timeline.run(to: 14)
    #expect(timer.line == "->>>>>>---2-x-x")
  }

  @Test func aDelayGivenWhileSuspendedCountsFromTheCallUnderCoalesceAndFromTheResumeUnderRemaining() {
    let timeline = Timeline()
    let coalesce = timeline.every(9)
    let remaining = timeline.every(9)
    coalesce.suspend()
    remaining.suspend()
    timeline.run(to: 2)
    #expect(coalesce.reschedule(makeSchedule(first: 5)) == ok)
    #expect(remaining.reschedule(makeSchedule(first: 5, resume: CHIME_RESUME_REMAINING)) == ok)
    timeline.run(to: 4)
    coalesce.resume()
    remaining.resume()
    timeline.run(to: 10)
    #expect(coalesce.line == "-------x---")
    #expect(remaining.line == "---------x-")
  }

  @Test(.tags(.promise7NoStaleTick))
  func aTickHeldBackBySuspendDoesNotReviveBesideTheResume() {
    let timeline = Timeline()
    let timer = timeline.every(4)
    let first = timeline.start("first", makeSchedule(first: 0)) { _, _ in }
    timeline.jump(9)
    timer.suspend()
    timer.resume()
    timer.suspend()
    timer.resume()
    timeline.run(to: 12)
    #expect(timer.line == "->>>>>>>>1--x")
    #expect(first.ticks.count == 1)
  }

  // MARK: Postpone, restart, reschedule

  @Test func postponeMovesAOneShotLaterAndNeverEarlier() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 5))
    timeline.run(to: 3)
    #expect(timer.postpone(5) == ok)
    timeline.run(to: 4)
    #expect(timer.postpone(1) == ok)
    #expect(timer.nextDeadline == 8)
    timeline.run(to: 10)
    #expect(timer.line == "--------x--")
    #expect(timer.postpone(5) == ignored)
  }

  @Test func postponeMovesTheGridAndCountsNothingMissed() {
    let timeline = Timeline()
    let timer = timeline.every(4)
    timeline.run(to: 6)
    timer.postpone(5)
    timeline.run(to: 16)
    #expect(timer.line == "----x------x---x-")
  }

  @Test func postponeUntilTakesADeadline() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 3))
    #expect(chime_timer_postpone_until(timer.id, -5) == ok)
    #expect(chime_timer_postpone_until(timer.id, 6) == ok)
    timeline.run(to: 8)
    #expect(timer.line == "------x--")
  }

  @Test func postponeOfASuspendedTimerMovesWhatResumeFinds() {
    let timeline = Timeline()
    let coalesce = timeline.start(makeSchedule(first: 3))
    let remaining = timeline.start(makeSchedule(first: 3, resume: CHIME_RESUME_REMAINING))
    coalesce.suspend()
    remaining.suspend()
    timeline.run(to: 2)
    #expect(coalesce.postpone(4) == ok)
    #expect(remaining.postpone(4) == ok)
    coalesce.resume()
    remaining.resume()
    timeline.run(to: 8)
    #expect(coalesce.line == "------x--")
    #expect(remaining.line == "------x--")
  }

  @Test func restartRunsFromNowInEachState() {
    let timeline = Timeline()
    let timer = timeline.timer()
    #expect(timer.restart() == invalidArgument)
    timer.restart(makeSchedule(first: 4, interval: 4))
    timeline.run(to: 6)
    timer.restart()
    timeline.run(to: 11)
    timer.suspend()
    timeline.run(to: 13)
    timer.restart()
    timeline.run(to: 18)
    timer.cancel()
    timer.restart()
    timeline.run(to: 22)
    #expect(timer.line == "----x-----x------x----x")
    #expect(timer.ticks.map(\.sequence) == [1, 2, 3, 1])
  }

  @Test func rescheduleKeepsTheSequenceAndStartsTheLimitAnew() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 2, interval: 2, limit: 3))
    timeline.run(to: 5)
    timer.reschedule(makeSchedule(first: 3, interval: 1, limit: 3))
    timeline.run(to: 12)
    #expect(timer.line == "--x-x---xxx--")
    #expect(timer.ticks.map(\.sequence) == [1, 2, 3, 4, 5])
    #expect(timer.state == CHIME_STATE_FINISHED)
  }

  @Test func rescheduleAtRestOnlyKeepsTheScheduleForActivate() {
    let timeline = Timeline()
    let timer = timeline.timer()
    #expect(timer.activate() == invalidArgument)
    #expect(timer.reschedule(makeSchedule(first: 3)) == ok)
    timeline.run(to: 5)
    #expect(timer.activate() == ok)
    timeline.run(to: 9)
    #expect(timer.line == "--------x-")
  }

  // MARK: Fire

  @Test func firesBeforeTheExtraTickGiveOneTickOutsideTheSchedule() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 5, interval: 5, limit: 2))
    timeline.run(to: 2)
    #expect(timer.fire() == ok)
    timeline.jump(1)
    #expect(timer.fire() == ok)
    timeline.run(to: 11)
    #expect(timer.line == "---f-x----x-")
    #expect(timer.ticks[0].scheduled_ns == 2)
    #expect(timer.ticks.map(\.sequence) == [1, 2, 3])
  }

  @Test func fireIsDeliveredIdleSuspendedAndFinishedButNotCancelled() {
    let timeline = Timeline()
    let timer = timeline.timer()
    timer.fire()
    timeline.run(to: 1)
    timer.activate(makeSchedule(first: 2))
    timer.suspend()
    timer.fire()
    timeline.run(to: 2)
    timer.resume()
    timeline.run(to: 4)
    timer.fire()
    timeline.run(to: 5)
    timer.activate()
    timer.cancel()
    #expect(timer.fire() == ignored)
    timeline.run(to: 8)
    #expect(timer.line == "f" + "f-x" + "f----")
    #expect(timer.ticks.map(\.sequence) == [1, 1, 2, 3])
  }

  @Test(arguments: ["suspend", "reschedule", "restart", "cancel"])
  func aLaterChangeDropsTheFire(change: String) {
    let timeline = Timeline()
    let timer = timeline.every(9)
    timer.fire()
    switch change {
    case "suspend": timer.suspend()
    case "reschedule": timer.reschedule()
    case "restart": timer.restart()
    default: timer.cancel()
    }
    timeline.run(to: 3)
    #expect(timer.line == "----")
  }

  @Test func fireLeavesThePendingMissedCount() {
    let timeline = Timeline()
    let timer = timeline.every(2)
    timeline.jump(7)
    timer.fire()
    timeline.run(to: 8)
    #expect(timer.ticks.first { $0.kind == CHIME_TICK_DUE }?.missed == 2)
    #expect(timer.ticks.first { $0.kind == CHIME_TICK_FIRED }?.missed == 0)
    #expect(timer.ticks.count == 3)
  }
}

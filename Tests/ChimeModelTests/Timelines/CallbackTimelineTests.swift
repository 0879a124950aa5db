import CChime
import Testing

/// Order of callbacks, handlers that act on timers, registration and cancel handlers, release and finalizers.
@Suite struct CallbackTimelineTests {
  // MARK: Order

  @Test(.tags(.promise12Order))
  func ticksOfOnePassRunByDeadlineThenByActivation() {
    let timeline = Timeline()
    for (name, first) in [("d", 7), ("b", 5), ("c", 5), ("a", 2)] as [(String, Int64)] {
      _ = timeline.start(name, makeSchedule(first: first))
    }
    timeline.jump(9)
    timeline.run(to: 9)
    #expect(timeline.log == ["ax", "bx", "cx", "dx"])
  }

  @Test(.tags(.promise12Order))
  func activationDecidesATieAlsoWhenTheOtherTimerWasArmedForItEarlier() {
    let timeline = Timeline()
    _ = timeline.start("a", makeSchedule(first: 10, interval: 10))
    _ = timeline.start("b", makeSchedule(first: 20))
    timeline.run(to: 20)
    #expect(timeline.log == ["ax", "ax", "bx"])
  }

  @Test(.tags(.promise12Order))
  func zeroDelayInTheHandlerWaitsForTheNextPass() {
    let timeline = Timeline()
    _ = timeline.start("a", makeSchedule(first: 1)) { timer, _ in
      if timer.ticks.count < 3 { timer.activate(makeSchedule(first: 0)) }
    }
    _ = timeline.start("b", makeSchedule(first: 1))
    timeline.run(to: 1)
    #expect(timeline.log == ["ax", "bx", "ax", "ax"])
    #expect(timeline.now == 1)
  }

  /// A release outside a pass calls back, but is no pass for the others; nor is a look at them. Their order stays.
  @Test(.tags(.promise12Order))
  func aReleaseBetweenFireAndAdvanceChangesNoOrder() {
    let timeline = Timeline()
    let other = timeline.timer("other", cancellation: true)
    other.activate(makeSchedule(first: 9))
    let first = timeline.timer("a") { timer, _ in if timer.ticks.count == 1 { timer.fire() } }
    let second = timeline.timer("b")
    for timer in [first, second] { timer.activate(makeSchedule(first: 9)) }
    timeline.run(to: 1)
    first.fire()
    second.fire()
    other.release()
    for timer in [first, second] {
      var info = makeTimerInfo()
      #expect(chime_timer_get_info(timer.id, &info) == ok)
    }
    timeline.run(to: 1)
    #expect(timeline.log == ["otherC", "af", "bf", "af"])
  }

  @Test(.tags(.promise12Order))
  func aThousandPassesAtOneInstantEndTheAdvanceThere() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 1)) { timer, _ in timer.restart(makeSchedule(first: 0)) }
    #expect(timeline.run(to: 50) == limitReached)
    #expect(timeline.now == 1)
    #expect((999...1000).contains(timer.ticks.count))
  }

  // MARK: Handlers

  @Test(.tags(.promise7NoStaleTick, .promise9Handlers))
  func cancelInsideTheHandlerStopsTheNextTick() {
    let timeline = Timeline()
    let timer = timeline.every(2) { timer, tick in if tick.sequence == 2 { #expect(timer.cancel() == running) } }
    timeline.run(to: 9)
    #expect(timer.line == "--x-x-----")
  }

  @Test(.tags(.promise7NoStaleTick, .promise9Handlers))
  func whatAnEarlierHandlerOfThePassStopsDoesNotTick() {
    let timeline = Timeline()
    let others = (0..<3).map { timeline.timer("\($0)") }
    _ = timeline.start("a", makeSchedule(first: 3)) { _, _ in
      #expect(others[0].suspend() == ok)
      #expect(others[1].cancel() == ok)
      #expect(others[2].release() == ok)
    }
    for other in others { other.activate(makeSchedule(first: 3)) }
    timeline.run(to: 6)
    #expect(timeline.log == ["ax"])
    #expect(others.map(\.finalizations) == [0, 0, 1])
  }

  @Test(.tags(.promise9Handlers))
  func advanceInsideAHandlerAnswersWouldDeadlock() {
    let timeline = Timeline()
    let timer = timeline.start(makeSchedule(first: 1)) { timer, _ in
      #expect(chime_queue_advance(timeline.queue, 1) == wouldDeadlock)
      #expect(chime_timer_cancel_and_wait(timer.id, forever) == wouldDeadlock)
    }
    timeline.run(to: 3)
    #expect(timer.line == "-x--")
  }

  // MARK: Registration and cancel handlers

  @Test func registrationAndCancelHandlersRunInTheNextPass() {
    let timeline = Timeline()
    let timer = timeline.timer(registration: true, cancellation: true)
    timer.activate(makeSchedule(first: 2, interval: 2))
    #expect(timer.ticks.isEmpty)
    timeline.run(to: 5)
    timer.cancel()
    #expect(timer.line == "A-x-x-")
    timeline.run(to: 8)
    #expect(timer.line == "A-x-xC---")
    #expect(timer.ticks.map(\.sequence) == [0, 1, 2, 0])
  }

  @Test func theRegistrationHandlerComesBeforeATickThatIsDueAtOnce() {
    let timeline = Timeline()
    let timer = timeline.timer(registration: true)
    timer.activate(makeSchedule(first: 0))
    timeline.run(to: 0)
    #expect(timer.line == "(Ax)")
  }

  @Test func whatTheRegistrationHandlerCancelsNeverTicks() {
    let timeline = Timeline()
    let timer = timeline.timer(registration: true, cancellation: true) { timer, tick in
      if tick.kind == CHIME_TICK_ARMED { #expect(timer.cancel() == running) }
    }
    timer.activate(makeSchedule(first: 0))
    timeline.run(to: 2)
    #expect(timer.line == "(AC)--")
  }

  @Test func eachMoveIntoCancelledCallsTheCancelHandlerOnce() {
    let timeline = Timeline()
    let timer = timeline.timer(cancellation: true)
    for _ in 1...3 {
      timer.activate(makeSchedule(first: 1))
      #expect(timer.cancel() == ok)
      #expect(timer.cancel() == ignored)
    }
    timeline.run(to: 1)
    #expect(timer.line == "(CCC)-")
  }

  // MARK: Release

  @Test(.tags(.promise8OneFinalizer, .promise10StaleIds))
  func releaseOutsideAPassCallsCancelHandlerAndFinalizerInsideTheCall() {
    let timeline = Timeline()
    let timer = timeline.timer(cancellation: true) { timer, _ in #expect(timer.finalizations == 0) }
    timer.activate(makeSchedule(first: 2))
    #expect(timer.release() == ok)
    #expect(timer.line == "C")
    #expect(timer.finalizations == 1)
    #expect(timer.release() == invalidHandle)
    #expect(timer.activate(makeSchedule(first: 2)) == invalidHandle)
    timeline.run(to: 4)
    #expect(timer.line == "C----")
    #expect(timer.finalizations == 1)
  }

  @Test(.tags(.promise8OneFinalizer, .promise9Handlers))
  func releaseInsideTheHandlerFinalizesAfterIt() {
    let timeline = Timeline()
    let timer = timeline.every(2) { timer, _ in
      #expect(timer.release() == running)
      #expect(timer.finalizations == 0)
    }
    timeline.run(to: 5)
    #expect(timer.line == "--x---")
    #expect(timer.finalizations == 1)
  }

  @Test(.tags(.promise8OneFinalizer))
  func aSelfReleasingTimerGoesWhenItIsAtRestAfterAHandler() {
    let timeline = Timeline()
    let timer = timeline.timer(selfRelease: true) { timer, tick in
      if tick.actual_ns == 1 { timer.activate(makeSchedule(first: 2)) }
    }
    timer.activate(makeSchedule(first: 1))
    timeline.run(to: 2)
    #expect(timer.finalizations == 0)
    timeline.run(to: 5)
    #expect(timer.line == "-x-x--")
    #expect(timer.finalizations == 1)
    #expect(timer.cancel() == invalidHandle)
    #expect(stats(of: timeline.queue).timers == 0)
  }

  @Test(.tags(.promise8OneFinalizer))
  func releaseOfTheQueueFinalizesEachTimerOnce() {
    let timeline = Timeline()
    let timers = (0..<5).map { timeline.timer("\($0)") }
    timers[1].activate(makeSchedule(first: 1))
    timers[2].activate(makeSchedule(first: 1))
    timers[2].suspend()
    timeline.run(to: 0)
    timers[3].release()
    #expect(chime_queue_release(timeline.queue) == ok)
    #expect(timers.map(\.finalizations) == [1, 1, 1, 1, 1])
    #expect(timers[1].cancel() == invalidHandle)
  }
}

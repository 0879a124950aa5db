import Chime
import ChimeCompat
import ChimeTestSupport
import Testing

/// What ends by itself: the countdown, and the value that vanishes.

@Suite("Countdown") struct CountdownSystem {
  let queue: VirtualTimerQueue
  let label = Log<Duration>()

  init() throws { queue = try VirtualTimerQueue() }

  private func count(from duration: Duration) throws -> Countdown {
    try Countdown(from: duration, on: queue) { [label] left in label.add(left) }
  }

  @Test func aLabelCountsFromSixtyAndEndsItselfAtZero() throws {
    let countdown = try count(from: .seconds(60))
    #expect(countdown.remaining == .seconds(60))
    #expect(try label.during(.seconds(59), on: queue) == (1..<60).reversed().map { .seconds($0) })
    #expect(!countdown.hasEnded)
    #expect(try label.during(.seconds(100), on: queue) == [.zero])
    #expect(countdown.hasEnded && countdown.remaining == .zero)
  }

  @Test func itEndsInTimeWhenStepsAreMissed() throws {
    let countdown = try count(from: .seconds(10))
    try queue.jump(by: .milliseconds(3500))
    #expect(try label.during(.zero, on: queue) == [.seconds(7)])
    try queue.jump(by: .seconds(60))
    #expect(try label.during(.zero, on: queue) == [.zero] && countdown.hasEnded)
  }

  @Test func aPauseKeepsWhatIsLeftOfTheStep() throws {
    let countdown = try count(from: .seconds(3))
    #expect(try label.during(.milliseconds(1600), on: queue) == [.seconds(2)])
    countdown.pause()
    #expect(try label.during(.seconds(100), on: queue) == [])
    countdown.resume()
    #expect(try label.during(.milliseconds(399), on: queue) == [])
    #expect(try label.during(.milliseconds(1), on: queue) == [.seconds(1)])
    countdown.cancel()
    #expect(countdown.hasEnded && countdown.remaining == .seconds(1))
  }

  @Test func itRoundsUpToWholeStepsAndRefusesNone() throws {
    #expect(try count(from: .milliseconds(2500)).remaining == .seconds(3))
    for (duration, step) in [(0, 1), (-1, 1), (1, 0)] {
      #expect(throws: ChimeError.invalidArgument) {
        try Countdown(from: .seconds(duration), every: .seconds(step), on: queue) { _ in }
      }
    }
  }
}

/// What values that vanish do in all other cases is tested in C (`expiring.c`): both stand on the same code. A reset: the page
/// `ComingFromSwift`.
@Suite("TimeLimitedContainer") struct TimeLimitedContainerSystem {
  let queue: VirtualTimerQueue

  init() throws { queue = try VirtualTimerQueue() }

  /// The published initialiser drops the value, and nobody is told when it goes.
  @Test func theValueIsThereUntilItsTimeIsOverAndItsEndIsReported() throws {
    let expired = Log<Double>(), alive = Counter()
    let token = try TimeLimitedContainer(value: Counted(alive), interval: .seconds(30), on: queue) {
      [unowned queue] in expired.add(seconds(queue.now))
    }
    #expect(try expired.during(.seconds(30) - .nanoseconds(1), on: queue) == [] && token.value?.alive === alive)
    #expect(try expired.during(.nanoseconds(1), on: queue) == [30])
    #expect(token.value == nil && alive.value == 0)
  }

  @Test func theValueIsReleasedWithItsContainer() throws {
    let alive = Counter(), expired = Log<Bool>()
    var dropped: TimeLimited? = try TimeLimited(Counted(alive), lifetime: .seconds(1), on: queue) { expired.add(true) }
    #expect(dropped?.value != nil)
    dropped = nil
    #expect(try alive.value == 0 && expired.during(.seconds(2), on: queue) == [])
  }
}

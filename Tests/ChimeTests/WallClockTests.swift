import Chime
import Foundation
import Synchronization
import Testing

/// Queues on the wall clock, when it is stepped. The clock is stepped as one queue sees it; a host-driven queue shows at
/// each step what is due.
@Suite struct WallClockTests {
  static let hour = Duration.seconds(3600)
  static let hourNanoseconds: Int64 = 3_600_000_000_000

  final class Log: Sendable {
    private let ticks = Locked<[Tick]>([])
    var all: [Tick] { ticks.withLock { $0 } }
    func add(_ tick: Tick) { ticks.withLock { $0.append(tick) } }
  }

  @Test func anAbsoluteDeadlineComesWhenTheClockIsSteppedToIt() throws {
    let queue = try HostTimerQueue(clock: .wall)
    let log = Log()
    let deadline = queue.now + Self.hourNanoseconds
    let timer = try queue.at(deadline: deadline) { log.add($0) }
    #expect(try queue.process() == 0)
    QueueCore.stepWallClock(queue.id, by: Self.hourNanoseconds)
    #expect(try queue.process() == 1)
    #expect(log.all.first?.scheduled == deadline)
    #expect(try #require(log.all.first).actual >= deadline)
    #expect(timer.state == .finished)
  }

  @Test func anAbsoluteDeadlineMovesAwayWhenTheClockIsSteppedBack() throws {
    let queue = try HostTimerQueue(clock: .wall)
    let log = Log()
    let deadline = queue.now + 1_000_000
    let timer = try queue.at(deadline: deadline) { log.add($0) }
    QueueCore.stepWallClock(queue.id, by: -Self.hourNanoseconds)
    usleep(5_000)
    #expect(try queue.process() == 0)
    #expect(timer.nextDeadline == deadline)
    #expect(log.all.isEmpty)
    QueueCore.stepWallClock(queue.id, by: Self.hourNanoseconds)
    #expect(try queue.process() == 1)
  }

  @Test(arguments: [hourNanoseconds, -hourNanoseconds])
  func delaysAndIntervalsDoNotNotice(step: Int64) throws {
    let queue = try HostTimerQueue(clock: .wall)
    let log = Log()
    let once = try queue.after(.milliseconds(1)) { log.add($0) }
    let later = try queue.every(Self.hour) { log.add($0) }
    QueueCore.stepWallClock(queue.id, by: step)
    usleep(2_000)
    #expect(try queue.process() == 1)
    #expect(once.state == .finished)
    let left = try #require(later.nextDeadline) - queue.now
    #expect(left > Self.hourNanoseconds - 60_000_000_000 && left <= Self.hourNanoseconds)
  }

  @Test func aRepeatingScheduleCoalescesWhenTheClockIsSteppedForward() throws {
    let queue = try HostTimerQueue(clock: .wall)
    let log = Log()
    let first = queue.now + Self.hourNanoseconds
    let timer = try queue.at(deadline: first, every: Self.hour) { log.add($0) }
    QueueCore.stepWallClock(queue.id, by: 5 * Self.hourNanoseconds + Self.hourNanoseconds / 2)
    #expect(try queue.process() == 1)
    #expect(log.all.first?.missed == 4)
    #expect(log.all.first?.scheduled == first + 4 * Self.hourNanoseconds)
    #expect(timer.nextDeadline == first + 5 * Self.hourNanoseconds)
  }

  @Test func aRepeatingScheduleGoesOnAtTheNextPointOfItsGridWhenTheClockIsSteppedBack() throws {
    let queue = try HostTimerQueue(clock: .wall)
    let log = Log()
    let first = queue.now
    let timer = try queue.at(deadline: first, every: Self.hour) { log.add($0) }
    #expect(try queue.process() == 1)
    #expect(timer.nextDeadline == first + Self.hourNanoseconds)
    QueueCore.stepWallClock(queue.id, by: -10 * Self.hourNanoseconds)
    #expect(try queue.process() == 0)
    let next = try #require(timer.nextDeadline)
    #expect((next - first) % Self.hourNanoseconds == 0)
    #expect(next > queue.now && next <= queue.now + Self.hourNanoseconds)
    #expect(log.all.count == 1)
  }

  @Test func aSuspendedTimerFollowsToo() throws {
    let queue = try HostTimerQueue(clock: .wall)
    let log = Log()
    let timer = try queue.at(deadline: queue.now + Self.hourNanoseconds) { log.add($0) }
    try timer.suspend()
    QueueCore.stepWallClock(queue.id, by: 2 * Self.hourNanoseconds)
    #expect(try queue.process() == 0)
    try timer.resume()
    #expect(try queue.process() == 1)
  }

  @Test func aStepWakesASerialQueue() async throws {
    let queue = try TimerQueue(clock: .wall)
    let deadline = queue.now + Self.hourNanoseconds
    let (ticks, continuation) = AsyncStream<Tick>.makeStream()
    let timer = try queue.at(deadline: deadline) { continuation.yield($0) }
    QueueCore.stepWallClock(queue.id, by: Self.hourNanoseconds)
    for await tick in ticks {
      #expect(tick.scheduled == deadline && tick.actual >= deadline)
      break
    }
    #expect(timer.state == .finished)
  }

  /// Writers of absolute deadlines against steps: no deadline is left with an old offset.
  @Test func deadlinesWrittenDuringStepsAgreeWithTheClock() throws {
    let queue = try HostTimerQueue(clock: .wall)
    let far = queue.now + 1_000_000 * Self.hourNanoseconds
    let timers = try (0..<50).map { _ in try queue.at(deadline: far) { _ in } }
    let isOver = Atomic(false)
    let done = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      while !isOver.load(ordering: .relaxed) {
        for timer in timers { _ = try? timer.restart() }
      }
      done.signal()
    }
    for round in 0..<2_000 {
      QueueCore.stepWallClock(queue.id, by: round % 2 == 0 ? 1_000_000_000 : -1_000_000_000)
      try queue.process()
    }
    isOver.store(true, ordering: .relaxed)
    done.wait()
    try queue.process()
    for timer in timers { #expect(timer.nextDeadline == far) }
  }
}

import ChimeTestSupport
import Dispatch
import Testing

@testable import Chime
@testable import ChimeCore

/// What costs a queue no wake-up, seen in the passes it has made (promise 13). That an idle one makes none at all, and
/// that what moves earlier comes in time, is tested in C on every kind of queue.
@Suite struct WakeUpTests {
  let queue: TimerQueue
  let core: QueueCore

  init() throws {
    queue = try TimerQueue()
    core = try #require(QueueCore.find(queue.id))
  }

  /// The passes, once those that were on their way have been made: then a function takes the queue's turn on this thread.
  /// Beside a pass that is under way looking costs one.
  private var passes: UInt64 {
    let here = ThreadNumber.current
    var isHere = false
    repeat {
      #expect(QueueCore.sync(core.id, timeout: .max) { isHere = ThreadNumber.current == here } == .ok)
    } while !isHere
    return core.statistics.passes
  }

  @Test func laterTimersPostponedAndCancelledOnesCostNoWakeUp() throws {
    let hour = Duration.seconds(3600)
    let first = try queue.schedule(after: hour) { _ in }
    let before = passes
    let timers = try (1...1000).map { try queue.schedule(after: hour + .milliseconds($0)) { _ in } } + [first]
    #expect(core.statistics.running == 1001)
    for timer in timers { #expect(try timer.postpone(by: hour + .seconds(2)) == .done) }
    for timer in timers { #expect(try timer.postpone(by: hour * 2) == .done) }
    for timer in timers { #expect(timer.cancel() == .done) }
    #expect(passes == before)
  }

  /// The source may be set for the first of them; the others are gone by then.
  @Test func timersThatWereCancelledCostOneEmptyWakeUpAtMost() throws {
    let pending = try queue.schedule(after: .seconds(3600)) { _ in }
    for delay in [.milliseconds(200), .seconds(2), .seconds(20)] as [Duration] {
      let timers = try (0..<100).map { try queue.schedule(after: delay + .milliseconds($0)) { _ in } }
      let cancelled = timers.map { $0.cancel() }
      let before = passes
      if cancelled.allSatisfy({ $0 == .done }) {
        // Until a timer of another queue has ticked that is due later than all of them.
        let other = try TimerQueue()
        let came = DispatchSemaphore(value: 0)
        try other.perform(after: delay + .milliseconds(150)) { came.signal() }
        try #require(came.wait(timeout: .now() + patience) == .success)
        #expect(core.statistics.passes <= before + 1)
        #expect(core.statistics.ticks == 0)
        withExtendedLifetime(pending) {}
        return
      }
      // Some came before this thread had cancelled them: once more, with more time.
    }
    Issue.record("no round was quick enough")
  }
}

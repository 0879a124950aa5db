import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// What costs a queue no wake-up, seen in the passes it has made [13]. That an idle one makes none at all, that ended
/// timers bring none before they were due, and that what moves earlier comes in time: the C suite, on every kind of queue.
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
}

import ChimeTestSupport
import Dispatch
import Testing

@testable import Chime
@testable import ChimeCore

/// What costs a queue on libdispatch no wake-up, seen in the passes it has made (promise 13). That an idle one makes none
/// at all, and that what moves earlier comes in time, is tested in C on every kind of queue.
@Suite struct DispatchDriverTests {
  static let farAway = Duration.seconds(3600)

  /// A serial queue and what it has done.
  struct Bench {
    let queue: TimerQueue
    let core: QueueCore

    init() throws {
      queue = try TimerQueue()
      core = try #require(QueueCore.find(queue.id))
    }

    /// The passes, once those that were on their way have been made. Looking costs none.
    var passes: UInt64 {
      // A pass may put one more behind itself.
      for _ in 0..<3 { #expect(QueueCore.sync(core.id, timeout: .max) {} == .ok) }
      return core.statistics.passes
    }
  }

  @Test func laterTimersPostponedAndCancelledOnesCostNoWakeUp() throws {
    let bench = try Bench()
    let first = try bench.queue.after(Self.farAway) { _ in }
    let passes = bench.passes
    let others = try (1...1000).map { try bench.queue.after(Self.farAway + .milliseconds($0)) { _ in } }
    #expect(bench.core.statistics.running == 1001)
    for timer in others + [first] { #expect(try timer.postpone(by: Self.farAway + .seconds(2)) == .done) }
    for timer in others + [first] { #expect(try timer.postpone(by: Self.farAway * 2) == .done) }
    for timer in others + [first] { #expect(try timer.cancel() == .done) }
    #expect(bench.passes == passes)
  }

  /// The source may be set for the first of them; the others are gone by then.
  @Test func timersThatWereCancelledCostOneEmptyWakeUpAtMost() throws {
    let bench = try Bench()
    let pending = try bench.queue.after(Self.farAway) { _ in }
    var delay = Duration.milliseconds(200)
    while delay < .seconds(30) {
      let timers = try (0..<100).map { try bench.queue.after(delay + .milliseconds($0)) { _ in } }
      let cancelled = try timers.map { try $0.cancel() }
      let passes = bench.passes
      if cancelled.allSatisfy({ $0 == .done }) {
        try Self.waitForAnother(delay + .milliseconds(150))
        #expect(bench.passes <= passes + 1)
        #expect(bench.core.statistics.ticks == 0)
        withExtendedLifetime(pending) {}
        return
      }
      delay *= 2  // some came before this thread had cancelled them: once more, with more time
    }
    Issue.record("no round was quick enough")
  }

  /// Waits until a timer of another queue has ticked.
  static func waitForAnother(_ delay: Duration) throws {
    let queue = try TimerQueue()
    let came = DispatchSemaphore(value: 0)
    try queue.once(after: delay) { came.signal() }
    try #require(came.wait(timeout: .now() + patience) == .success)
  }
}

import Chime
import Dispatch
import ChimeTestSupport
import Foundation
import Testing

/// Timers that people know by name: GCDTimer, CGDTimer, RNTimer, SwiftTimer.

@Suite("GCDTimer", .serialized) struct GCDTimer {
  @Test(.tags(.promise4NoDrift)) func scheduledSetTimeIntervalStopRestartInvalidate() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<Double>()
    // scheduledTimerWithTimeInterval:repeats:queue:block:
    let timer = try queue.every(.seconds(1)) { ticks.add(seconds($0.actual)) }
    try queue.advance(by: .seconds(2))
    #expect(ticks.take() == [1, 2])
    // setTimeInterval: counts from now, and does not tick at once.
    try timer.reschedule(every: .milliseconds(2500))
    try queue.advance(by: .seconds(5))
    #expect(ticks.take() == [4.5, 7])
    // stop, restart
    try timer.suspend()
    try queue.advance(by: .seconds(10))
    #expect(ticks.take() == [])
    try timer.restart()
    try queue.advance(by: .seconds(5))
    #expect(ticks.take() == [19.5, 22])
    // invalidate
    try timer.cancel()
    try queue.advance(by: .seconds(10))
    #expect(ticks.take() == [] && timer.state == .cancelled)
  }

  @Test func aOneShotEndsItself() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Counter()
    let timer = try queue.after(.seconds(1)) { _ in ticks.add() }
    try queue.advance(by: .seconds(5))
    #expect(ticks.value == 1 && timer.state == .finished)
    #expect(try timer.cancel() == .ignored)
  }

  /// The original starts by a resume that comes later, and may hit a source that was invalidated meanwhile.
  @Test(.tags(.promise1AnyOrder, .promise7NoStaleTick))
  func invalidatedRightAfterItsStartItNeverTicks() async throws {
    let queue = try TimerQueue()
    let ticks = Counter(), later = Counter()
    var held: [ChimeTimer] = []
    for _ in 0..<1000 {
      let timer = try queue.after(.zero) { _ in ticks.add() }
      let outcome = try timer.cancel()
      // Ignored: it had ticked already. Running: its tick had started.
      if outcome != .done { ticks.add(-1) }
      #expect(try timer.resume() == .ignored)
      held.append(timer)
    }
    try queue.once(after: .milliseconds(1)) { later.add() }
    #expect(await soon { later.value == 1 && ticks.value == 0 })
  }

  /// The original crashes there.
  @Test(.tags(.promise1AnyOrder, .promise8OneFinalizer)) func theLastReferenceMayGoWhileStopped() async throws {
    let queue = try TimerQueue(on: DispatchQueue(label: "stopped"))
    let captured = Counter()
    for _ in 0..<100 {
      let capture = Counted(captured)
      let timer = try queue.every(.milliseconds(1)) { _ in withExtendedLifetime(capture) {} }
      try timer.suspend()
    }
    #expect(await soon { captured.value == 0 })
  }
}

@Suite("CGDTimer", .serialized) struct CGDTimerSystem {
  /// One timer for the whole program, whose block and interval can be replaced.
  final class CGDTimer: Sendable {
    static let shared = Result { try CGDTimer(on: VirtualTimerQueue()) }

    let queue: VirtualTimerQueue
    private let timer = Locked<ChimeTimer?>(nil)

    init(on queue: VirtualTimerQueue) { self.queue = queue }

    func setTimeInterval(interval: TimeInterval, isRepeat: Bool, block: sending @escaping () -> Void) throws {
      let next = try queue.start(Schedule(timeInterval: interval, repeats: isRepeat)) { _ in block() }
      let old = timer.withLock { timer in
        defer { timer = next }
        return timer
      }
      withExtendedLifetime(old) {}
    }

    func stop() throws -> Outcome? { try timer.withLock { $0 }?.suspend() }
    func restart() throws -> Outcome? { try timer.withLock { $0 }?.restart() }
    func invalidate() throws -> Outcome? { try timer.withLock { $0 }?.cancel() }
  }

  /// The original takes whole seconds only, and crashes at the second stop.
  @Test(.tags(.promise1AnyOrder)) func theSharedInstanceTakesPartsOfSecondsAndAnyOrderOfCalls() throws {
    let shared = try CGDTimer.shared.get()
    #expect(try shared.stop() == nil && shared.invalidate() == nil)
    let ticks = Log<String>()
    try shared.setTimeInterval(interval: 0.25, isRepeat: true) { ticks.add("a") }
    try shared.queue.advance(by: .seconds(1))
    #expect(ticks.take() == ["a", "a", "a", "a"])
    #expect(try shared.stop() == .done && shared.stop() == .ignored)
    try shared.queue.advance(by: .seconds(1))
    #expect(ticks.take() == [])
    #expect(try shared.restart() == .done && shared.restart() == .done)
    try shared.queue.advance(by: .milliseconds(500))
    #expect(ticks.take() == ["a", "a"])
    try shared.setTimeInterval(interval: 1.5, isRepeat: false) { ticks.add("b") }
    try shared.queue.advance(by: .seconds(5))
    #expect(ticks.take() == ["b"])
    #expect(try shared.invalidate() == .ignored && shared.restart() == .done && shared.invalidate() == .done)
    #expect(try shared.invalidate() == .ignored)
  }

  /// Sources that the caller makes, with flags of its own.
  struct StrictSources: TimerAdapterFactory {
    let made = Counter()

    func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
      made.add()
      return DispatchSourceTimerAdapter(adopting: DispatchSource.makeTimerSource(flags: .strict, queue: queue))
    }
  }

  @Test func aMachineDrivesTheCallersOwnSource() async throws {
    let sources = StrictSources()
    let ticks = Counter()
    let machine = DispatchSourceTimerMachine(queue: DispatchQueue(label: "caller"), factory: sources)
    try machine.activate(repeatTimeInterval: .milliseconds(1)) { ticks.add() }
    #expect(await soon { ticks.value >= 2 })
    machine.suspend()
    machine.suspend()
    machine.cancel()
    #expect(machine.state == .cancelled && sources.made.value == 1)
  }
}

@Suite("RNTimer", .serialized) struct RNTimer {
  @Test func itRunsAtOnceFireLeavesTheScheduleAndInvalidateEndsIt() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<String>()
    let timer = try queue.every(.seconds(10)) { ticks.add("\($0.isExtra ? "extra" : "tick") \(seconds($0.actual))") }
    #expect(timer.state == .running)
    try queue.advance(by: .seconds(4))
    try timer.fire()
    let next = timer.nextDeadline
    try queue.advance(by: .zero)
    #expect(ticks.take() == ["extra 4.0"])
    #expect(timer.nextDeadline == next && next == 10_000_000_000)
    try queue.advance(by: .seconds(6))
    #expect(ticks.take() == ["tick 10.0"])
    try timer.cancel()
    #expect(try timer.fire() == .ignored)
    try queue.advance(by: .seconds(20))
    #expect(ticks.take() == [])
  }

  @Test(.tags(.promise8OneFinalizer)) func itStopsWhenItIsReleased() throws {
    final class Owner {
      let ticks: Counter
      private var timer: ChimeTimer?
      init(_ queue: TimerQueue, _ ticks: Counter) throws {
        self.ticks = ticks
        timer = try queue.every(.seconds(1)) { _ in ticks.add() }
      }
    }
    let queue = try VirtualTimerQueue()
    let ticks = Counter()
    var owner: Owner? = try Owner(queue, ticks)
    try queue.advance(by: .seconds(3))
    #expect(owner?.ticks.value == 3)
    owner = nil
    try queue.advance(by: .seconds(3))
    #expect(ticks.value == 3)
  }

  /// The original runs on the main queue only.
  @Test func itNeedsNeitherRunLoopNorMainThread() async throws {
    let queue = try TimerQueue(label: "any")
    let ticks = Counter()
    let timer = try await onAThread {
      try queue.every(.milliseconds(1)) { _ in
        #expect(!Thread.isMainThread)
        ticks.add()
      }
    }
    // The thread that made it has gone.
    #expect(await soon { ticks.value >= 3 })
    withExtendedLifetime(timer) {}
  }
}

@Suite("SwiftTimer") struct SwiftTimer {
  @Test func rescheduleRepeatingWhileItRuns() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<Double>()
    let timer = try queue.every(.seconds(5)) { ticks.add(seconds($0.actual)) }
    try queue.advance(by: .seconds(7))
    try timer.reschedule(every: .seconds(2))
    #expect(timer.state == .running)
    try queue.advance(by: .seconds(5))
    #expect(ticks.all == [5, 9, 11])
  }

  /// The original forgets its leeway there.
  @Test(.tags(.promise13Leeway)) func rescheduleRepeatingKeepsTheLeeway() throws {
    let queue = try VirtualTimerQueue(honoursLeeway: true)
    let late = Log<Int64>()
    // Due at odd times; with leeway they come together, without it each at its own time.
    let timer = try queue.every(.milliseconds(1013), leeway: .milliseconds(500)) { late.add($0.actual - $0.scheduled) }
    try queue.advance(by: .seconds(10))
    #expect(late.take().contains { $0 > 0 })
    try timer.reschedule(every: .milliseconds(1017))
    try queue.advance(by: .seconds(10))
    #expect(late.take().contains { $0 > 0 })
    // A new one can be given, and one that is too long for the new interval is shortened.
    try timer.reschedule(every: .milliseconds(1013), leeway: .zero)
    try queue.advance(by: .seconds(10))
    #expect(late.take().allSatisfy { $0 == 0 })
    try timer.reschedule(every: .milliseconds(1013), leeway: .milliseconds(500))
    try timer.reschedule(every: .milliseconds(13))
    try queue.advance(by: .seconds(10))
    #expect(late.take().allSatisfy { $0 < 13_000_000 })
    #expect(throws: ChimeError.invalidArgument) { try timer.reschedule(every: .seconds(1), leeway: .seconds(1)) }
    #expect(throws: ChimeError.invalidArgument) { try timer.reschedule(every: .seconds(1), leeway: .seconds(-1)) }
  }

  @Test func rescheduleRepeatingKeepsTheLimitAndThePolicies() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<UInt64>()
    let timer = try queue.start(.every(.seconds(1), limit: 3, missed: .delay)) { ticks.add($0.missed) }
    try queue.advance(by: .seconds(2))
    try timer.reschedule(every: .seconds(2))
    try queue.jump(by: .seconds(60))
    try queue.advance(by: .seconds(60))
    #expect(ticks.all == [0, 0, 0, 0, 0] && timer.state == .finished)

    let held = try queue.start(.every(.seconds(10), resume: .remaining)) { ticks.add($0.missed) }
    try held.reschedule(every: .seconds(4))
    try queue.advance(by: .seconds(3))
    try held.suspend()
    try queue.advance(by: .seconds(60))
    try held.resume()
    #expect(held.nextDeadline == queue.now + 1_000_000_000)
  }

  /// The original counts from the time when it was made.
  @Test(.tags(.promise4NoDrift)) func theGridBeginsWithTheStartAndNotWithTheCreation() throws {
    let queue = try VirtualTimerQueue()
    let ticks = Log<Double>()
    let timer = try queue.makeTimer { ticks.add(seconds($0.actual)) }
    try queue.advance(by: .milliseconds(700))
    try timer.activate(.every(.seconds(1)))
    try queue.advance(by: .seconds(3))
    #expect(ticks.take() == [1.7, 2.7, 3.7])
    try timer.cancel()
    try queue.advance(by: .milliseconds(600))  // 4.3
    try timer.activate()
    try queue.advance(by: .seconds(1))
    #expect(ticks.take() == [5.3])
  }
}

import Dispatch
import ChimeTestSupport
import Testing

@testable import Chime
@testable import ChimeCore

/// Waiting for handlers: it ends, times out, or is refused because it never would.
@Suite struct WaitRegistryTests {
  static let long = Duration.seconds(30)

  /// Answers of threads, by name.
  final class Answers: Sendable {
    private let all = Locked<[String: String]>([:])
    private let written = DispatchSemaphore(value: 0)

    func note(_ name: String, _ body: () throws(ChimeError) -> Outcome) {
      let answer: String
      do { answer = "\(try body())" } catch { answer = "\(error)" }
      all.withLock { $0[name] = answer }
      written.signal()
    }

    /// Waits until so many answers are there.
    func wait(for count: Int) -> [String: String] {
      for _ in 0..<count where written.wait(timeout: .now() + 30) == .timedOut { return all.withLock { $0 } }
      return all.withLock { $0 }
    }
  }

  /// A gate that opens once, for everybody.
  final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    func open() { semaphore.signal() }
    func pass() {
      semaphore.wait()
      semaphore.signal()
    }
  }

  /// A timer on a serial queue of its own.
  final class Waiter: @unchecked Sendable {
    // Written once, before its handler can look: the handler passes a gate first.
    var timer: ChimeTimer?
    let queue: TimerQueue
    let started = Gate()

    init() throws { queue = try TimerQueue() }

    func start(_ handler: @escaping @Sendable () -> Void) throws {
      timer = try queue.after(.zero) { [started] _ in
        started.open()
        handler()
      }
    }

    func cancelAndWait() throws(ChimeError) -> Outcome {
      guard let timer else { throw .invalidHandle }
      return try timer.cancelAndWait(timeout: WaitRegistryTests.long)
    }
  }

  // MARK: One waiter

  @Test func aWaitForWhatIsOverEndsAtOnce() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let timer = try #require(TimerRef(try core.makeTimer()))
    #expect(WaitRegistry.wait(for: .timer(timer), timeout: .max) == .ok)
    #expect(QueueCore.shutdown(core.id, timeout: 0) == .ok)
    #expect(WaitRegistry.wait(for: .queue(core), timeout: 0) == .ok)
  }

  @Test(arguments: [0, 1_000_000, 30_000_000] as [Int64])
  func aWaitTimesOutAndNotBeforeItsTime(timeout: Int64) throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let start = Clock.monotonic.now
    #expect(WaitRegistry.wait(for: .queue(core), timeout: timeout) == .timedOut)
    #expect(Clock.monotonic.now - start >= timeout)
  }

  @Test func aWaitEndsWhenWhatItWaitsForDoes() throws {
    let core = try QueueCore.makeForTest()
    defer { core.release() }
    let ended = Counter()
    onNewThreads(2) { thread in
      if thread == 0 {
        if WaitRegistry.wait(for: .queue(core), timeout: .max) == .ok { ended.add(1) }
      } else if QueueCore.shutdown(core.id, timeout: 0) == .ok {
        ended.add(1)
      }
    }
    #expect(ended.value == 2)
  }

  @Test func cancelAndWaitComesBackWhenTheHandlerHas() throws {
    let (waiter, gate, ended) = (try Waiter(), Gate(), Counter())
    try waiter.start {
      gate.pass()
      ended.add(1)
    }
    waiter.started.pass()
    #expect(try waiter.timer?.cancelAndWait(timeout: .milliseconds(1)) == .timedOut)
    #expect(ended.value == 0)
    gate.open()
    // A one-shot that ticks is finished: the cancel is ignored, the wait is not.
    #expect(try waiter.cancelAndWait() == .ignored)
    #expect(ended.value == 1)
    try waiter.queue.shutdown()
  }

  @Test func aHandlerThatWaitsForItselfIsRefused() throws {
    let (waiter, answers) = (try Waiter(), Answers())
    let isSet = Gate()
    try waiter.start {
      isSet.pass()
      answers.note("timer") { () throws(ChimeError) in try waiter.cancelAndWait() }
      answers.note("queue") { () throws(ChimeError) in try waiter.queue.shutdown(timeout: Self.long) }
    }
    isSet.open()
    #expect(answers.wait(for: 2) == ["timer": "wouldDeadlock", "queue": "wouldDeadlock"])
    waiter.timer = nil
  }

  // MARK: Several

  /// Each waits for the next; with a ring the last to come is refused, and everybody else gets what they wait for.
  @Test(arguments: 2...5)
  func handlersThatWaitForEachOtherInARingAreNoticed(count: Int) throws {
    let (waiters, answers) = (try (0..<count).map { _ in try Waiter() }, Answers())
    let allRun = Gate()
    for (number, waiter) in waiters.enumerated() {
      try waiter.start {
        allRun.pass()
        answers.note("\(number)") { () throws(ChimeError) in try waiters[(number + 1) % count].cancelAndWait() }
      }
    }
    for waiter in waiters { waiter.started.pass() }
    allRun.open()
    let got = answers.wait(for: count)
    #expect(got.values.filter { $0 == "wouldDeadlock" }.count == 1, "\(got)")
    #expect(got.values.filter { $0 == "ignored" }.count == count - 1, "\(got)")
    for waiter in waiters {
      try waiter.queue.shutdown()
      waiter.timer = nil
    }
  }

  @Test func aChainThatEndsIsNoDeadlock() throws {
    let (waiters, answers) = (try (0..<4).map { _ in try Waiter() }, Answers())
    let (allRun, lastMayEnd) = (Gate(), Gate())
    for (number, waiter) in waiters.enumerated() {
      try waiter.start {
        allRun.pass()
        if number == 3 { return lastMayEnd.pass() }
        answers.note("\(number)") { () throws(ChimeError) in try waiters[number + 1].cancelAndWait() }
      }
    }
    for waiter in waiters { waiter.started.pass() }
    allRun.open()
    // Two wait for one: no ring either.
    onNewThreads(2) { thread in
      if thread == 0 {
        answers.note("outside") { () throws(ChimeError) in try waiters[3].cancelAndWait() }
      } else {
        lastMayEnd.open()
      }
    }
    let got = answers.wait(for: 4)
    #expect(got == ["0": "ignored", "1": "ignored", "2": "ignored", "outside": "ignored"])
    for waiter in waiters {
      try waiter.queue.shutdown()
      waiter.timer = nil
    }
  }

  @Test func twoHandlersThatSyncOnEachOthersQueuesAreNoticed() throws {
    let (waiters, statuses) = (try [Waiter(), Waiter()], Findings<Int32>())
    let (allRun, ran) = (Gate(), Counter())
    let done = [Gate(), Gate()]
    for (number, waiter) in waiters.enumerated() {
      try waiter.start {
        allRun.pass()
        let status = QueueCore.sync(waiters[1 - number].queue.id, timeout: 30_000_000_000) { ran.add(1) }
        statuses.add([status.rawValue])
        done[number].open()
      }
    }
    for waiter in waiters { waiter.started.pass() }
    allRun.open()
    for gate in done { gate.pass() }
    #expect(Set(statuses.all) == [Status.ok.rawValue, Status.wouldDeadlock.rawValue])
    #expect(ran.value == 1)
    for waiter in waiters {
      try waiter.queue.shutdown()
      waiter.timer = nil
    }
  }

  @Test func shutdownInsideAHandlerThatTheQueueWaitsForIsNoticed() throws {
    let (waiters, answers) = (try [Waiter(), Waiter()], Answers())
    let allRun = Gate()
    for (number, waiter) in waiters.enumerated() {
      try waiter.start {
        allRun.pass()
        answers.note("\(number)") { () throws(ChimeError) in
          try waiters[1 - number].queue.shutdown(timeout: Self.long)
        }
      }
    }
    for waiter in waiters { waiter.started.pass() }
    allRun.open()
    let got = answers.wait(for: 2)
    #expect(Set(got.values) == ["done", "wouldDeadlock"], "\(got)")
    for waiter in waiters { waiter.timer = nil }
  }
}

import Chime
import ChimeDiagnostics
import ChimeTestSupport
import Foundation
import Testing

/// `withTimeout`: the end of the body decides, and not when its caller goes on.
@Suite(.timeLimit(.minutes(20))) struct TimeoutTests {
  struct Own: Error {}

  /// Something to wait for that pays no attention to cancellation.
  final class Gate: Sendable {
    private let stream = AsyncStream<Void>.makeStream()
    func open() { stream.continuation.finish() }
    /// In a task that nobody cancels.
    nonisolated(nonsending) func pass() async { await Task { [stream] in for await _ in stream.stream {} }.value }
  }

  /// By a point on the queue's clock, and with a tolerance, by which time is shared.
  @Test func aDeadlineAndAToleranceAreThoseOfTheQueue() async throws {
    let queue = try VirtualTimerQueue(honoursLeeway: true)
    let (clock, log) = (queue.clock, Log<String>())
    let start = queue.now
    @Sendable func late(_ call: () async throws -> Void) async throws {
      do { try await call() } catch ChimeError.deadlineExceeded { log.add("\(clock.now - start)") }
    }
    let calls = Task {
      try await late { try await queue.withDeadline(start + .seconds(5)) { try await clock.sleep(for: .seconds(60)) } }
      try await late { try await queue.withDeadline(start) { try await clock.sleep(for: .seconds(60)) } }
      // 6.3 s to 7.3 s: at a round instant, which others choose, too.
      try await late {
        try await queue.withTimeout(.milliseconds(1300), tolerance: .seconds(1)) {
          try await clock.sleep(for: .seconds(60))
        }
      }
      log.add(try await queue.withDeadline(clock.now + .seconds(1), tolerance: .seconds(-1)) { "in time" })
      await #expect(throws: ChimeError.invalidArgument) {
        try await queue.withDeadline(TimerInstant(.wall, nanoseconds: 0)) {}
      }
    }
    try await queue.run()
    try await calls.value
    #expect(log.all == ["5.0 seconds", "5.0 seconds", "7.0 seconds", "in time"] && queue.statistics?.timers == 0)
  }

  @Test func aTimeoutCancelsWhatTakesLongerAndNothingElse() async throws {
    let queue = try VirtualTimerQueue()
    let (clock, log) = (queue.clock, Log<String>())
    let calls = Task {
      log.add(try await queue.withTimeout(.seconds(5)) { "quick" })
      do {
        try await queue.withTimeout(.seconds(5)) { try await clock.sleep(for: .seconds(60)) }
      } catch ChimeError.deadlineExceeded {
        log.add("late at \(clock.now - TimerInstant(.virtual, nanoseconds: 0)), \(Task.isCancelled)")
      }
      await #expect(throws: Own.self) { try await queue.withTimeout(.seconds(5)) { throw Own() } }
      await #expect(throws: ChimeError.invalidArgument) { try await queue.withTimeout(.seconds(-1)) {} }
    }
    try await queue.run()
    try await calls.value
    #expect(log.all == ["quick", "late at 5.0 seconds, false"] && queue.statistics?.timers == 0)
    let cancelled = Task { try await queue.withTimeout(.seconds(5)) { try await clock.sleep(for: .seconds(2)) } }
    cancelled.cancel()
    await #expect(throws: CancellationError.self) { try await cancelled.value }
    try await queue.shutdown()
    await #expect(throws: ChimeError.shutDown) { try await queue.withTimeout(.seconds(5)) {} }
  }

  @concurrent static func elsewhere() async -> Int { 1 }

  /// The body is ready at once; the time is over before the main actor gets back to it.
  @MainActor @Test func aValueIsReturnedHoweverLateItsCallerGoesOn() async throws {
    let queue = try VirtualTimerQueue()
    let isOver = Task { @MainActor in try { () throws in try queue.advanceTimers(by: .seconds(1)) }() }
    let value = try await queue.withTimeout(.milliseconds(100)) {
      // The main actor is busy with the advance as soon as this call leaves it.
      let value = await Self.elsewhere()
      try await isOver.value
      return value
    }
    #expect(value == 1)
  }

  @Test func aBodyThatDoesNotHeedItsCancellationIsWaitedFor() async throws {
    let queue = try VirtualTimerQueue()
    let (gates, log) = ((0..<3).map { _ in Gate() }, Log<String>())
    let ends: [@Sendable () throws -> Int] = [{ 7 }, { throw Own() }, { 8 }]
    let calls = zip(gates, ends).map { gate, end in
      Task {
        try await queue.withTimeout(.seconds(1)) {
          await gate.pass()
          log.add("\(Task.isCancelled)")
          return try end()
        }
      }
    }
    try await queue.untilArmed(count: 3)
    gates[2].open()
    #expect(try await calls[2].value == 8 && log.take() == ["false"])
    try await queue.advance(by: .seconds(1))
    for gate in gates { gate.open() }
    #expect(try await calls[0].value == 7)
    await #expect(throws: ChimeError.deadlineExceeded) { try await calls[1].value }
    #expect(log.all == ["true", "true"])
    #expect(queue.statistics?.timers == 0)
  }

  final class Notes { var lines: [String] = [] }

  actor Model {
    private var count = 0
    private let notes = Notes()

    /// The body uses the actor's state and a local object that no other task may have, and gives it back.
    func load(on queue: TimerQueue) async throws -> [String] {
      let local = Notes()
      let (number, same) = try await queue.withTimeout(.seconds(60)) {
        assertIsolated()
        count += 1
        await Task.yield()
        assertIsolated()
        notes.lines.append("\(count)")
        local.lines.append("body")
        return (count, local)
      }
      return notes.lines + same.lines + ["\(number)"]
    }
  }

  @Test func theBodyRunsOnItsCallersActor() async throws {
    let queue = try TimerQueue()
    #expect(try await Model().load(on: queue) == ["1", "body", "1"])
    try await { @MainActor in
      let notes = Notes()
      try await queue.withTimeout(.seconds(60)) {
        notes.lines.append("main")
        try await Task.sleep(for: .milliseconds(1))
        MainActor.assertIsolated()
        notes.lines.append("main")
      }
      #expect(notes.lines == ["main", "main"])
    }()
  }

  @TaskLocal static var name = "none"

  @Test func theBodyIsTheCallersChild() async throws {
    let queue = try TimerQueue()
    let executor = queue.executor
    try await withTaskExecutorPreference(executor) {
      try await Self.$name.withValue("caller") {
        try await queue.withTimeout(.seconds(60)) {
          #expect(Self.name == "caller")
          await Task.yield()
          #expect(unsafe withUnsafeCurrentTask { unsafe $0?.unownedTaskExecutor } != nil)
        }
      }
    }
  }

  /// Ends and expiries at the same moment: each call has one of the two answers, and nothing is left behind. A sanitizer's
  /// run sets CHIME_STEPS, which makes it shorter.
  @Test func endsAndExpiriesMeet() async throws {
    let queue = try TimerQueue(label: "timeouts")
    let (values, late) = (Counter(), Counter())
    let rounds = ProcessInfo.processInfo.environment["CHIME_STEPS"].flatMap { Int($0) } ?? 25_000
    try await withThrowingTaskGroup(of: Void.self) { group in
      for lane in 0..<4 {
        group.addTask {
          for round in 0..<rounds {
            do {
              values.add(
                try await queue.withTimeout(.microseconds((round + lane) % 32)) {
                  for _ in 0..<(round % 8) {
                    try Task.checkCancellation()
                    await Task.yield()
                  }
                  return 1
                })
            } catch ChimeError.deadlineExceeded {
              late.add()
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(values.value + late.value == 4 * rounds && values.value > 0 && late.value > 0)
    #expect(queue.statistics?.timers == 0)
  }
}

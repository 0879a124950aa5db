import Chime
import ChimeCompat
import ChimeDiagnostics
import ChimeTestSupport
import Dispatch
import Foundation
import Testing

/// Each way to say when, with each kind of handler, on each kind of queue: what one queue can do, all can.
@Suite(.timeLimit(.minutes(20))) struct QueueFamilyTests {
  let log = Log<String>()

  actor Model: Sendable {
    private let log: Log<String>
    init(_ log: Log<String>) { self.log = log }
    func add(_ name: String) { log.add(name) }
  }

  final class Object: Sendable {
    let log: Log<String>
    init(_ log: Log<String>) { self.log = log }
  }

  /// By a schedule, and by the times of a call: a tick of each at 1 s, and of those that repeat at 3 s.
  static func expected(_ kinds: String...) -> [String] {
    kinds.flatMap { kind in ["after every", "after every", "schedule"].map { "\(kind) \($0)" } }
  }

  /// What does not depend on where handlers run.
  private func asynchronous(_ queue: AnyTimerQueue, _ model: Model) throws -> [ChimeTimer] {
    let log = log
    return [
      try queue.scheduleTask(.once(after: .seconds(1)), handler: { _ in log.add("task schedule") }),
      try queue.scheduleTask(.every(.seconds(2), after: .seconds(1)), handler: { _ in log.add("task after every") }),
      try queue.scheduleTask(.once(after: .seconds(1)), actor: model) { model, _ in model.add("actor schedule") },
      try queue.scheduleTask(.every(.seconds(2), after: .seconds(1)), actor: model) { model, _ in
        model.add("actor after every")
      },
    ]
  }

  private func synchronous(_ queue: TimerQueue, _ object: Object) throws -> [ChimeTimer] {
    let log = log
    return [
      try queue.schedule(.once(after: .seconds(1))) { _ in log.add("handler schedule") },
      try queue.schedule(every: .seconds(2), after: .seconds(1)) { _ in log.add("handler after every") },
      try queue.schedule(.once(after: .seconds(1)), target: object) { object, _ in object.log.add("target schedule") },
      try queue.schedule(.every(.seconds(2), after: .seconds(1)), target: object) { object, _ in
        object.log.add("target after every")
      },
    ]
  }

  @Test func eachTimeOfACallIsMet() throws {
    let (queue, log) = (try VirtualTimerQueue(), log)
    let point = queue.now + .seconds(1)
    let timers = [
      try queue.schedule(every: .nanoseconds(1_500_000_000)) { log.add("every \($0.sequence)") },
      try queue.schedule(after: .seconds(1)) { log.add("after \($0.sequence)") },
      try queue.schedule(at: point) { log.add("at \($0.sequence)") },
      try queue.schedule(.every(.seconds(2), at: point)) { log.add("at every \($0.sequence)") },
    ]
    try timers[1].postpone(until: point + .seconds(1))
    try queue.advanceTimers(by: .seconds(3))
    #expect(log.all == ["at 1", "at every 1", "every 1", "after 1", "every 2", "at every 2"])
    withExtendedLifetime(timers) {}
  }

  @Test func eachCombinationIsOnAQueueAndOnAnActorsQueue() async throws {
    let (model, object) = (Model(log), Object(log))
    let queue = try VirtualTimerQueue()
    var timers = try asynchronous(queue, model) + synchronous(queue, object)
    try await queue.advance(by: .seconds(3))
    #expect(log.take().sorted() == Self.expected("actor", "handler", "target", "task"))
    let serial = try SerialTimerQueue(virtual: .zero)
    timers = try asynchronous(serial, model) + synchronous(serial, object)
    try await serial.advance(by: .seconds(3))
    #expect(log.take().sorted() == Self.expected("actor", "handler", "target", "task"))
    withExtendedLifetime(timers) {}
  }

  @MainActor final class Screen {
    var lines: [String] = []
  }

  /// The handlers change what is the main actor's, without a word.
  @MainActor @Test func eachCombinationIsOnTheMainQueue() async throws {
    let queue = try MainTimerQueue(virtual: .zero)
    let screen = Screen()
    let timers = [
      try queue.schedule(.once(after: .seconds(1))) { _ in screen.lines.append("handler schedule") },
      try queue.schedule(every: .seconds(2), after: .seconds(1)) { _ in screen.lines.append("handler after every") },
      try queue.schedule(after: .seconds(4)) { _ in screen.lines.append("after") },
      try queue.schedule(at: queue.now + .seconds(5)) { _ in screen.lines.append("at") },
      try queue.schedule(.once(after: .seconds(1)), target: screen) { screen, _ in
        screen.lines.append("target schedule")
      },
      try queue.schedule(.every(.seconds(2), after: .seconds(1)), target: screen) { screen, _ in
        screen.lines.append("target after every")
      },
    ]
    let model = Model(log)
    let others = try asynchronous(queue, model)
    try await queue.advance(by: .seconds(3))
    #expect((screen.lines + log.all).sorted() == Self.expected("actor", "handler", "target", "task"))
    try queue.advanceTimers(by: .seconds(2))
    #expect(screen.lines.filter { ["after", "at"].contains($0) } == ["after", "at"])
    withExtendedLifetime((timers, others, model)) {}
  }

  @MainActor @Test func whatStandsAboveTimersTakesTheMainQueue() async throws {
    let queue = try MainTimerQueue(virtual: .zero)
    let screen = Screen()
    let search = try TriggeredAction(.debounce(.milliseconds(300)), on: queue) { screen.lines.append("searched") }
    let save = try TriggeredAction(.throttle(.milliseconds(400)), on: queue) { screen.lines.append("saved") }
    let limited = try TimeLimited(7, lifetime: .milliseconds(500), on: queue) { screen.lines.append("expired") }
    let countdown = try Countdown(from: .milliseconds(600), every: .milliseconds(600), on: queue) { _ in
      screen.lines.append("counted")
    }
    let timer = try queue.makeTimer(
      label: "blink", registrationHandler: { screen.lines.append("armed") },
      cancelHandler: { screen.lines.append("cancelled") }
    ) { _ in screen.lines.append("ticked") }
    try timer.restart(.once(after: .milliseconds(700)))
    try queue.perform { screen.lines.append("performed") }
    try queue.perform(after: .milliseconds(800)) { screen.lines.append("performed later") }
    search.trigger()
    save.trigger()
    try await queue.advance(by: .seconds(1))
    #expect(
      screen.lines == [
        "performed", "armed", "saved", "searched", "expired", "counted", "ticked", "performed later",
      ])
    #expect(limited.value == nil && countdown.hasEnded && queue.dump.contains("blink"))
    #expect("\(queue)".hasPrefix("MainTimerQueue(on virtual time"))

    let clock = queue.clock
    let late = Task { try await queue.withTimeout(.seconds(1)) { try await clock.sleep(for: .seconds(5)) } }
    let retried = Task {
      try await queue.retry(attempts: 3, backoff: Backoff(from: .seconds(1), jitter: 0)) { attempt in
        MainActor.assertIsolated()
        if attempt < 3 { throw ChimeError.busy }
        return attempt
      }
    }
    let ticks = try queue.ticks(.every(.seconds(1), after: .zero))
    let second = Task { () -> UInt64? in
      for await tick in ticks where tick.sequence == 2 { return tick.sequence }
      return nil
    }
    try await queue.advance(by: .seconds(5))
    await #expect(throws: ChimeError.deadlineExceeded) { try await late.value }
    #expect(try await retried.value == 3)
    #expect(await second.value == 2)
  }

  /// What a handler keeps for itself need not be `Sendable`.
  private final class Total { var value = 0 }

  /// Written once for every queue, with handlers that belong to no actor: generic, and for a queue of any kind.
  private func watch<Queue: AnyTimerQueue>(_ queue: Queue, _ object: Object) throws -> [ChimeTimer] {
    let (log, seen): (Log<String>, AnyTimerQueue) = (log, queue)
    let point = queue.now + .seconds(1)
    let (own, other) = (Total(), Total())
    return [
      try queue.schedule(.once(after: .seconds(1)), label: "generic") { _ in log.add("schedule") },
      try queue.schedule(every: .seconds(1), after: .zero) { _ in
        own.value += 1
        log.add("every \(own.value)")
      },
      try queue.schedule(after: .seconds(1)) { _ in log.add("after") },
      try queue.schedule(at: point) { _ in log.add("at") },
      try queue.schedule(.once(at: point), target: object) { object, _ in object.log.add("target") },
      try seen.schedule(.once(after: .seconds(1))) { _ in log.add("schedule") },
      try seen.schedule(every: .seconds(1), after: .zero) { _ in
        other.value += 1
        log.add("every \(other.value)")
      },
      try seen.schedule(after: .seconds(1)) { _ in log.add("after") },
      try seen.schedule(at: point) { _ in log.add("at") },
      try seen.schedule(.once(at: point), target: object) { object, _ in object.log.add("target") },
    ]
  }

  @Test @MainActor func codeForAnyQueueWritesItsHandlers() async throws {
    let (main, object) = (try MainTimerQueue(virtual: .zero), Object(log))
    for queue in [main, try SerialTimerQueue(virtual: .zero), try VirtualTimerQueue()] as [any VirtualTimeQueue] {
      let timers = try watch(queue, object)
      try queue.perform { [log] in log.add("performed") }
      try await queue.advance(by: .seconds(1))
      let all = ["after", "at", "every 1", "every 2", "schedule", "target"].flatMap { [$0, $0] }
      #expect(log.take().sorted() == (all + ["performed"]).sorted())
      #expect(timers[0].description.contains("\"generic\""))
    }
  }

  /// The handlers of one timer run in turn, and share what is theirs alone, on every queue.
  private func sharing(_ queue: AnyTimerQueue) throws -> ChimeTimer {
    let (log, total) = (log, Total())
    let timer = try queue.makeTimer(
      label: "sharing",
      handlers: {
        var ticks = 0
        return .init(registration: { total.value = 10 }, cancel: { log.add("\(total.value), \(ticks)") }) { _ in
          total.value += 1
          ticks += 1
        }
      })
    try timer.restart(.every(.seconds(1)))
    return timer
  }

  @Test @MainActor func theHandlersOfATimerShareState() async throws {
    let main = try MainTimerQueue(virtual: .zero)
    for queue in [main, try SerialTimerQueue(virtual: .zero), try VirtualTimerQueue()] as [any VirtualTimeQueue] {
      let timer = try sharing(queue)
      try await queue.advance(by: .seconds(3))
      timer.cancel()
      try await queue.advance(by: .zero)
      #expect(log.take() == ["13, 3"] && "\(timer)".contains("sharing"))
    }
  }

  @Test func errorsAreHashedByKindAndInstantsAreCoded() throws {
    let queue = try VirtualTimerQueue()
    var seen: [ChimeError: Int] = [:]
    for delay in [-1, -2] {
      do { _ = try queue.schedule(after: .seconds(delay)) { _ in } } catch let error as ChimeError {
        seen[error, default: 0] += 1
      }
    }
    #expect(seen == [.invalidArgument: 2])
    let instants = [queue.now + .seconds(5), TimerInstant(.wall, nanoseconds: .max)]
    let data = try JSONEncoder().encode(instants)
    #expect(String(decoding: data, as: UTF8.self).contains("virtual"))
    #expect(try JSONDecoder().decode([TimerInstant].self, from: data) == instants)
  }

  /// The handlers run on the main actor, whoever moves the time.
  @Test func anyActorMovesTheTimeOfAMainQueue() async throws {
    let queue = try MainTimerQueue(virtual: .seconds(5))
    let screen = Screen()
    let timer = try queue.schedule(.every(.seconds(1)), target: screen) { screen, tick in
      screen.lines.append("\(tick.scheduled.nanoseconds / 1_000_000_000)")
    }
    #expect(queue.now == TimerInstant(.virtual, nanoseconds: 5_000_000_000))
    #expect(queue.nextDeadline == queue.now + .seconds(1))
    #expect(try await queue.untilArmed(within: .seconds(patience)) == .done)
    try await queue.advance(by: .seconds(2))
    try queue.jump(by: .seconds(1))
    try await queue.advance(by: .seconds(1))
    #expect(await screen.lines == ["6", "7", "8", "9"] && timer.state == .running)
  }

  @Test func realTimeIsNotMoved() async throws {
    let (serial, main) = (try SerialTimerQueue(), try MainTimerQueue())
    for queue in [serial, main] as [any VirtualTimeQueue] {
      await #expect(throws: ChimeError.unsupported) { try await queue.advance(by: .zero) }
      await #expect(throws: ChimeError.unsupported) { try await queue.run() }
      await #expect(throws: ChimeError.unsupported) { try await queue.untilArmed() }
      #expect(throws: ChimeError.unsupported) { try queue.jump(by: .zero) }
      #expect(queue.nextDeadline == nil)
    }
  }

  /// As the comment of each call says.
  @Test func whatIsOutOfRangeAndNotRefusedCountsAsTheNearest() async throws {
    let queue = try VirtualTimerQueue()
    let ages = Duration.seconds(Int64.max)
    let never = try queue.schedule(after: ages) { _ in }
    #expect(never.state == .running && never.nextDeadline == nil)
    #expect((queue.now + ages).nanoseconds == .max)

    let attempts = Counter()
    await #expect(throws: ChimeError.busy) {
      try await queue.retry(attempts: -1, backoff: Backoff(from: .seconds(1))) { _ in
        attempts.add()
        throw ChimeError.busy
      }
    }
    #expect(attempts.value == 1)
    #expect(try await queue.untilArmed(count: -1, within: .seconds(-1)) == .timedOut)
    let timer = try queue.schedule(after: .seconds(1)) { _ in }
    #expect(try await queue.untilArmed(count: -1, within: .seconds(-1)) == .done)
    let sleeper = Task { [clock = queue.clock] in
      try await clock.sleep(until: clock.now.advanced(by: .seconds(1)), tolerance: .seconds(-1))
    }
    try await queue.untilArmed(count: 3)
    try queue.jump(by: ages)
    #expect(queue.now.nanoseconds == .max)
    // An advance needs an end.
    await #expect(throws: ChimeError.self) { try await queue.advance(by: ages) }
    try await queue.advance(by: .zero)
    try await sleeper.value
    #expect(timer.state == .finished)

    let held = try TimerQueue()
    let (entered, release) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let busy = try held.schedule(after: .zero) { _ in
      entered.signal()
      release.wait()
    }
    wait(for: entered)
    #expect(try await busy.cancelAndWait(timeout: .seconds(-1)) == .timedOut)
    #expect(try await held.shutdown(timeout: .seconds(-1)) == .timedOut)
    release.signal()
    #expect([.done, .ignored].contains(try await held.shutdown()))

    let named = try queue.makeTimer(label: "polls\0and more") { _ in }
    #expect("\(named)".contains("\"polls\""))
  }

  private func wait(for semaphore: DispatchSemaphore) { semaphore.wait() }
}

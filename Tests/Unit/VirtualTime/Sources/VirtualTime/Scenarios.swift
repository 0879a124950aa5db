import AsyncAlgorithms
import Chime
import Synchronization

/// One test: what it does, and what it must see.
struct Scenario: Sendable {
  let name: String
  let expected: [String]
  let run: @Sendable () async throws -> [String]

  init(name: String, expected: [String], run: @escaping @Sendable () async throws -> [String]) {
    (self.name, self.expected, self.run) = (name, expected, run)
  }

  /// On a virtual queue of its own.
  init(
    name: String, expected: [String],
    run: @escaping @Sendable (VirtualTimerQueue, TimerQueueClock, Log) async throws -> [String]
  ) {
    self.init(name: name, expected: expected) {
      let queue = try VirtualTimerQueue()
      return try await run(queue, queue.clock, Log())
    }
  }
}

/// What tasks have seen, in order.
final class Log: Sendable {
  private let lines = Mutex<[String]>([])
  func add(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
  /// For what happens at one instant in no order.
  var sorted: [String] { all.sorted() }
}

extension TimerInstant {
  var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

let scenarios: [Scenario] = [
  Scenario(name: "a task sleeps ten times in one advance", expected: (1...10).map { "\($0) at \($0 * 100)" }) {
    queue, clock, log in
    let task = Task {
      for round in 1...10 {
        try await clock.sleep(for: .milliseconds(100))
        log.add("\(round) at \(clock.now.milliseconds)")
      }
    }
    try await queue.advance(by: .seconds(1))
    defer { task.cancel() }
    return log.all
  },

  Scenario(name: "tasks that yield before they sleep", expected: (0..<8).map { "\($0) at 500" }) { queue, clock, log in
    let tasks = (0..<8).map { number in
      Task {
        for _ in 0..<number * 5 { await Task.yield() }
        try await clock.sleep(for: .milliseconds(500))
        for _ in 0..<number * 5 { await Task.yield() }
        log.add("\(number) at \(clock.now.milliseconds)")
      }
    }
    try await queue.advance(by: .milliseconds(500))
    defer { for task in tasks { task.cancel() } }
    return log.sorted
  },

  Scenario(name: "actors hand work to each other", expected: (1...5).map { "turn \($0) at \($0 * 10)" }) {
    queue, _, log in
    let (first, second) = (Player(queue, log), Player(queue, log))
    let task = Task { try await first.play(1, until: 5, with: second) }
    try await queue.run()
    defer { task.cancel() }
    return log.all
  },

  Scenario(name: "an actor on a virtual SerialTimerQueue", expected: ["beat 1", "beat 2", "beat 3", "slept 250"]) {
    let queue = try SerialTimerQueue(virtual: .zero)
    let log = Log()
    let heart = Heart(queue, log)
    let task = Task { try await heart.begin() }
    try await queue.advance(by: .milliseconds(300))
    defer { task.cancel() }
    return log.sorted
  },

  Scenario(name: "the main actor", expected: ["start 0", "tick 100", "slept 150", "tick 200"]) {
    try await mainActor()
  },

  Scenario(name: "debounce", expected: ["chime at 500"]) { queue, clock, log in
    let (keys, typed) = AsyncStream.makeStream(of: String.self)
    let task = Task {
      for await text in keys.debounce(for: .milliseconds(300), clock: clock) {
        log.add("\(text) at \(clock.now.milliseconds)")
      }
    }
    for text in ["c", "ch", "chime"] {
      typed.yield(text)
      try await queue.advance(by: .milliseconds(100))
    }
    try await queue.advance(by: .seconds(1))
    typed.finish()
    await task.value
    return log.all
  },

  Scenario(name: "throttle", expected: ["0 at 0", "3 at 300", "6 at 600", "9 at 900"]) { queue, clock, log in
    let (numbers, sent) = AsyncStream.makeStream(of: Int.self)
    let task = Task {
      for await number in numbers._throttle(for: .milliseconds(300), clock: clock) {
        log.add("\(number) at \(clock.now.milliseconds)")
      }
    }
    for number in 0..<10 {
      sent.yield(number)
      try await queue.advance(by: .milliseconds(100))
    }
    sent.finish()
    await task.value
    return log.all
  },

  Scenario(name: "AsyncTimerSequence", expected: ["1000", "2000", "3000"]) { queue, clock, log in
    let task = Task {
      for await beat in AsyncTimerSequence(interval: .seconds(1), clock: clock).prefix(3) {
        log.add("\(beat.milliseconds)")
      }
    }
    try await queue.run()
    await task.value
    return log.all
  },

  Scenario(
    name: "timeout, debouncer, throttler", expected: ["deadlineExceeded at 50", "saved 1", "saved 2", "searched"]
  ) { queue, clock, log in
    let task = Task {
      do {
        try await queue.withTimeout(.milliseconds(50)) { try await clock.sleep(for: .seconds(1)) }
      } catch ChimeError.deadlineExceeded {
        log.add("deadlineExceeded at \(clock.now.milliseconds)")
      }
    }
    let saves = Atomic<Int>(0)
    let search = try TriggeredAction(debounce: .milliseconds(30), on: queue) { log.add("searched") }
    let save = try TriggeredAction(throttle: .milliseconds(30), on: queue) {
      log.add("saved \(saves.add(1, ordering: .relaxed).newValue)")
    }
    for _ in 0..<3 {
      search.trigger()
      save.trigger()
      try await queue.advance(by: .milliseconds(10))
    }
    try await queue.run()
    try await task.value
    return log.sorted
  },
]

/// Passes a ball, after a pause.
actor Player {
  private let clock: TimerQueueClock
  private let log: Log

  init(_ queue: TimerQueue, _ log: Log) { (clock, self.log) = (queue.clock, log) }

  func play(_ turn: Int, until last: Int, with other: Player) async throws {
    try await clock.sleep(for: .milliseconds(10))
    log.add("turn \(turn) at \(clock.now.milliseconds)")
    if turn < last { try await other.play(turn + 1, until: last, with: self) }
  }
}

actor Heart {
  private let queue: SerialTimerQueue
  private let log: Log
  private var beats = 0
  private var timer: ChimeTimer?
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

  init(_ queue: SerialTimerQueue, _ log: Log) { (self.queue, self.log) = (queue, log) }

  func begin() async throws {
    timer = try queue.schedule(every: .milliseconds(100), target: self) { heart, _ in
      heart.assumeIsolated { $0.beat() }
    }
    try await queue.clock.sleep(for: .milliseconds(250))
    log.add("slept \(queue.now.milliseconds)")
  }

  private func beat() {
    beats += 1
    log.add("beat \(beats)")
  }
}

@MainActor private func mainActor() async throws -> [String] {
  let queue = try MainTimerQueue(virtual: .zero)
  let log = Log()
  let timer = try queue.schedule(every: .milliseconds(100)) { tick in log.add("tick \(tick.scheduled.milliseconds)") }
  let task = Task { @MainActor in
    log.add("start \(queue.now.milliseconds)")
    try await queue.clock.sleep(for: .milliseconds(150))
    log.add("slept \(queue.now.milliseconds)")
  }
  try await queue.advance(by: .milliseconds(200))
  timer.cancel()
  try await task.value
  return log.all
}

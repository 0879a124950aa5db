import Chime
import Synchronization

/// What attempts fail with.
private struct Unavailable: Error {}

let scenarios: [Scenario] = [
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

  Scenario(name: "main actor, 150 yields", expected: ["1000", "2000", "3000"]) { try await mainActorThatYields(150) },

  Scenario(name: "retry", expected: ["1 at 0", "2 at 100", "3 at 300"]) { queue, clock, log in
    let task = Task {
      try await queue.retry(attempts: 3, backoff: Backoff(from: .milliseconds(100), jitter: 0)) { attempt in
        log.add("\(attempt) at \(clock.now.milliseconds)")
        if attempt < 3 { throw Unavailable() }
      }
    }
    try await queue.run()
    try await task.value
    return log.all
  },

  Scenario(name: "timeout", expected: ["late at 50", "in time at 90"]) { queue, clock, log in
    let task = Task {
      do {
        try await queue.withTimeout(.milliseconds(50)) { try await clock.sleep(for: .seconds(1)) }
      } catch ChimeError.deadlineExceeded {
        log.add("late at \(clock.now.milliseconds)")
      }
      try await queue.withTimeout(.milliseconds(50)) { try await clock.sleep(for: .milliseconds(40)) }
      log.add("in time at \(clock.now.milliseconds)")
    }
    try await queue.run()
    try await task.value
    return log.all
  },

  Scenario(name: "child tasks", expected: ["a 100", "b 200", "both 300 at 200", "c 250"]) { queue, clock, log in
    @Sendable func sleep(_ name: String, _ time: Int) async throws -> Int {
      try await clock.sleep(for: .milliseconds(time))
      log.add("\(name) \(clock.now.milliseconds)")
      return time
    }
    let task = Task {
      async let first = sleep("a", 100)
      async let second = sleep("b", 200)
      let sum = try await first + second
      log.add("both \(sum) at \(clock.now.milliseconds)")
      _ = try await sleep("c", 50)
    }
    try await queue.advance(by: .milliseconds(250))
    defer { task.cancel() }
    return log.all
  },

  Scenario(name: "a queue that another task made", expected: (1...3).map { "turn \($0) at \($0 * 10)" }) {
    try await queueOfAnotherTask()
  },

  Scenario(name: "a task that begins at once", expected: (1...3).map { "turn \($0) at \($0 * 10)" }) {
    try await beginsAtOnce()
  },

  Scenario(name: "an actor that tests share", expected: (1...5).map { "turn \($0) at \($0 * 10)" }) {
    queue, clock, log in
    let task = Task {
      for turn in 1...5 {
        try await clock.sleep(for: .milliseconds(10))
        await Shared.instance.work()
        log.add("turn \(turn) at \(clock.now.milliseconds)")
      }
    }
    try await queue.advance(by: .milliseconds(50))
    defer { task.cancel() }
    return log.all
  },
]

/// Passes a ball, after a pause.
private actor Player {
  private let clock: TimerQueueClock
  private let log: Log

  init(_ queue: TimerQueue, _ log: Log) { (clock, self.log) = (queue.clock, log) }

  func play(_ turn: Int, until last: Int, with other: Player) async throws {
    try await clock.sleep(for: .milliseconds(10))
    log.add("turn \(turn) at \(clock.now.milliseconds)")
    if turn < last { try await other.play(turn + 1, until: last, with: self) }
  }
}

private actor Heart {
  private let queue: SerialTimerQueue
  private let log: Log
  private var beats = 0
  private var timer: ChimeTimer?
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

  init(_ queue: SerialTimerQueue, _ log: Log) { (self.queue, self.log) = (queue, log) }

  func begin() async throws {
    timer = try queue.schedule(.every(.milliseconds(100)), target: self) { heart, _ in
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

/// What has to be touched on the main actor; otherwise an optimised loop would yield elsewhere.
@MainActor private var touched = 0

/// A task that sleeps three times, and gives way again and again after each.
private func mainActorThatYields(_ yields: Int) async throws -> [String] {
  let queue = try VirtualTimerQueue()
  let (clock, log) = (queue.clock, Log())
  let task = Task { @MainActor in
    for _ in 0..<3 {
      try await clock.sleep(for: .seconds(1))
      for _ in 0..<yields {
        await Task.yield()
        MainActor.assertIsolated()
        touched += 1
      }
      log.add("\(clock.now.milliseconds)")
    }
  }
  try await queue.advance(by: .seconds(3))
  defer { task.cancel() }
  return log.all
}

/// A queue that another task made, as `setUp` of XCTest does: the tasks that use it begin before this one moves its time.
private func queueOfAnotherTask() async throws -> [String] {
  let queue = try await Task.detached { try VirtualTimerQueue() }.value
  let (clock, log) = (queue.clock, Log())
  let task = Task(priority: .background) {
    for turn in 1...3 {
      for _ in 0..<20 { await Task.yield() }
      await Shared.instance.work()
      try await clock.sleep(for: .milliseconds(10))
      log.add("turn \(turn) at \(clock.now.milliseconds)")
    }
  }
  try await queue.run()
  defer { task.cancel() }
  return log.all
}

/// A task that begins at once, inside of the task that has just made the queue, and makes another.
private func beginsAtOnce() async throws -> [String] {
  let queue = try VirtualTimerQueue()
  let (clock, log) = (queue.clock, Log())
  let task: Task<Void, any Error>
  if #available(macOS 26, iOS 26, *) {
    task = Task.immediate { try await wakeInTurn(clock, log) }
  } else {
    task = Task { try await wakeInTurn(clock, log) }
  }
  try await queue.run()
  defer { task.cancel() }
  return log.all
}

private func wakeInTurn(_ clock: TimerQueueClock, _ log: Log) async throws {
  for turn in 1...3 {
    let child = Task(priority: .background) { for _ in 0..<20 { await Task.yield() } }
    await child.value
    for _ in 0..<20 { await Task.yield() }
    try await clock.sleep(for: .milliseconds(10))
    log.add("turn \(turn) at \(clock.now.milliseconds)")
  }
}

private actor Shared {
  static let instance = Shared()
  private var sum = 0
  func work() {
    for number in 0..<1000 { sum &+= number }
  }
}

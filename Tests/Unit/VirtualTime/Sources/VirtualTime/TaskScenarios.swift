import AsyncAlgorithms
import Chime
import Synchronization

/// What tasks do besides sleeping: groups, the main actor's turns, streams, retries, child tasks, jobs that outlast others.
let taskScenarios: [Scenario] = [
  Scenario(name: "groups", expected: ["0 at 100", "1 at 200", "2 at 300", "3 at 400", "sum 6 at 400"]) {
    queue, clock, log in
    let task = Task {
      let sum = try await withThrowingTaskGroup(of: Int.self) { group in
        for number in 0..<4 {
          group.addTask {
            try await clock.sleep(for: .milliseconds(100 * (number + 1)))
            log.add("\(number) at \(clock.now.milliseconds)")
            return number
          }
        }
        return try await group.reduce(0, +)
      }
      log.add("sum \(sum) at \(clock.now.milliseconds)")
    }
    try await queue.advance(by: .milliseconds(400))
    defer { task.cancel() }
    return log.all
  },

  Scenario(name: "main actor, 150 yields", expected: ["1000", "2000", "3000"]) { try await mainActorThatYields(150) },

  Scenario(name: "main actor and tasks by turns", expected: ["1 at 10", "2 at 20", "3 at 30", "4 at 40", "5 at 50"]) {
    queue, _, log in
    let screen = await Screen(queue, log)
    let task = Task {
      for turn in 1...5 {
        try await queue.clock.sleep(for: .milliseconds(10))
        for _ in 0..<10 {
          await screen.draw()
          await Task.yield()
        }
        await screen.show(turn)
      }
    }
    try await queue.advance(by: .milliseconds(50))
    defer { task.cancel() }
    return log.all
  },

  Scenario(name: "streams", expected: ["0 at 100", "1 at 200", "2 at 300", "3 at 400", "end at 400"]) {
    queue, clock, log in
    let (numbers, sent) = AsyncStream.makeStream(of: Int.self)
    let producer = Task {
      for number in 0..<4 {
        try await clock.sleep(for: .milliseconds(100))
        sent.yield(number)
      }
      sent.finish()
    }
    let consumer = Task {
      for await number in numbers { log.add("\(number) at \(clock.now.milliseconds)") }
      log.add("end at \(clock.now.milliseconds)")
    }
    try await queue.run()
    try await producer.value
    await consumer.value
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

  Scenario(name: "tasks of tasks, detached ones, too", expected: ["inner 300", "middle 200", "outer 100"]) {
    queue, clock, log in
    let task = Task {
      try await clock.sleep(for: .milliseconds(100))
      log.add("outer \(clock.now.milliseconds)")
      Task.detached {
        for _ in 0..<10 { await Task.yield() }
        try await clock.sleep(for: .milliseconds(100))
        log.add("middle \(clock.now.milliseconds)")
        Task { @MainActor in
          for _ in 0..<10 { await Task.yield() }
          try await clock.sleep(for: .milliseconds(100))
          log.add("inner \(clock.now.milliseconds)")
        }
      }
    }
    try await queue.advance(by: .milliseconds(300))
    defer { task.cancel() }
    return log.sorted
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

  Scenario(name: "merge and chunks of swift-async-algorithms", expected: ["[1, 2] at 100", "[3] at 200", "[4] at 300"])
  { queue, clock, log in
    let (numbers, sent) = AsyncStream.makeStream(of: Int.self)
    let task = Task {
      let pulse = AsyncTimerSequence(interval: .milliseconds(100), clock: clock)
      for await chunk in numbers.chunked(by: pulse) { log.add("\(chunk) at \(clock.now.milliseconds)") }
    }
    try await queue.untilArmed()
    for now in [[1, 2], [3], [4]] {
      for number in now { sent.yield(number) }
      try await queue.advance(by: .milliseconds(100))
    }
    sent.finish()
    task.cancel()
    await task.value
    return log.all
  },
]

/// Sleeps three times, and gives way again and again after each.
@MainActor private func sleepAndYield(_ yields: Int, _ clock: TimerQueueClock, _ log: Log) async throws {
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

/// What has to be touched on the main actor; otherwise an optimised loop would yield elsewhere.
@MainActor private var touched = 0

private func mainActorThatYields(_ yields: Int) async throws -> [String] {
  let queue = try VirtualTimerQueue()
  let clock = queue.clock
  let log = Log()
  let task = Task { @MainActor in try await sleepAndYield(yields, clock, log) }
  try await queue.advance(by: .seconds(3))
  defer { task.cancel() }
  return log.all
}

@MainActor private final class Screen {
  private let queue: TimerQueue
  private let log: Log
  private var drawn = 0

  init(_ queue: TimerQueue, _ log: Log) { (self.queue, self.log) = (queue, log) }
  func draw() { drawn += 1 }
  func show(_ turn: Int) { log.add("\(turn) at \(queue.now.milliseconds)") }
}

private actor Shared {
  static let instance = Shared()
  private var sum = 0
  func work() {
    for number in 0..<1000 { sum &+= number }
  }
}

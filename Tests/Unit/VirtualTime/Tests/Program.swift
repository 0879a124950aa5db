import Chime
import ChimeTestSupport

/// A random program of tasks, and when each of its sleeps ends: the sum of the sleeps before it, since nothing else takes
/// virtual time.
struct Program: Sendable {
  indirect enum Step: Sendable {
    case sleep(Int, id: Int)
    case yields(Int)
    /// Goes on elsewhere, and comes back.
    case hop(Place, [Step])
    /// All of them, as children.
    case group([Job], Place)
    /// Goes on by itself.
    case spawn(Job)
    /// Is waited for, which raises its priority.
    case value(Job)
    /// A task sends after each of these sleeps; this one receives.
    case stream([(Int, id: Int)])
    /// Another task resumes it after its sleep.
    case continuation(Int, id: Int)
    /// Ends a task's long sleep.
    case cancel(Int, id: Int, cancelled: Int)
    /// Ends a task's long sleep, too; the handler of the cancellation begins another task, which sleeps.
    case handler(Int, id: Int, after: Int, handled: Int)
    /// Is waited for with a higher priority after a sleep.
    case escalate(Int, id: Int, Job)
    /// Two children, by `async let`.
    case pair(Job, Job)
  }

  struct Job: Sendable {
    var start: Start
    var priority: TaskPriority?
    var steps: [Step]
  }

  enum Start: CaseIterable { case inherits, immediate, nowhere, detached, preference, main }
  enum Place: CaseIterable { case nowhere, preference, global, first, second, shared, main, serialQueue }
  enum Driver: CaseIterable { case virtual, serial, main }

  private(set) var jobs: [Job] = []
  let driver: Driver
  /// How far each advance goes; none for a run until nothing is pending.
  let advances: [Int]
  /// When the sleeps end, in milliseconds.
  private(set) var ends: [Int: Int] = [:]
  private var ids = 0
  private var budget = 60

  init(seed: UInt64) {
    var random = SplitMix64(seed: seed)
    driver = random.chance(60) ? .virtual : Driver.allCases.randomElement(using: &random)!
    advances = random.chance(50) ? [] : (0..<8).map { _ in Int.random(in: 1...6, using: &random) }
    for _ in 0..<Int.random(in: 1...6, using: &random) { jobs.append(job(3, &random)) }
    for job in jobs { _ = note(job.steps, from: 0) }
  }

  // MARK: Making

  private mutating func id() -> Int {
    ids += 1
    return ids
  }

  private mutating func job(_ depth: Int, _ random: inout SplitMix64) -> Job {
    let priorities: [TaskPriority?] = [nil, .background, .utility, .medium, .high]
    return Job(
      start: Start.allCases.randomElement(using: &random)!, priority: priorities.randomElement(using: &random)!,
      steps: steps(depth, &random))
  }

  private mutating func steps(_ depth: Int, _ random: inout SplitMix64) -> [Step] {
    (0..<Int.random(in: 1...5, using: &random)).map { _ in step(depth, &random) }
  }

  private mutating func step(_ depth: Int, _ random: inout SplitMix64) -> Step {
    budget -= 1
    let pause = Int.random(in: 1...4, using: &random)
    let kind = Int.random(in: 0..<(depth == 0 || budget < 0 ? 40 : 100), using: &random)
    switch kind {
    case 0..<20: return .sleep(pause, id: id())
    case 20..<40: return .yields(Int.random(in: 1...12, using: &random))
    case 40..<65: return .hop(Place.allCases.randomElement(using: &random)!, steps(depth - 1, &random))
    case 65..<71:
      let jobs = (0..<Int.random(in: 1...3, using: &random)).map { _ in job(depth - 1, &random) }
      return .group(jobs, Place.allCases.randomElement(using: &random)!)
    case 71..<77: return .spawn(job(depth - 1, &random))
    case 77..<82: return .value(job(depth - 1, &random))
    case 82..<86: return .pair(job(depth - 1, &random), job(depth - 1, &random))
    case 86..<90: return .stream((0..<pause).map { _ in (Int.random(in: 0...2, using: &random), id()) })
    case 90..<93: return .continuation(pause, id: id())
    case 93..<95: return .escalate(pause, id: id(), job(depth - 1, &random))
    case 95..<98: return .cancel(pause, id: id(), cancelled: id())
    default: return .handler(pause, id: id(), after: Int.random(in: 1...4, using: &random), handled: id())
    }
  }

  // MARK: What it must come to

  private mutating func note(_ steps: [Step], from start: Int) -> Int {
    var now = start
    func sleep(_ time: Int, _ id: Int) {
      now += time
      ends[id] = now
    }
    for step in steps {
      switch step {
      case .sleep(let time, let id), .continuation(let time, let id): sleep(time, id)
      case .yields: break
      case .hop(_, let steps): now = note(steps, from: now)
      case .group(let jobs, _):
        let begin = now
        for job in jobs { now = max(now, note(job.steps, from: begin)) }
      case .spawn(let job): _ = note(job.steps, from: now)
      case .value(let job): now = note(job.steps, from: now)
      case .stream(let sent): for (time, id) in sent { sleep(time, id) }
      case .cancel(let time, let id, let cancelled):
        sleep(time, id)
        ends[cancelled] = now
      case .handler(let time, let id, let after, let handled):
        sleep(time, id)
        ends[handled] = now + after
      case .escalate(let time, let id, let job):
        let end = note(job.steps, from: now)
        sleep(time, id)
        now = max(now, end)
      case .pair(let first, let second): now = max(note(first.steps, from: now), note(second.steps, from: now))
      }
    }
    return now
  }

  // MARK: Running

  /// Runs it. Gives what came out wrong.
  func wrong() async throws -> String? {
    let queue: any VirtualTimeQueue =
      switch driver {
      case .virtual: try VirtualTimerQueue()
      case .serial: try SerialTimerQueue(virtual: .zero)
      case .main: try MainTimerQueue(virtual: .zero)
      }
    let world = World(queue.clock, try SerialTimerQueue())
    let tasks = jobs.map { world.start($0, on: nil) }
    defer { for task in tasks { task.cancel() } }
    for time in advances {
      try await queue.advance(by: .milliseconds(time))
      let now = Int(queue.now.milliseconds)
      if let wrong = differences(world.ends, ends.filter { $0.value <= now }) { return "at \(now): \(wrong)" }
    }
    try await queue.run()
    return differences(world.ends, ends)
  }

  private func differences(_ seen: [Int: Int], _ expected: [Int: Int]) -> String? {
    let wrong = Set(seen.keys).union(expected.keys).sorted().filter { seen[$0] != expected[$0] }
    guard let first = wrong.first else { return nil }
    let text = { (time: Int?) in time.map { "at \($0)" } ?? "not yet" }
    return "\(wrong.count) of \(ends.count) are wrong: \(first) \(text(seen[first])), expected \(text(expected[first]))"
  }
}

/// All programs use it.
@globalActor private actor Everybodys {
  static let shared = Everybodys()
}

/// Where a program runs, and what it has seen.
private final class World: Sendable {
  private actor Plain {
    private var sum = 0
    func work() {
      for number in 0..<1000 { sum &+= number }
    }
  }
  private actor OnQueue {
    private let queue: SerialTimerQueue
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
    init(_ queue: SerialTimerQueue) { self.queue = queue }
  }

  private let clock: TimerQueueClock
  private let (first, second) = (Plain(), Plain())
  /// All programs use it.
  private static let shared = Plain()
  private let third: OnQueue
  private let seen = Guarded<[Int: Int]>([:])

  init(_ clock: TimerQueueClock, _ queue: SerialTimerQueue) { (self.clock, third) = (clock, OnQueue(queue)) }

  var ends: [Int: Int] { seen.withLock { $0 } }

  private func ended(_ id: Int) {
    let now = Int(clock.now.milliseconds)
    seen.withLock { $0[id] = $0[id] == nil ? now : -1 }
  }

  private func sleep(_ time: Int, _ id: Int) async throws {
    try await clock.sleep(for: .milliseconds(time))
    ended(id)
  }

  func start(_ job: Program.Job, on actor: isolated (any Actor)?) -> Task<Void, any Error> {
    switch job.start {
    case .immediate:
      // Swift 6.2's.
      if #available(macOS 26, iOS 26, *) {
        return Task.immediate(priority: job.priority) {
          _ = actor
          try await self.run(job.steps, on: actor)
        }
      }
      fallthrough
    case .inherits:
      return Task(priority: job.priority) {
        _ = actor
        try await self.run(job.steps, on: actor)
      }
    case .nowhere: return Task(priority: job.priority) { try await self.run(job.steps, on: nil) }
    case .preference:
      return Task(executorPreference: globalConcurrentExecutor, priority: job.priority) {
        try await self.run(job.steps, on: nil)
      }
    case .detached: return Task.detached(priority: job.priority) { try await self.run(job.steps, on: nil) }
    case .main:
      return Task(priority: job.priority) { @MainActor in try await self.run(job.steps, on: MainActor.shared) }
    }
  }

  static func use() async { await shared.work() }

  private func there(_ place: Program.Place) -> (any Actor)? {
    switch place {
    case .nowhere, .preference: nil
    case .global: Everybodys.shared
    case .first: first
    case .second: second
    case .shared: Self.shared
    case .main: MainActor.shared
    case .serialQueue: third
    }
  }

  private func add(_ job: Program.Job, to group: inout ThrowingTaskGroup<Void, any Error>, on actor: (any Actor)?) {
    if job.start == .immediate, #available(macOS 26, iOS 26, *) {
      group.addImmediateTask(priority: job.priority) { try await self.run(job.steps, on: actor) }
    } else {
      group.addTask(priority: job.priority) { try await self.run(job.steps, on: actor) }
    }
  }

  @Everybodys private func runOnGlobalActor(_ steps: [Program.Step]) async throws {
    await Task.yield()
    try await run(steps, on: Everybodys.shared)
    await Task { @Everybodys in await Task.yield() }.value
  }

  private func run(_ steps: [Program.Step], on actor: isolated (any Actor)?) async throws {
    for step in steps {
      actor?.preconditionIsolated()
      switch step {
      case .sleep(let time, let id): try await sleep(time, id)
      case .yields(let count):
        for _ in 0..<count {
          await Task.yield()
          actor?.preconditionIsolated()
        }
      case .hop(.preference, let steps):
        try await withTaskExecutorPreference(globalConcurrentExecutor) { try await self.run(steps, on: nil) }
      case .hop(.global, let steps): try await runOnGlobalActor(steps)
      case .hop(let place, let steps): try await run(steps, on: there(place))
      case .group(let jobs, let place):
        try await withThrowingTaskGroup { group in
          for job in jobs { add(job, to: &group, on: there(place)) }
          try await group.waitForAll()
        }
      case .spawn(let job): _ = start(job, on: actor)
      case .value(let job): try await start(job, on: actor).value
      case .stream(let sent):
        let (ids, sender) = AsyncStream.makeStream(of: Int.self)
        let task = Task.detached {
          for (time, id) in sent {
            try await self.clock.sleep(for: .milliseconds(time))
            sender.yield(id)
          }
          sender.finish()
        }
        for await id in ids { ended(id) }
        try await task.value
      case .continuation(let time, let id):
        await withCheckedContinuation { continuation in
          Task(priority: .background) {
            try await self.clock.sleep(for: .milliseconds(time))
            continuation.resume()
          }
        }
        ended(id)
      case .pair(let first, let second):
        async let one: Void = run(first.steps, on: there(.shared))
        async let two: Void = run(second.steps, on: nil)
        _ = try await (one, two)
      case .escalate(let time, let id, let job):
        let task = Task(priority: .background) { try await self.run(job.steps, on: nil) }
        try await sleep(time, id)
        try await Task(priority: .high) { try await task.value }.value
      case .handler(let time, let id, let after, let handled):
        let task = Task(priority: .utility) {
          await withTaskCancellationHandler {
            try? await self.clock.sleep(for: .seconds(1000))
          } onCancel: {
            _ = Task { try await self.sleep(after, handled) }
          }
        }
        try await sleep(time, id)
        task.cancel()
        await task.value
      case .cancel(let time, let id, let cancelled):
        let task = Task(priority: .background) {
          try? await self.clock.sleep(for: .seconds(1000))
          self.ended(cancelled)
        }
        try await sleep(time, id)
        task.cancel()
        await task.value
      }
    }
  }
}

/// Runs something beside tasks in real time that go on and on, and use the actors that all programs use.
func besideOthers(_ body: () async -> Void) async {
  let others = (0..<4).map { number in
    Task.detached {
      while !Task.isCancelled {
        if number == 0 { await giveWayOnGlobalActor() } else { await World.use() }
        try? await Task.sleep(for: .microseconds(50))
      }
    }
  }
  await body()
  for task in others {
    task.cancel()
    await task.value
  }
}

@Everybodys private func giveWayOnGlobalActor() async {
  for _ in 0..<3 { await Task.yield() }
}

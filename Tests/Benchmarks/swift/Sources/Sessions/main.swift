import Chime
import Dispatch

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

// What timers cost a Swift program: idle timeouts of many sessions, timers that are made and dropped, deadlines around
// calls, and how late a sleep ends. CPU time of the whole process, the least of three rounds.
//
//     Sessions [SESSIONS]

let sessions = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 50_000
let idle = Duration.seconds(600)

func cpu() -> Double {
  var time = timespec()
  unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

func show(_ what: String, _ nanoseconds: Double) {
  let padded = what + String(repeating: " ", count: max(1, 46 - what.count))
  print(padded + (nanoseconds < 1000 ? "\(Int(nanoseconds)) ns" : "\(Int(nanoseconds / 100) * 100) ns"))
}

/// The least CPU time for each of `count`, of three rounds.
func measure(_ what: String, _ count: Int, _ round: () async throws -> Void) async rethrows {
  var least = Double.infinity
  for _ in 0..<3 {
    let before = cpu()
    try await round()
    least = min(least, (cpu() - before) / Double(count))
  }
  show(what, least)
}

// MARK: A message moves its session's idle timeout

let queue = try TimerQueue(label: "sessions")
do {
  let timeouts = try (0..<sessions).map { _ in try queue.schedule(after: idle) { _ in } }
  try await measure("a message, \(sessions) sessions: Chime", sessions) {
    for timeout in timeouts { try timeout.postpone(by: idle) }
  }
}
do {
  let timeouts = (0..<sessions).map { _ in
    let source = DispatchSource.makeTimerSource(queue: DispatchQueue.global())
    source.schedule(deadline: .now() + 600)
    source.setEventHandler {}
    source.activate()
    return source
  }
  await measure("a message: DispatchSourceTimer", sessions) {
    for timeout in timeouts { timeout.schedule(deadline: .now() + 600) }
    DispatchQueue.global().sync {}
  }
  for timeout in timeouts { timeout.cancel() }
}
do {
  var timeouts = (0..<sessions).map { _ in Task { try await Task.sleep(for: idle) } }
  await measure("a message: Task.sleep", sessions) {
    for index in timeouts.indices {
      timeouts[index].cancel()
      timeouts[index] = Task { try await Task.sleep(for: idle) }
    }
    for timeout in timeouts.suffix(8) { await Task.yield(); _ = timeout.isCancelled }
    try? await Task.sleep(for: .milliseconds(200))
  }
  for timeout in timeouts { timeout.cancel() }
  try? await Task.sleep(for: .milliseconds(500))
}

// MARK: Made, cancelled, dropped

try await measure("made, cancelled, dropped: Chime", 200_000) {
  for _ in 0..<200_000 { try queue.schedule(after: idle) { _ in }.cancel() }
}
await measure("made, cancelled, dropped: DispatchSourceTimer", 100_000) {
  for _ in 0..<100_000 {
    let source = DispatchSource.makeTimerSource(queue: DispatchQueue.global())
    source.schedule(deadline: .now() + 600)
    source.activate()
    source.cancel()
  }
}

// MARK: A deadline around a call

func quick() async -> Int { 1 }

@concurrent func callAlone(_ count: Int) async {
  for _ in 0..<count { _ = await Task { await quick() }.value }
}

@concurrent func callWithTimeout(_ count: Int, on queue: TimerQueue) async throws {
  for _ in 0..<count { _ = try await queue.withTimeout(.seconds(60)) { await quick() } }
}

@concurrent func callWithContinuousClock(_ count: Int) async throws {
  for _ in 0..<count {
    _ = try await withThrowingTaskGroup(of: Int.self) { group in
      group.addTask { await quick() }
      group.addTask {
        try await ContinuousClock().sleep(for: .seconds(60))
        return 0
      }
      defer { group.cancelAll() }
      return try await group.next() ?? 0
    }
  }
}

await measure("the call alone, in a task", 100_000) { await callAlone(100_000) }
try await measure("withTimeout, not exceeded", 100_000) { try await callWithTimeout(100_000, on: queue) }
try await measure("the same with ContinuousClock", 20_000) { try await callWithContinuousClock(20_000) }

// MARK: A sleep of 2 ms

func late(_ what: String, _ sleep: () async throws -> Void) async rethrows {
  var lateness: [Double] = []
  for _ in 0..<500 {
    let begun = ContinuousClock.now
    try await sleep()
    lateness.append((ContinuousClock.now - begun - .milliseconds(2)) / .nanoseconds(1))
  }
  show(what, lateness.sorted()[250])
}

let clock = queue.clock
try await late("2 ms on a Chime clock: late, median") { try await clock.sleep(for: .milliseconds(2)) }
try await late("2 ms on ContinuousClock: late, median") { try await ContinuousClock().sleep(for: .milliseconds(2)) }
let precise = (try PreciseTimerQueue()).clock
try await late("2 ms on a precise Chime clock: late, median") { try await precise.sleep(for: .milliseconds(2)) }

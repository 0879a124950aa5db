import Chime
import Counted
import Dispatch

// Kinds of work, for ../counts.py, which has valgrind count instructions and allocations.
//
//     SwiftCounts              their names
//     SwiftCounts NAME COUNT   one of them, twice as often: the second half inside `counted`
//
// What tasks do runs on other threads, too; a tab behind its name says so, and it is counted as the difference of two runs.

/// A kind of work that is done again and again. Kept out of closures, so that `counted` can call a function.
nonisolated(unsafe) var body: (Int) throws -> Void = { _ in }
nonisolated(unsafe) var count = 0

func work(_ name: String) throws -> (Int) throws -> Void {
  let queue = try VirtualTimerQueue()
  switch name {
  case "made, cancelled, dropped":
    return { count in
      for _ in 0..<count {
        let timer = try queue.schedule(after: .seconds(3600)) { _ in }
        timer.cancel()
      }
    }
  case "made, cancelled, dropped; repeating":
    return { count in
      for _ in 0..<count {
        let timer = try queue.schedule(every: .seconds(3600)) { _ in }
        timer.cancel()
      }
    }
  case "made, cancelled, dropped; a capture":
    return { count in
      for number in 0..<count {
        let timer = try queue.schedule(after: .seconds(3600)) { _ in print(number) }
        timer.cancel()
      }
    }
  case "a tick":
    let timer = try queue.schedule(every: .seconds(1)) { _ in }
    return { count in
      try queue.advanceTimers(by: .seconds(count))
      withExtendedLifetime(timer) {}
    }
  case "a move":
    let timer = try queue.schedule(after: .seconds(3600)) { _ in }
    var delay = Duration.seconds(3600)
    return { count in
      for _ in 0..<count {
        delay += .nanoseconds(1)  // virtual time stands: without that the deadline would, too
        try timer.postpone(by: delay)
      }
    }
  case "a restart":
    let timer = try queue.schedule(after: .seconds(3600)) { _ in }
    let schedule = try Schedule.once(after: .seconds(3600))
    return { count in for _ in 0..<count { try timer.restart(schedule) } }
  case "a wait for a call, of 1000 that run":
    let timers = try (0..<1000).map { _ in
      try queue.scheduleTask(.once(after: .zero)) { _ in try? await queue.clock.sleep(for: .seconds(3600)) }
    }
    wait { try await queue.advance(by: .seconds(1)) }
    return { count in
      for _ in 0..<count { try timers[0].blockingCancelAndWait(timeout: .zero) }
      withExtendedLifetime(timers) {}
    }
  default: fatalError("no such work: \(name)")
  }
}

/// Lets a task run to its end.
func wait(for body: @escaping @Sendable () async throws -> Void) {
  let end = DispatchSemaphore(value: 0)
  Task.detached {
    try! await body()
    end.signal()
  }
  end.wait()
}

/// Runs so many jobs, one after the other: each time a task that waits goes on.
@Sendable func runJobs(_ count: Int) async {
  for _ in 0..<count { await Task.detached {}.value }
}

/// Tests of virtual time, so many at a time: in each a task sleeps twice.
@Sendable func sleep(_ count: Int, sideBySide lanes: Int) async throws {
  for _ in 0..<count / lanes {
    try await withThrowingTaskGroup { group in
      for _ in 0..<lanes {
        group.addTask {
          let queue = try VirtualTimerQueue()
          let sleeper = Task { for _ in 0..<2 { try await queue.clock.sleep(for: .milliseconds(100)) } }
          try await queue.advance(by: .seconds(1))
          try await sleeper.value
        }
      }
      try await group.waitForAll()
    }
  }
}

func tasks(_ name: String) throws -> (@Sendable (Int) async throws -> Void)? {
  switch name {
  case "a job": return { count in await runJobs(count) }
  case "a job, counted":
    let queue = try VirtualTimerQueue()
    return { count in
      await runJobs(count)
      withExtendedLifetime(queue) {}
    }
  case "a test that sleeps twice, alone": return { count in try await sleep(count, sideBySide: 1) }
  case "a test that sleeps twice, of 320": return { count in try await sleep(count, sideBySide: 320) }
  default: return nil
  }
}

let names = [
  "made, cancelled, dropped", "made, cancelled, dropped; repeating", "made, cancelled, dropped; a capture", "a tick",
  "a move", "a restart", "a wait for a call, of 1000 that run",
  "a job\t", "a job, counted\t", "a test that sleeps twice, alone\t", "a test that sleeps twice, of 320\t",
]
let arguments = CommandLine.arguments.dropFirst()

if let name = arguments.first, let given = arguments.dropFirst().first.flatMap({ Int($0) }) {
  if let tasks = try tasks(name) { body = { count in wait { try await tasks(count) } } } else { body = try work(name) }
  try body(given)  // what is made once
  count = given
  counted { try! body(count) }
} else {
  for name in names { print(name) }
}

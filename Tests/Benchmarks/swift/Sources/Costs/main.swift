import AllocationCount
import Chime
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import Synchronization

// What a timer costs, side by side: processor time of the whole process, the least of the rounds, and allocations of all
// threads, each for one. A table in Markdown.
//
//     Costs [ROUNDS [COUNT]]

let given = CommandLine.arguments.dropFirst().compactMap { Int($0) }
let (rounds, count) = (given.first ?? 5, given.dropFirst().first ?? 10_000)
let ticks = max(1, count / 5)
let sessions = 5 * count
let (hour, interval, window) = (3600, 50, 200_000)  // seconds, microseconds, microseconds

/// Lets the thread that waits go on once so many calls have come.
final class Latch: Sendable {
  private let left: Atomic<Int>
  private let done = DispatchSemaphore(value: 0)
  init(_ count: Int) { left = Atomic(count) }
  func call() { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() } }
  func wait() { done.wait() }
}

/// A handler that awaits something.
func yieldAndCall(_ latch: Latch) async {
  await Task.yield()
  latch.call()
}

/// Timers that are due in an hour. `move` moves each of them once, and returns when that is done.
struct Pending {
  let move: () throws -> Void
  let end: () -> Void
}

/// One way to have timers; each function does its work so often.
protocol Way {
  var name: String { get }
  func makeAndCancel(_ count: Int) throws
  func tick(_ count: Int) throws
  func tickAsynchronously(_ count: Int) throws
  func pending(_ count: Int) throws -> Pending
  /// Arms one-shots, one for each delay in microseconds, and returns when all have been called.
  func expire(_ delays: [Int]) throws
}

struct ChimeWay: Way {
  let name: String
  let queue: TimerQueue
  var leeway = Duration.zero  // of one-shots

  func makeAndCancel(_ count: Int) throws {
    for _ in 0..<count {
      let timer = try queue.schedule(after: .seconds(hour)) { _ in }
      timer.cancel()
    }
  }

  func tick(_ count: Int) throws {
    let latch = Latch(count)
    let timer = try queue.schedule(every: .microseconds(interval)) { _ in latch.call() }
    latch.wait()
    timer.cancel()
  }

  func tickAsynchronously(_ count: Int) throws {
    let latch = Latch(count)
    let timer = try queue.scheduleTask(.every(.microseconds(interval))) { _ in await yieldAndCall(latch) }
    latch.wait()
    timer.cancel()
  }

  func pending(_ count: Int) throws -> Pending {
    let timers = try (0..<count).map { _ in try queue.schedule(after: .seconds(hour)) { _ in } }
    return Pending(move: { for timer in timers { try timer.postpone(by: .seconds(hour)) } }, end: {})
  }

  func expire(_ delays: [Int]) throws {
    let latch = Latch(delays.count)
    let timers = try delays.map { delay in
      try queue.schedule(after: .microseconds(delay), leeway: leeway) { _ in latch.call() }
    }
    latch.wait()
    withExtendedLifetime(timers) {}
  }
}

struct DispatchWay: Way {
  let name = "DispatchSourceTimer"
  let queue = DispatchQueue(label: "DispatchSourceTimer")

  private func make(
    after delay: DispatchTimeInterval, every interval: DispatchTimeInterval = .never,
    _ call: @escaping @Sendable () -> Void
  ) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + delay, repeating: interval)
    timer.setEventHandler(handler: call)
    timer.resume()
    return timer
  }

  private func tick(_ count: Int, _ call: @escaping @Sendable (Latch) -> Void) {
    let latch = Latch(count)
    let timer = make(after: .microseconds(interval), every: .microseconds(interval)) { call(latch) }
    latch.wait()
    timer.cancel()
  }

  func makeAndCancel(_ count: Int) {
    for _ in 0..<count { make(after: .seconds(hour)) {}.cancel() }
    queue.sync {}
  }

  func tick(_ count: Int) { tick(count) { $0.call() } }
  func tickAsynchronously(_ count: Int) { tick(count) { latch in Task { await yieldAndCall(latch) } } }

  func pending(_ count: Int) -> Pending {
    let timers = (0..<count).map { _ in make(after: .seconds(hour)) {} }
    return Pending(
      move: {
        for timer in timers { timer.schedule(deadline: .now() + .seconds(hour)) }
        queue.sync {}
      }, end: { for timer in timers { timer.cancel() } })
  }

  func expire(_ delays: [Int]) {
    let latch = Latch(delays.count)
    let timers = delays.map { make(after: .microseconds($0)) { latch.call() } }
    latch.wait()
    for timer in timers { timer.cancel() }
  }
}

struct TaskWay: Way {
  let name = "Task.sleep"

  /// A sleep whose end is counted: it belongs to the sleep, also after a cancellation.
  private func sleep(for delay: Duration, _ latch: Latch) -> Task<Void, Never> {
    Task {
      try? await Task.sleep(for: delay)
      latch.call()
    }
  }

  private func wait(_ body: @escaping @Sendable () async -> Void) {
    let latch = Latch(1)
    Task {
      await body()
      latch.call()
    }
    latch.wait()
  }

  func makeAndCancel(_ count: Int) {
    for start in stride(from: 0, to: count, by: 100) {  // so many are under way at most
      let latch = Latch(min(100, count - start))
      for _ in start..<min(start + 100, count) { sleep(for: .seconds(hour), latch).cancel() }
      latch.wait()
    }
  }

  func tick(_ count: Int) {
    wait { for _ in 0..<count { try? await Task.sleep(for: .microseconds(interval)) } }
  }

  func tickAsynchronously(_ count: Int) {
    wait {
      for _ in 0..<count {
        try? await Task.sleep(for: .microseconds(interval))
        await Task.yield()
      }
    }
  }

  /// A sleep is not moved: it is cancelled, and another begins.
  func pending(_ count: Int) -> Pending {
    var ends = Latch(count)
    var sleeps = (0..<count).map { _ in sleep(for: .seconds(hour), ends) }
    func end() {
      for sleep in sleeps { sleep.cancel() }
      ends.wait()
    }
    return Pending(
      move: {
        let (old, next) = (ends, Latch(count))
        for index in sleeps.indices {
          sleeps[index].cancel()
          sleeps[index] = sleep(for: .seconds(hour), next)
        }
        old.wait()
        ends = next
      }, end: end)
  }

  func expire(_ delays: [Int]) {
    let latch = Latch(delays.count)
    for delay in delays { _ = sleep(for: .microseconds(delay), latch) }
    latch.wait()
  }
}

struct NIOWay: Way {
  let name = "SwiftNIO, on its loop"
  let loop: any EventLoop

  private func tick(_ count: Int, _ call: @escaping @Sendable (Latch) -> Void) throws {
    let latch = Latch(count)
    let delay = TimeAmount.microseconds(Int64(interval))
    let task = loop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in call(latch) }
    latch.wait()
    task.cancel()
  }

  func makeAndCancel(_ count: Int) throws {
    try loop.submit { [loop] in
      for _ in 0..<count { loop.scheduleTask(in: .seconds(Int64(hour))) {}.cancel() }
    }.wait()
  }

  func tick(_ count: Int) throws { try tick(count) { $0.call() } }
  func tickAsynchronously(_ count: Int) throws { try tick(count) { latch in Task { await yieldAndCall(latch) } } }

  /// A task is not moved: it is cancelled, and another scheduled.
  func pending(_ count: Int) throws -> Pending {
    let make: @Sendable () -> [Scheduled<Void>] = { [loop] in
      (0..<count).map { _ in loop.scheduleTask(in: .seconds(Int64(hour))) {} }
    }
    var tasks = try loop.submit(make).wait()
    let again: @Sendable ([Scheduled<Void>]) -> [Scheduled<Void>] = { [loop] old in
      old.map { task in
        task.cancel()
        return loop.scheduleTask(in: .seconds(Int64(hour))) {}
      }
    }
    return Pending(
      move: { tasks = try loop.submit { [tasks] in again(tasks) }.wait() },
      end: { for task in tasks { task.cancel() } })
  }

  func expire(_ delays: [Int]) throws {
    let latch = Latch(delays.count)
    try loop.submit { [loop] in
      for delay in delays { loop.scheduleTask(in: .microseconds(Int64(delay))) { latch.call() } }
    }.wait()
    latch.wait()
  }
}

/// The processor time of the process so far, in nanoseconds.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

/// What `body` takes.
func measure(_ body: () throws -> Void) rethrows -> (time: Double, allocations: Double) {
  let (time, allocations) = (processorTime(), allocation_count())
  try body()
  return (processorTime() - time, Double(allocation_count() - allocations))
}

func measureMoves(_ way: any Way, among timers: Int) throws -> (time: Double, allocations: Double) {
  let pending = try way.pending(timers)
  defer { pending.end() }
  return try measure(pending.move)
}

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let queue = try TimerQueue(label: "costs")
let ways: [any Way] = [
  ChimeWay(name: "Chime", queue: queue),
  ChimeWay(name: "Chime, 1 ms of leeway", queue: queue, leeway: .milliseconds(1)), DispatchWay(), TaskWay(),
  NIOWay(loop: group.next()),
]
let delays = (0..<count).map { _ in Int.random(in: 0..<window) }
let works: [(name: String, count: Int, measure: (any Way) throws -> (time: Double, allocations: Double))] = [
  ("made and cancelled", count, { way in try measure { try way.makeAndCancel(count) } }),
  ("a tick", ticks, { way in try measure { try way.tick(ticks) } }),
  ("an asynchronous handler's tick", ticks, { way in try measure { try way.tickAsynchronously(ticks) } }),
  ("a move of one of \(sessions)", sessions, { try measureMoves($0, among: sessions) }),
  ("a one-shot within 200 ms", count, { way in try measure { try way.expire(delays) } }),
]
print("| | " + works.map(\.name).joined(separator: " | ") + " |")
print("| --- |" + String(repeating: " ---: |", count: works.count))
var cells: [[(time: Double, allocations: Double)]] = ways.map { _ in works.map { _ in (.infinity, .infinity) } }
for _ in 0..<rounds {
  for (column, work) in works.enumerated() {
    for (row, way) in ways.enumerated() {
      let taken = try work.measure(way)
      cells[row][column].time = min(cells[row][column].time, taken.time / Double(work.count))
      cells[row][column].allocations = min(cells[row][column].allocations, taken.allocations / Double(work.count))
    }
  }
}
for (way, row) in zip(ways, cells) {
  let words = row.map { "\(Int($0.time.rounded())) ns, \(String(format: "%.1f", $0.allocations))" }
  print("| \(way.name) | " + words.joined(separator: " | ") + " |")
}
try group.syncShutdownGracefully()

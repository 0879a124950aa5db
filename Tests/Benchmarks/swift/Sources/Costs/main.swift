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
let (hour, interval) = (3600, 50)  // seconds, microseconds

/// Lets the thread that waits go on once so many calls have come.
final class Latch: Sendable {
  private let left: Atomic<Int>
  private let done = DispatchSemaphore(value: 0)
  init(_ count: Int) { left = Atomic(count) }
  func call() { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() } }
  func wait() { done.wait() }
}

/// One way to have timers; each function does its work so often.
protocol Way {
  var name: String { get }
  func makeAndCancel(_ count: Int) throws
  func tick(_ count: Int) throws
  func tickAsynchronously(_ count: Int) throws
  func move(_ count: Int) throws
}

struct ChimeWay: Way {
  let name = "Chime"
  let queue: TimerQueue

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
    let timer = try queue.schedule(
      every: .microseconds(interval),
      task: { _ in
        await Task.yield()
        latch.call()
      })
    latch.wait()
    timer.cancel()
  }

  func move(_ count: Int) throws {
    let timer = try queue.schedule(after: .seconds(hour)) { _ in }
    for _ in 0..<count { try timer.postpone(by: .seconds(hour)) }
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

  func makeAndCancel(_ count: Int) {
    for _ in 0..<count { make(after: .seconds(hour)) {}.cancel() }
    queue.sync {}
  }

  func tick(_ count: Int) {
    let latch = Latch(count)
    let timer = make(after: .microseconds(interval), every: .microseconds(interval)) { latch.call() }
    latch.wait()
    timer.cancel()
  }

  func tickAsynchronously(_ count: Int) {
    let latch = Latch(count)
    let timer = make(after: .microseconds(interval), every: .microseconds(interval)) {
      Task {
        await Task.yield()
        latch.call()
      }
    }
    latch.wait()
    timer.cancel()
  }

  func move(_ count: Int) {
    let timer = make(after: .seconds(hour)) {}
    for _ in 0..<count { timer.schedule(deadline: .now() + .seconds(hour)) }
    queue.sync {}
    timer.cancel()
  }
}

struct TaskWay: Way {
  let name = "Task.sleep"

  func makeAndCancel(_ count: Int) {
    // The end of a cancelled sleep belongs to it: so many are under way at most.
    for start in stride(from: 0, to: count, by: 100) {
      let latch = Latch(min(100, count - start))
      for _ in start..<min(start + 100, count) {
        Task {
          try? await Task.sleep(for: .seconds(hour))
          latch.call()
        }.cancel()
      }
      latch.wait()
    }
  }

  func tick(_ count: Int) {
    let latch = Latch(1)
    Task {
      for _ in 0..<count { try? await Task.sleep(for: .microseconds(interval)) }
      latch.call()
    }
    latch.wait()
  }

  func tickAsynchronously(_ count: Int) {
    let latch = Latch(1)
    Task {
      for _ in 0..<count {
        try? await Task.sleep(for: .microseconds(interval))
        await Task.yield()
      }
      latch.call()
    }
    latch.wait()
  }

  /// A sleep is not moved: it is cancelled, and another begins.
  func move(_ count: Int) { makeAndCancel(count) }
}

struct NIOWay: Way {
  let name = "SwiftNIO, on its loop"
  let loop: any EventLoop

  func makeAndCancel(_ count: Int) throws {
    try loop.submit { [loop] in
      for _ in 0..<count { loop.scheduleTask(in: .seconds(Int64(hour))) {}.cancel() }
    }.wait()
  }

  private func tick(_ count: Int, _ call: @escaping @Sendable (Latch) -> Void) throws {
    let latch = Latch(count)
    let delay = TimeAmount.microseconds(Int64(interval))
    let task = loop.scheduleRepeatedTask(initialDelay: delay, delay: delay) { _ in call(latch) }
    latch.wait()
    task.cancel()
  }

  func tick(_ count: Int) throws { try tick(count) { $0.call() } }

  func tickAsynchronously(_ count: Int) throws {
    try tick(count) { latch in
      Task {
        await Task.yield()
        latch.call()
      }
    }
  }

  /// A task is not moved: it is cancelled, and another scheduled.
  func move(_ count: Int) throws { try makeAndCancel(count) }
}

/// The processor time of the process so far, in nanoseconds.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) * 1e9 + Double(time.tv_nsec)
}

let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let ways: [any Way] = [
  ChimeWay(queue: try TimerQueue(label: "costs")), DispatchWay(), TaskWay(), NIOWay(loop: group.next()),
]
let works: [(name: String, count: Int, body: (any Way, Int) throws -> Void)] = [
  ("made and cancelled", count, { try $0.makeAndCancel($1) }), ("a tick", ticks, { try $0.tick($1) }),
  ("an asynchronous handler's tick", ticks, { try $0.tickAsynchronously($1) }), ("a move", count, { try $0.move($1) }),
]
print("| | " + works.map(\.name).joined(separator: " | ") + " |")
print("| --- |" + String(repeating: " ---: |", count: works.count))
var cells: [[(time: Double, allocations: Double)]] = ways.map { _ in works.map { _ in (.infinity, .infinity) } }
for _ in 0..<rounds {
  for (column, work) in works.enumerated() {
    for (row, way) in ways.enumerated() {
      let (time, allocations) = (processorTime(), allocation_count())
      try work.body(way, work.count)
      let taken = ((processorTime() - time) / Double(work.count), Double(allocation_count() - allocations))
      cells[row][column].time = min(cells[row][column].time, taken.0)
      cells[row][column].allocations = min(cells[row][column].allocations, taken.1 / Double(work.count))
    }
  }
}
for (way, row) in zip(ways, cells) {
  let words = row.map { "\(Int($0.time.rounded())) ns, \(String(format: "%.1f", $0.allocations))" }
  print("| \(way.name) | " + words.joined(separator: " | ") + " |")
}
try group.syncShutdownGracefully()

import Chime
import Dispatch
import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A way to have a closure called later, as a Swift program writes it.
protocol Peer {
  var name: String { get }
  /// Makes a timer that is due in an hour, and ends it, again and again.
  func makeAndCancel(_ count: Int) throws
  /// Arms so many one-shots, one for each delay in nanoseconds, and returns when all have been called.
  func expire(_ delays: [Int]) throws
}

/// Lets the thread that waits go on once so many calls have come.
final class Latch: Sendable {
  private let left: Atomic<Int>
  private let done = DispatchSemaphore(value: 0)
  init(_ count: Int) { left = Atomic(count) }
  func call() { if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { done.signal() } }
  func wait() { done.wait() }
  var isOver: Bool { left.load(ordering: .acquiring) <= 0 }
}

struct ChimePeer: Peer {
  let name: String
  let queue: TimerQueue
  let leeway: Duration

  init(_ name: String, leeway: Duration = .zero, _ queue: TimerQueue) {
    self.name = name
    self.leeway = leeway
    self.queue = queue
  }

  func makeAndCancel(_ count: Int) throws {
    for _ in 0..<count {
      let timer = try queue.schedule(after: .seconds(3600)) { _ in }
      timer.cancel()
    }
  }

  func expire(_ delays: [Int]) throws {
    let countdown = Latch(delays.count)
    let timers = try delays.map { delay in
      try queue.schedule(after: .nanoseconds(delay), leeway: leeway) { _ in countdown.call() }
    }
    countdown.wait()
    withExtendedLifetime(timers) {}
  }
}

struct DispatchPeer: Peer {
  let name = "DispatchSource"
  let queue = DispatchQueue(label: "DispatchSource")

  private func timer(_ delay: Int, _ call: @escaping @Sendable () -> Void) -> any DispatchSourceTimer {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(deadline: .now() + .nanoseconds(delay))
    timer.setEventHandler(handler: call)
    timer.resume()
    return timer
  }

  func makeAndCancel(_ count: Int) {
    for _ in 0..<count { timer(3_600_000_000_000) {}.cancel() }
  }

  func expire(_ delays: [Int]) {
    let countdown = Latch(delays.count)
    let timers = delays.map { timer($0) { countdown.call() } }
    countdown.wait()
    for timer in timers { timer.cancel() }
  }
}

struct NIOPeer: Peer {
  let name: String
  let loop: any EventLoop
  let isOnLoop: Bool

  private func inside(_ body: @escaping @Sendable () -> Void) throws {
    if isOnLoop { try loop.submit(body).wait() } else { body() }
  }

  func makeAndCancel(_ count: Int) throws {
    try inside { [loop] in
      for _ in 0..<count { loop.scheduleTask(in: .hours(1)) {}.cancel() }
    }
  }

  func expire(_ delays: [Int]) throws {
    let countdown = Latch(delays.count)
    try inside { [loop] in
      for delay in delays { loop.scheduleTask(in: .nanoseconds(Int64(delay))) { countdown.call() } }
    }
    countdown.wait()
  }
}

struct TaskPeer: Peer {
  let name = "Task.sleep"

  func makeAndCancel(_ count: Int) {
    // The end of a cancelled sleep belongs to it: so many are under way at most.
    for start in stride(from: 0, to: count, by: 100) {
      let countdown = Latch(min(100, count - start))
      for _ in start..<min(start + 100, count) {
        Task {
          try? await Task.sleep(for: .seconds(3600))
          countdown.call()
        }.cancel()
      }
      countdown.wait()
    }
  }

  func expire(_ delays: [Int]) {
    let countdown = Latch(delays.count)
    for delay in delays {
      Task {
        try? await Task.sleep(for: .nanoseconds(delay))
        countdown.call()
      }
    }
    countdown.wait()
  }
}

struct FoundationPeer: Peer {
  let name = "Foundation.Timer"

  func makeAndCancel(_ count: Int) {
    for _ in 0..<count {
      let timer = Timer(timeInterval: 3600, repeats: false) { _ in }
      RunLoop.current.add(timer, forMode: .default)
      timer.invalidate()
    }
  }

  func expire(_ delays: [Int]) {
    let countdown = Latch(delays.count)
    for delay in delays {
      let timer = Timer(timeInterval: Double(delay) / 1e9, repeats: false) { _ in countdown.call() }
      RunLoop.current.add(timer, forMode: .default)
    }
    // A run returns after each timer's call; timers that have fired stay in the loop on Linux, so it never ends by itself.
    while !countdown.isOver { _ = RunLoop.current.run(mode: .default, before: Date(timeIntervalSinceNow: 0.05)) }
  }
}

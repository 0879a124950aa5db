import Chime

/// What a handler keeps for itself: an ordinary class, which is not Sendable.
final class MovingAverage {
  private var samples: [Int] = []
  func add(_ sample: Int) -> Int {
    samples = Array((samples + [sample]).suffix(4))
    return samples.reduce(0, +) / samples.count
  }
}

/// A plain class, which is not Sendable, with a queue and timers of its own.
final class Sampler {
  private let queue: TimerQueue
  private var timer: ChimeTimer?

  init(on queue: TimerQueue) { self.queue = queue }

  /// Averages of what `source` gives, once for each millisecond.
  func start(_ source: sending @escaping () -> Int) throws -> AsyncStream<Int> {
    let (averages, continuation) = AsyncStream<Int>.makeStream()
    let average = MovingAverage()
    var count = 0
    timer = try queue.every(.milliseconds(1)) { _ in
      // The handler is sent to the queue with what it captured; its calls never overlap.
      count += 1
      continuation.yield(average.add(source() * count))
    }
    return averages
  }

  func stop() throws { try timer?.cancelAndWait() }
}

extension Checks {
  static func classes() async throws {
    let sampler = Sampler(on: try TimerQueue())
    var averages: [Int] = []
    for await average in try sampler.start({ 10 }) {
      averages.append(average)
      if averages.count == 5 { break }
    }
    expect(averages == [10, 15, 20, 25, 35], "averages of what the handler counted: \(averages)")
    try sampler.stop()

    let queue = try TimerQueue()
    let late: String = await withCheckedContinuation { continuation in
      do {
        try queue.once(after: .milliseconds(1)) { continuation.resume(returning: "late") }
      } catch {
        continuation.resume(returning: "\(error)")
      }
    }
    expect(late == "late", "fire and forget: \(late)")
  }
}

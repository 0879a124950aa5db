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

/// Calls its action when nobody has called for a while. A struct: its copies share the one timer.
struct Debouncer {
  private let timer: ChimeTimer
  private let delay: Duration

  init(delay: Duration, on queue: TimerQueue, action: sending @escaping () -> Void) throws {
    self.delay = delay
    timer = try queue.makeTimer { _ in action() }
  }

  func call() throws {
    // The usual case is one compare-and-swap; not running, it is started.
    if try timer.postpone(by: delay) == .ignored { try timer.restart(.once(after: delay)) }
  }
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

    let queue = try VirtualTimerQueue()
    let (searches, continuation) = AsyncStream<Int64>.makeStream()
    let debouncer = try Debouncer(delay: .milliseconds(300), on: queue) { [unowned queue] in
      continuation.yield(queue.now / 1_000_000)
    }
    for _ in 0..<5 {
      try debouncer.call()
      try queue.advance(by: .milliseconds(200))
    }
    try queue.advance(by: .seconds(1))
    try debouncer.call()
    try queue.advance(by: .seconds(1))
    continuation.finish()
    var times: [Int64] = []
    for await time in searches { times.append(time) }
    expect(times == [1100, 2300], "one search for each burst: \(times)")
  }

  static func oneShotsAndValues() async throws {
    let queue = try TimerQueue()
    let late: String = await withCheckedContinuation { continuation in
      do {
        try queue.once(after: .milliseconds(1)) { continuation.resume(returning: "late") }
      } catch {
        continuation.resume(returning: "\(error)")
      }
    }
    expect(late == "late", "fire and forget: \(late)")

    let time = try VirtualTimerQueue()
    var cache: [String: TimeLimited<Int>] = [:]
    cache["a"] = try TimeLimited(1, lifetime: .seconds(10), on: time)
    cache["b"] = try TimeLimited(2, lifetime: .seconds(20), on: time)
    try time.advance(by: .seconds(9))
    expect(cache["a"]?.value == 1 && cache["b"]?.value == 2, "both are there")
    try cache["a"]?.resetTimer(interval: .seconds(30))
    try time.advance(by: .seconds(11))
    expect(cache["a"]?.value == 1 && cache["b"]?.value == nil, "one has expired")
    cache = cache.filter { $0.value.value != nil }
    expect(cache.count == 1, "and is swept out")
  }
}

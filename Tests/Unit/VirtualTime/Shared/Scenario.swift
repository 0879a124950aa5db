import Chime

/// One test: what it does, and what it must see.
struct Scenario: Sendable {
  let name: String
  let expected: [String]
  let run: @Sendable () async throws -> [String]

  init(name: String, expected: [String], run: @escaping @Sendable () async throws -> [String]) {
    (self.name, self.expected, self.run) = (name, expected, run)
  }

  /// On a virtual queue of its own.
  init(
    name: String, expected: [String],
    run: @escaping @Sendable (VirtualTimerQueue, TimerQueueClock, Log) async throws -> [String]
  ) {
    self.init(name: name, expected: expected) {
      let queue = try VirtualTimerQueue()
      return try await run(queue, queue.clock, Log())
    }
  }
}

/// What tasks have seen, in order.
final class Log: Sendable {
  private let lines = Guarded<[String]>([])
  func add(_ line: String) { lines.withLock { $0.append(line) } }
  var all: [String] { lines.withLock { $0 } }
  /// For what happens at one instant in no order.
  var sorted: [String] { all.sorted() }
}

extension TimerInstant {
  var milliseconds: Int64 { nanoseconds / 1_000_000 }
}

import Chime
import Foundation

/// What a shape of code is to show, and whether it did.
@MainActor enum Checks {
  private(set) static var failures = 0

  static func expect(_ condition: Bool, _ what: String, line: Int = #line, file: String = #fileID) {
    if condition { return }
    failures += 1
    print("FAILED: \(file):\(line): \(what)")
  }

  /// Waits in real time, with patience, and lets others onto the main actor meanwhile.
  static func soon(_ isOver: () async -> Bool) async -> Bool {
    let end = Date(timeIntervalSinceNow: 30)
    while await !isOver() {
      if Date() > end { return false }
      try? await Task.sleep(for: .milliseconds(1))
    }
    return true
  }

  /// Returns when a queue of its own has ticked five times: what was to come before has come.
  static func othersHaveTicked() async throws {
    let queue = try TimerQueue()
    for await tick in try queue.ticks(every: .milliseconds(2)) where tick.sequence >= 5 { return }
  }
}

import ChimeCore
import ChimeTestSupport
import Dispatch
import Testing

@testable import Chime

/// Waits of tasks beyond those that have a thread.
@Suite struct BlockingTests {
  /// Keeps every thread of one id, until the semaphore says so for each.
  private func holdThreads(_ id: UInt64, _ gate: DispatchSemaphore) async -> [Task<Void, any Error>] {
    let begun = Counter()
    let tasks = (0..<8).map { _ in
      Task {
        _ = try await Blocking.run(for: id, timeout: .max) { _ in
          begun.add()
          gate.wait()
          return .ok
        }
      }
    }
    #expect(await soon { begun.value == 8 })
    return tasks
  }

  @Test func waitsWithoutAThreadHaveTheirTurnsInOrder() async throws {
    let (gate, id, log) = (DispatchSemaphore(value: 0), UInt64.max - 1, Log<Int>())
    let tasks = await holdThreads(id, gate)
    let queued = (0..<50).map { number in
      Task.immediate {
        _ = try await Blocking.run(for: id, timeout: .max) { _ in
          log.add(number)
          return .ok
        }
      }
    }
    queued[7].cancel()
    await #expect(throws: CancellationError.self) { try await queued[7].value }
    gate.signal()
    for (number, task) in queued.enumerated() where number != 7 { try await task.value }
    #expect(log.all == (0..<50).filter { $0 != 7 })
    for _ in 1..<8 { gate.signal() }
    for task in tasks { try await task.value }
  }

  @Test func aWaitThatGivesWayIsLetGoOf() async throws {
    let (gate, id, alive) = (DispatchSemaphore(value: 0), UInt64.max - 2, Counter())
    let tasks = await holdThreads(id, gate)
    for timeout in [.max, 3_600_000_000_000] as [Int64] {
      let capture: @Sendable () -> Void = capturing(alive)
      let queued = Task.immediate {
        _ = try await Blocking.run(for: id, timeout: timeout) { _ in
          capture()
          return .ok
        }
      }
      queued.cancel()
      await #expect(throws: CancellationError.self) { try await queued.value }
    }
    #expect(await soon { alive.value == 0 })
    for _ in 0..<8 { gate.signal() }
    for task in tasks { try await task.value }
  }
}

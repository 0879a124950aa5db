import Chime

protocol Service: Sendable {
  func isUp(attempt: Int) async -> Bool
}

struct SlowStarter: Service {
  func isUp(attempt: Int) async -> Bool { attempt == 4 }
}

/// Retries with a pause between. Which clock it sleeps by is the caller's choice.
struct Retrier<C: Clock> where C.Duration == Duration {
  let clock: C

  func wait(for service: some Service, attempts: Int, every pause: Duration) async throws -> Bool {
    for number in 1...attempts {
      if await service.isUp(attempt: number) { return true }
      try await clock.sleep(until: clock.now.advanced(by: pause), tolerance: nil)
    }
    return false
  }
}

extension Checks {
  static func tasks() async throws {
    // A minute of retries, without waiting for it.
    let time = try VirtualTimerQueue()
    let retrier = Retrier(clock: TimerQueueClock(time))
    let retrying = Task { try await retrier.wait(for: SlowStarter(), attempts: 5, every: .seconds(20)) }
    for _ in 0..<3 {
      expect(await soon { time.nextDeadline != nil }, "it sleeps")
      try time.advance(by: .seconds(20))
    }
    expect(try await retrying.value, "the fourth attempt")
    expect(time.now == 60_000_000_000, "after a minute")
  }
}

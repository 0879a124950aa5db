import Chime

/// What is written in the same way in a package whose code is the main actor's unless it says otherwise, and in any other.
/// Compiled as both; nothing of it is run.
enum Surface {
  static func generic<Queue: AnyTimerQueue>(_ queue: Queue) throws -> ChimeTimer {
    try queue.schedule(every: .seconds(1)) { _ in print("tick") }
  }

  static func errors(_ queue: TimerQueue) -> String {
    do {
      _ = try generic(queue)
      return "made"
    } catch ChimeError.shutDown {
      return "ended"
    } catch {
      return "\(error)"
    }
  }

  static func kind(of error: ChimeError) -> String {
    switch error {
    case .limit, .noMemory: "none left"
    default: error.description
    }
  }

  static func handlers(_ queue: TimerQueue) throws -> ChimeTimer {
    try queue.makeTimer(handlers: {
      var count = 0
      return .init(registration: { count = 0 }, cancel: { print(count) }) { _ in count += 1 }
    })
  }

  static func outcomes(_ timer: some TimerProtocol) -> String {
    switch timer.cancel() {
    case .done, .timedOut: "taken back"
    case .running: "taken back, and a handler runs"
    case .ignored: "too late"
    case .ignoredRunning: "too late, and a handler runs"
    }
  }

  static func references(_ timer: ChimeTimer) throws -> [ChimeTimer.Reference: String] {
    let reference = timer.reference
    reference.isInBackground = true
    try reference.restart(after: .seconds(1))
    Task { try await reference.cancelAndWait() }
    return [reference: outcomes(timer) + outcomes(reference)]
  }

  static func instants(_ queue: TimerQueue) throws -> ChimeTimer {
    var deadline = queue.now + .seconds(1)
    deadline += .seconds(1)
    deadline -= .milliseconds(1)
    return try queue.schedule(at: deadline) { tick in tick.timer.invalidate() }
  }

  static func deadlines(_ queue: TimerQueue) async throws -> Int {
    try await queue.withTimeout(.seconds(1), tolerance: .milliseconds(10)) {
      try await queue.withDeadline(queue.now + .seconds(1)) { 1 }
    }
  }
}

@MainActor final class SurfaceModel {
  private(set) var count = 0
  private var (timer, saving): (ChimeTimer?, TriggeredAction?)

  func start(on queue: TimerQueue, _ main: MainTimerQueue) throws {
    timer = try queue.scheduleTask(.every(.seconds(1))) { [weak self] _ in self?.count += 1 }
    timer = try main.schedule(every: .seconds(1)) { [weak self] _ in self?.count += 1 }
    saving = try TriggeredAction(.throttle(.seconds(1)), on: queue, task: { [weak self] in self?.count += 1 })
    saving = try TriggeredAction(.throttle(.seconds(1)), on: main) { [weak self] in self?.count += 1 }
  }

  func stop(_ queue: TimerQueue) async throws {
    try await timer?.cancelAndWait()
    try await queue.shutdown()
  }
}

actor SurfaceStore {
  private let saving: TriggeredAction
  private var timer: ChimeTimer?
  private var count = 0

  init(on queue: TimerQueue) throws {
    saving = try TriggeredAction(.throttle(.seconds(1)), on: queue)
    saving.setAction(on: self) { store in store.count += 1 }
  }

  func start(on queue: TimerQueue) throws {
    timer = try queue.scheduleTask(.every(.seconds(1))) { _ in self.count += 1 }
  }
}

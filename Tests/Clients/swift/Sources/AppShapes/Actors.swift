import Chime

/// An actor on a timer queue of its own: handlers are on the actor already, and reach its state without waiting.
actor Heartbeat {
  private let queue: SerialTimerQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private(set) var beats = 0
  private var timer: ChimeTimer?

  init() throws { queue = try SerialTimerQueue(label: "heartbeat") }

  func start() throws {
    timer = try queue.every(.milliseconds(1)) { [weak self] _ in
      self?.assumeIsolated { me in me.beats += 1 }
    }
  }

  /// After this no handler changes the state: handlers and the actor exclude each other.
  func stop() throws -> Int {
    try timer?.cancel()
    return beats
  }
}

/// An actor on the main dispatch queue, where the main actor is, too; with the target form.
actor Menu {
  private let queue: SerialTimerQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private(set) var blinks = 0
  private var timer: ChimeTimer?

  init() throws { queue = try SerialTimerQueue(on: .main) }

  func blink() throws {
    timer = try queue.every(.milliseconds(1), target: self) { me, _ in me.assumeIsolated { $0.blinks += 1 } }
  }
}

extension Checks {
  static func actors() async throws {
    let heartbeat = try Heartbeat()
    try await heartbeat.start()
    expect(await soon { await heartbeat.beats >= 3 }, "the heart beats")
    let beats = try await heartbeat.stop()
    try await othersHaveTicked()
    expect(await heartbeat.beats == beats, "a stopped heart does not")

    let menu = try Menu()
    try await menu.blink()
    expect(await soon { await menu.blinks >= 3 }, "the menu blinks")
  }
}

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

/// The same with the target form.
actor Poller {
  private let queue: SerialTimerQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }

  private(set) var rounds: [UInt64] = []
  private var timer: ChimeTimer?

  init() throws { queue = try SerialTimerQueue() }

  func start() throws {
    timer = try queue.every(.milliseconds(1), target: self) { me, tick in
      me.assumeIsolated { $0.rounds.append(tick.sequence) }
    }
  }
}

/// An actor on the main dispatch queue, where the main actor is, too.
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

    var poller: Poller? = try Poller()
    try await poller?.start()
    expect(await soon { await (poller?.rounds.count ?? 0) >= 3 }, "the poller polls")
    let rounds = await poller?.rounds ?? []
    expect(rounds == Array(1...UInt64(rounds.count)), "each tick once, in order: \(rounds)")
    weak let gone = poller
    poller = nil
    expect(await soon { gone == nil }, "its timer does not keep it")

    let menu = try Menu()
    try await menu.blink()
    expect(await soon { await menu.blinks >= 3 }, "the menu blinks")
  }
}

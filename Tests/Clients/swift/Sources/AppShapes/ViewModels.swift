import Chime

/// A view model on the main actor: the handlers of its timers are on the main actor, too, and change what is its own.
@MainActor final class StopwatchModel {
  private(set) var elapsed = 0
  private(set) var isSaved = false
  private let queue: MainTimerQueue
  private var timer: ChimeTimer?
  private var autosave: ChimeTimer?

  init(_ queue: MainTimerQueue) { self.queue = queue }

  func start() throws {
    // self is held weakly, for the length of each call only.
    timer = try queue.every(.milliseconds(1), leeway: .microseconds(100), target: self) { me, tick in
      me.elapsed += 1 + Int(tick.missed)
    }
    autosave = try queue.after(.milliseconds(2), target: self) { me, _ in me.isSaved = true }
  }

  func pause() throws { try timer?.suspend() }
  func resume() throws { try timer?.resume() }
}

/// A label that counts down.
@MainActor final class CountdownModel {
  private(set) var label = "3"
  private var countdown: Countdown?

  func start(on queue: MainTimerQueue) throws {
    countdown = try Countdown(from: .milliseconds(3), every: .milliseconds(1), on: queue) { [weak self] left in
      self?.label = "\(Int(left / .milliseconds(1)))"
    }
  }

  var hasEnded: Bool { countdown?.hasEnded ?? true }
}

extension Checks {
  static func viewModels() async throws {
    let queue = try MainTimerQueue(label: "view models")

    var stopwatch: StopwatchModel? = StopwatchModel(queue)
    try stopwatch?.start()
    expect(await soon { (stopwatch?.elapsed ?? 0) >= 5 && stopwatch?.isSaved == true }, "the stopwatch runs")
    try stopwatch?.pause()
    let before = stopwatch?.elapsed
    try await othersHaveTicked()
    expect(stopwatch?.elapsed == before, "a paused stopwatch stands")
    try stopwatch?.resume()
    expect(await soon { (stopwatch?.elapsed ?? 0) > (before ?? 0) }, "it goes on")
    weak let model = stopwatch
    stopwatch = nil
    expect(model == nil, "its timers do not keep it")

    let countdown = CountdownModel()
    try countdown.start(on: queue)
    expect(await soon { countdown.label == "0" }, "the label counts down to zero")
    expect(countdown.hasEnded, "the countdown has ended")

    // Code on the main actor stands on the main queue, and does not wait for it.
    expect(try queue.queue.shutdown() == .done, "the queue ends")
  }
}

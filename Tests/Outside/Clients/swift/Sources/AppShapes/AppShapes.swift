import Chime
import ChimeDiagnostics
import Foundation

/// The usual shapes of app code, compiled as an app compiles them: in Swift 6 language mode, with the public interface,
/// and without a word that switches a check of the compiler off. Its `main` is async. Other shapes, such as a countdown
/// or code that sleeps, are programs of the documentation, which are compiled and run in the same way.
@main struct AppShapes {
  @MainActor static func main() async throws {
    try await viewModel()
    try await actors()
    try await classes()
    try limits()
    print("all shapes of app code work; main is async")
  }
}

// MARK: A view model

/// On the main actor: the handlers of its timers are on the main actor, too, and change what is its own.
@MainActor final class StopwatchModel {
  private(set) var elapsed = 0
  private let queue: MainTimerQueue
  private var timer: ChimeTimer?

  init(_ queue: MainTimerQueue) { self.queue = queue }

  func start() throws {
    // self is held weakly, for the length of each call only.
    timer = try queue.schedule(.every(.milliseconds(1), leeway: .microseconds(100)), target: self) { me, tick in
      me.elapsed += 1 + Int(tick.missed)
    }
  }

  func pause() { timer?.suspend() }
  func resume() { timer?.resume() }
}

@MainActor func viewModel() async throws {
  let queue = try MainTimerQueue(label: "view models")
  var stopwatch: StopwatchModel? = StopwatchModel(queue)
  try stopwatch?.start()
  await expect("the stopwatch runs") { (stopwatch?.elapsed ?? 0) >= 5 }
  stopwatch?.pause()
  let before = stopwatch?.elapsed ?? 0
  try await othersHaveTicked()
  precondition(stopwatch?.elapsed == before, "a paused stopwatch stands")
  stopwatch?.resume()
  await expect("it goes on") { (stopwatch?.elapsed ?? 0) > before }
  weak let model = stopwatch
  stopwatch = nil
  precondition(model == nil, "its timers do not keep it")
  // Code on the main actor stands on the main queue, and does not wait for it.
  let ended = try await queue.shutdown()
  precondition(ended == .done)
}

// MARK: Actors

/// On a timer queue: its handlers are on the actor already, and reach its state without waiting.
actor Heartbeat {
  private let queue: SerialTimerQueue
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

  private(set) var beats = 0
  private var timer: ChimeTimer?

  init(on queue: SerialTimerQueue) { self.queue = queue }

  func start() throws {
    timer = try queue.schedule(every: .milliseconds(1)) { [weak self] _ in
      self?.assumeIsolated { me in me.beats += 1 }
    }
  }

  /// After this no handler changes the state: handlers and the actor exclude each other.
  func stop() -> Int {
    timer?.cancel()
    return beats
  }
}

/// On a queue of the actor's own, and on the main dispatch queue, where the main actor is, too.
@MainActor func actors() async throws {
  for queue in [try SerialTimerQueue(label: "heartbeat"), try SerialTimerQueue(dispatchQueue: .main)] {
    let heartbeat = Heartbeat(on: queue)
    try await heartbeat.start()
    await expect("the heart beats") { await heartbeat.beats >= 3 }
    let beats = await heartbeat.stop()
    try await othersHaveTicked()
    let later = await heartbeat.beats
    precondition(later == beats, "a stopped heart does not")
  }
}

// MARK: Classes that are not Sendable

/// What a handler keeps for itself.
final class Total { var value = 0 }

/// Has a queue and a timer of its own.
final class Sampler {
  private let queue: TimerQueue
  private var timer: ChimeTimer?

  init(on queue: TimerQueue) { self.queue = queue }

  /// Sums of what `source` gives, once for each millisecond.
  func start(_ source: sending @escaping () -> Int) throws -> AsyncStream<Int> {
    let (sums, continuation) = AsyncStream<Int>.makeStream()
    let total = Total()
    var count = 0
    timer = try queue.schedule(every: .milliseconds(1)) { _ in
      // The handler is sent to the queue with what it captured; its calls never overlap.
      count += 1
      total.value += source() * count
      continuation.yield(total.value)
    }
    return sums
  }

  func stop() throws { try timer?.blockingCancelAndWait() }
}

@MainActor func classes() async throws {
  let sampler = Sampler(on: try TimerQueue())
  var sums: [Int] = []
  for await sum in try sampler.start({ 10 }).prefix(4) { sums.append(sum) }
  precondition(sums == [10, 30, 60, 100], "sums of what the handler counted: \(sums)")
  try sampler.stop()
}

// MARK: A limit of memory

@MainActor func limits() throws {
  let queue = try VirtualTimerQueue(label: "limited")
  var timers = [try queue.schedule(after: .seconds(1)) { _ in }]
  let held = ChimeDiagnostics.memoryUsed
  precondition(held > 0, "pages of timers are held")
  ChimeDiagnostics.limitMemory(to: held)
  do {
    for _ in 0..<100_000 { timers.append(try queue.schedule(after: .seconds(1)) { _ in }) }
    preconditionFailure("100,000 timers need pages")
  } catch {
    precondition((error as? ChimeError) == .limit, "the limit is what refuses: \(error)")
  }
  precondition(ChimeDiagnostics.memoryUsed == held, "nothing more is held")
  ChimeDiagnostics.limitMemory(to: nil)
  timers.append(try queue.schedule(after: .seconds(1)) { _ in })
  try queue.advanceTimers(by: .seconds(1))
  precondition(timers.allSatisfy { $0.state == .finished }, "the timers that there are tick")
}

// MARK: Checks

/// Waits in real time, with patience, and lets others onto the main actor meanwhile.
@MainActor func expect(_ what: String, _ isSo: () async -> Bool) async {
  let end = Date(timeIntervalSinceNow: 30)
  while await !isSo() {
    precondition(Date() < end, what)
    try? await Task.sleep(for: .milliseconds(1))
  }
}

/// Returns when a queue of its own has ticked five times: what was to come before has come.
@MainActor func othersHaveTicked() async throws {
  let queue = try TimerQueue()
  for await tick in try queue.ticks(.every(.milliseconds(2))) where tick.sequence >= 5 { return }
}

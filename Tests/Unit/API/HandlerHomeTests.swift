import Chime
import ChimeTestSupport
import Foundation
import Testing

/// Handlers that are promised an actor: they run on it, or are dropped with all that they hold, wherever their timer or their
/// queue ends.
@Suite(.serialized) struct HandlerHomeTests {
  let log = Log<String>()

  private final class Held: Sendable {}

  @MainActor private func makeTimer(on queue: MainTimerQueue, _ held: Held = Held()) throws -> ChimeTimer {
    let timer = try queue.makeTimer(
      registrationHandler: { [log] in
        MainActor.assertIsolated()
        log.add("start")
      },
      cancelHandler: { [log] in
        MainActor.assertIsolated()
        withExtendedLifetime(held) { log.add("end") }
      }
    ) { _ in }
    try timer.restart(.every(.seconds(1)))
    return timer
  }

  /// Its last reference.
  private final class Holder: @unchecked Sendable {
    var timer: ChimeTimer?
    init(_ timer: ChimeTimer) { self.timer = timer }
  }

  @Test @MainActor func aTimerDroppedOnAnotherThreadEndsOnTheMainActor() async throws {
    let queue = try MainTimerQueue(virtual: .zero)
    let holder = Holder(try makeTimer(on: queue))
    onNewThreads { _ in holder.timer = nil }
    #expect(log.all == [])
    try await queue.advance(by: .zero)
    #expect(log.all == ["end"])
    let other = Holder(try makeTimer(on: queue))
    try await queue.advance(by: .seconds(1))
    other.timer = nil
    #expect(log.all == ["end", "start", "end"])
  }

  /// In real time, too, while the main thread waits for the very thread that ends the queue.
  @Test(arguments: [false, true]) @MainActor
  func aShutdownOnAnotherThreadDropsWhatBelongsToTheMainActor(_ isVirtual: Bool) throws {
    let queue = try isVirtual ? MainTimerQueue(virtual: .zero) : MainTimerQueue()
    weak var left: Held?
    do {
      let held = Held()
      left = held
      let holder = Holder(try makeTimer(on: queue, held))
      onNewThreads { _ in
        #expect(throws: Never.self) { try queue.blockingShutdown(timeout: .milliseconds(20)) }
        holder.timer = nil
      }
    }
    #expect(log.all == [] && left == nil)
  }

  private actor Player {
    let queue: SerialTimerQueue
    let log: Log<String>
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    init(_ queue: SerialTimerQueue, _ log: Log<String>) {
      self.queue = queue
      self.log = log
    }

    func play() throws -> ChimeTimer {
      let timer = try queue.makeTimer(
        handlers: {
          .init(
            registration: { self.assumeIsolated { $0.log.add("start") } },
            cancel: { self.assumeIsolated { $0.log.add("end") } }
          ) { _ in }
        })
      try timer.restart(.every(.seconds(1)))
      return timer
    }

    func end() throws { try queue.blockingShutdown() }
  }

  @Test func aTimerDroppedOnAnotherThreadOrEndedWithItsQueueEndsOnItsActor() async throws {
    let queue = try SerialTimerQueue(virtual: .zero)
    let player = Player(queue, log)
    do {
      let holder = Holder(try await player.play())
      try await onAThread { holder.timer = nil }
    }
    try await queue.advance(by: .zero)
    #expect(log.take() == ["end"])
    let timer = try await player.play()
    try await player.end()
    #expect(log.all == ["end"] && timer.state == .cancelled)
  }

  /// Promise 8, beside an advance: each handler runs once, on the actor.
  @Test @MainActor func timersDroppedBesideAnAdvanceEndOnceEach() async throws {
    let queue = try MainTimerQueue(virtual: .zero)
    let ends = Counter()
    for _ in 0..<200 {
      let holders = try (0..<10).map { _ in
        let timer = try queue.makeTimer(cancelHandler: {
          MainActor.assertIsolated()
          ends.add()
        }) { _ in }
        try timer.restart(.every(.seconds(1)))
        return Holder(timer)
      }
      let dropping = Task.detached { for holder in holders { holder.timer = nil } }
      try await queue.advance(by: .seconds(3))
      await dropping.value
    }
    try await queue.advance(by: .zero)
    #expect(ends.value == 2000)
  }
}

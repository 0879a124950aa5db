import Chime
import ChimeCompat
import ChimeTestSupport
import Dispatch
import Testing

@Suite("HandlerStrategy") struct HandlerStrategySystem {
  /// Collects events and sends them at each tick, in one batch.
  final class TrackingEventSender: TickHandler {
    private let pending = Log<String>()
    let sent = Log<[String]>()

    func track(_ event: String) { pending.add(event) }

    func handle(_ tick: Tick) {
      let batch = pending.take()
      if !batch.isEmpty { sent.add(batch) }
    }
  }

  final class CacheCleaner: TickHandler {
    let rounds = Counter()
    func handle(_ tick: Tick) { rounds.add() }
  }

  let queue: VirtualTimerQueue
  let strategy = HandlerStrategy()

  init() throws { queue = try VirtualTimerQueue() }

  @Test func aTrackingEventSenderSendsInBatchesAndIsRetrievedByItsType() throws {
    strategy.register(TrackingEventSender(), for: "tracking")
    strategy.register(CacheCleaner(), for: "cache")
    let timer = try queue.schedule(every: .seconds(30), strategy: strategy)

    let sender = try #require(strategy.retrieve(TrackingEventSender.self, for: "tracking"))
    sender.track("launched")
    sender.track("opened")
    #expect(try sender.sent.during(.seconds(29), on: queue) == [])
    #expect(try sender.sent.during(.seconds(1), on: queue) == [["launched", "opened"]])
    sender.track("closed")
    #expect(try sender.sent.during(.seconds(60), on: queue) == [["closed"]])
    #expect(strategy.retrieve(CacheCleaner.self, for: "cache")?.rounds.value == 3)
    #expect(strategy.retrieve(CacheCleaner.self, for: "tracking") == nil)

    #expect(strategy.unregister("tracking"))
    sender.track("late")
    #expect(try sender.sent.during(.seconds(30), on: queue) == [])
    withExtendedLifetime(timer) {}
  }

  @Test func aStrategyMayBeChangedInItsHandlersAndFromManyThreads() throws {
    final class Once: TickHandler {
      let strategy: HandlerStrategy
      let rounds = Counter()
      init(_ strategy: HandlerStrategy) { self.strategy = strategy }
      func handle(_ tick: Tick) {
        rounds.add()
        strategy.unregister("once")
        strategy.register(CacheCleaner(), for: "cache")
      }
    }
    let once = Once(strategy)
    strategy.register(once, for: "once")
    let timer = try queue.schedule(every: .seconds(1), strategy: strategy)
    try queue.advanceTimers(by: .seconds(3))
    #expect(once.rounds.value == 1)
    #expect(strategy.retrieve(CacheCleaner.self, for: "cache")?.rounds.value == 2)
    DispatchQueue.concurrentPerform(iterations: 8) { index in
      for round in 0..<1000 {
        strategy.register(CacheCleaner(), for: "\(index)")
        if round % 3 == 0 { strategy.unregister("\(index)") }
      }
    }
    #expect((0..<8).allSatisfy { strategy.unregister("\($0)") == (999 % 3 != 0) })
    withExtendedLifetime(timer) {}
  }
}

import Chime
import Dispatch
import ChimeTestSupport
import Testing

@Suite("HandlerStrategy") struct HandlerStrategySystem {
  /// Collects events and sends them at each tick, in one batch.
  final class TrackingEventSender: TickHandler {
    private let pending = Locked<[String]>([])
    let sent = Log<[String]>()

    func track(_ event: String) { pending.withLock { $0.append(event) } }

    func handle(_ tick: Tick) {
      let batch = pending.withLock { pending in
        defer { pending = [] }
        return pending
      }
      if !batch.isEmpty { sent.add(batch) }
    }
  }

  final class CacheCleaner: TickHandler {
    let rounds = Counter()
    func handle(_ tick: Tick) { rounds.add() }
  }

  @Test func aTrackingEventSenderSendsInBatchesAndIsRetrievedByItsType() throws {
    let queue = try VirtualTimerQueue()
    let strategy = HandlerStrategy()
    strategy.register(TrackingEventSender(), for: "tracking")
    strategy.register(CacheCleaner(), for: "cache")
    let timer = try queue.every(.seconds(30), strategy: strategy)

    let sender = try #require(strategy.retrieve(TrackingEventSender.self, for: "tracking"))
    sender.track("launched")
    sender.track("opened")
    try queue.advance(by: .seconds(29))
    #expect(sender.sent.all.isEmpty)
    try queue.advance(by: .seconds(1))
    sender.track("closed")
    try queue.advance(by: .seconds(60))
    #expect(sender.sent.all == [["launched", "opened"], ["closed"]])
    #expect(strategy.retrieve(CacheCleaner.self, for: "cache")?.rounds.value == 3)
    #expect(strategy.retrieve(CacheCleaner.self, for: "tracking") == nil)

    #expect(strategy.unregister("tracking"))
    sender.track("late")
    try queue.advance(by: .seconds(30))
    #expect(sender.sent.count == 2)
    withExtendedLifetime(timer) {}
  }
}

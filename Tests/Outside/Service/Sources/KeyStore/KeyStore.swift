import Chime

/// Values that live for a while unless they are renewed, and are written soon after a change.
public actor KeyStore {
  private let queue: TimerQueue
  private let lifetime: Duration
  private let write: @Sendable ([String: String]) async -> Void
  private var values: [String: String] = [:]
  private var expiry: [String: ChimeTimer] = [:]
  private let saving: TriggeredAction

  public init(
    on queue: TimerQueue, lifetime: Duration = .seconds(30), writesEvery interval: Duration = .seconds(1),
    write: @escaping @Sendable ([String: String]) async -> Void
  ) throws {
    (self.queue, self.lifetime, self.write) = (queue, lifetime, write)
    saving = try TriggeredAction(.throttle(interval, leading: false), on: queue)
    saving.setAction(on: self) { store in await store.write(store.values) }
  }

  /// Sets a value, which vanishes after its lifetime, or renews it.
  public func set(_ value: String, for key: String) throws {
    values[key] = value
    // The timer that this one replaces stops, and a call of its handler that has not begun never begins.
    expiry[key] = try queue.scheduleTask(.once(after: lifetime), actor: self) { store, _ in store.remove(key) }
    saving.trigger()
  }

  public func value(for key: String) -> String? { values[key] }

  public var count: Int { values.count }

  private func remove(_ key: String) {
    values[key] = nil
    expiry[key] = nil
    saving.trigger()
  }

  /// Writes what has changed, now, and lets no value vanish any more.
  public func close() async throws {
    expiry = [:]
    try await saving.flush()
  }
}

import ChimeCore

/// Something that is to be done at each tick: a sender of tracking events, a cache that is cleared.
public protocol TickHandler: AnyObject, Sendable {
  /// Runs on the timer's queue.
  func handle(_ tick: Tick)
}

/// Handlers that are registered under keys, and all called at each tick, in the order in which they were registered.
///
/// Any thread, inside a handler too.
public final class HandlerStrategy: Sendable {
  private let handlers = Locked<[(key: String, handler: any TickHandler)]>([])

  /// Starts without handlers.
  public init() {}

  /// Registers a handler; one that had the key is replaced, in its place.
  public func register(_ handler: any TickHandler, for key: String) {
    let old: (any TickHandler)? = handlers.withLock { handlers in
      if let index = handlers.firstIndex(where: { $0.key == key }) {
        let old = handlers[index].handler
        handlers[index].handler = handler
        return old
      }
      handlers.append((key, handler))
      return nil
    }
    withExtendedLifetime(old) {}  // let go outside the lock
  }

  /// The handler under that key, if it is of that type.
  public func retrieve<Handler: TickHandler>(_ type: Handler.Type = Handler.self, for key: String) -> Handler? {
    handlers.withLock { $0.first { $0.key == key }?.handler } as? Handler
  }

  /// Forgets the handler under that key; it is not called by ticks that start later.
  /// - Returns: false when there was none.
  @discardableResult
  public func unregister(_ key: String) -> Bool {
    let old: (any TickHandler)? = handlers.withLock { handlers in
      guard let index = handlers.firstIndex(where: { $0.key == key }) else { return nil }
      return handlers.remove(at: index).handler
    }
    return old != nil
  }

  /// Calls all handlers. Called by the timer.
  public func execute(_ tick: Tick) {
    for entry in handlers.withLock({ $0 }) { entry.handler.handle(tick) }
  }
}

extension TimerQueue {
  /// Calls the handlers of `strategy` every `interval`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be so that it can share a wake-up; 0 or more, below the interval.
  ///   - strategy: kept as long as the timer.
  /// - Returns: the timer; it stops when the last reference to it goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func every(
    _ interval: Duration, leeway: Duration = .zero, strategy: HandlerStrategy
  ) throws(ChimeError) -> ChimeTimer {
    try every(interval, leeway: leeway) { tick in strategy.execute(tick) }
  }
}

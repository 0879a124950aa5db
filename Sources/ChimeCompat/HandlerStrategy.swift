import Chime
import ChimeCore

/// Something to do at each tick: send tracking events, clear a cache.
public protocol TickHandler: AnyObject, Sendable {
  /// Runs on the timer's queue.
  ///
  /// - Parameter tick: the one that is being delivered.
  func handle(_ tick: ChimeTimer.Tick)
}

/// Handlers registered under keys. All are called at each tick, in the order of their registration.
///
/// Any thread, inside a handler too.
public final class HandlerStrategy: Sendable {
  private let handlers = Locked<[(key: String, handler: any TickHandler)]>([])

  /// Starts without handlers.
  public init() {}

  /// Registers a handler. One that already has the key is replaced and keeps its turn.
  ///
  /// - Parameters:
  ///   - handler: called from the next tick on.
  ///   - key: names it.
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

  /// The handler with that key, if it has that type.
  ///
  /// - Parameters:
  ///   - type: the handler's.
  ///   - key: as it was registered.
  /// - Returns: `nil` if there is none, or it is of another type.
  public func retrieve<Handler: TickHandler>(_ type: Handler.Type = Handler.self, for key: String) -> Handler? {
    handlers.withLock { $0.first { $0.key == key }?.handler } as? Handler
  }

  /// Removes the handler with that key. Ticks that start later do not call it.
  ///
  /// - Parameter key: as it was registered.
  /// - Returns: false if there was none.
  @discardableResult
  public func unregister(_ key: String) -> Bool {
    let old: (any TickHandler)? = handlers.withLock { handlers in
      guard let index = handlers.firstIndex(where: { $0.key == key }) else { return nil }
      return handlers.remove(at: index).handler
    }
    return old != nil
  }

  /// Calls all handlers. Called by the timer.
  ///
  /// - Parameter tick: the one that is being delivered.
  public func execute(_ tick: ChimeTimer.Tick) {
    for entry in handlers.withLock({ $0 }) { entry.handler.handle(tick) }
  }
}

extension AnyTimerQueue {
  /// Calls the handlers of `strategy` every `interval`.
  ///
  /// - Parameters:
  ///   - interval: above 0.
  ///   - leeway: how late a tick may be in order to share a wake-up; 0 or more, below the interval.
  ///   - strategy: held as long as the timer lives.
  /// - Returns: the timer; it stops when its last reference goes.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public func schedule(
    every interval: Duration, leeway: Duration = .zero, strategy: HandlerStrategy
  ) throws -> ChimeTimer {
    try ChimeTimer.start(on: self, .every(interval, leeway: leeway)) { tick in strategy.execute(tick) }
  }
}

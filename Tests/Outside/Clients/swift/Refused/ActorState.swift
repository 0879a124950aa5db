import Chime

/// A handler of the actor's own queue says that it is on the actor: `assumeIsolated` checks that.
actor ActorState {
  private let queue: SerialTimerQueue
  private var count = 0
  private var timer: ChimeTimer?
  nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

  init(_ queue: SerialTimerQueue) { self.queue = queue }

  func start() throws {
    #if PROBE
      // refused: actor-isolated property 'count' can not be mutated from a nonisolated context
      timer = try queue.schedule(.every(.seconds(1)), target: self) { me, _ in me.count += 1 }
    #else
      timer = try queue.schedule(.every(.seconds(1)), target: self) { me, _ in me.assumeIsolated { $0.count += 1 } }
    #endif
  }
}

import Chime
import Foundation
import KeyStore
import Logging
import ServiceLifecycle

/// Owns the queue: whatever has timers on it has ended when this service is told to stop, since groups stop in the reverse
/// order.
struct TimerService: Service {
  let queue: TimerQueue

  func run() async throws {
    try await gracefulShutdown()
    let outcome = try await queue.shutdown(timeout: .seconds(5))
    print("timers: \(outcome)")
  }
}

struct KeyService: Service {
  let store: KeyStore

  func run() async throws {
    try await gracefulShutdown()
    try await store.close()
    print("store: closed")
  }
}

/// A loop over ticks ends with the service.
struct Heartbeat: Service {
  let queue: TimerQueue
  let store: KeyStore

  func run() async throws {
    for await tick in try queue.ticks(.every(.milliseconds(20))).cancelOnGracefulShutdown() {
      if tick.sequence == 3 {
        print("heartbeat: \(await store.count) keys")
        kill(getpid(), SIGTERM)  // what the system does
      }
    }
    print("heartbeat: over")
  }
}

let queue = try TimerQueue(label: "service")
let store = try KeyStore(on: queue, lifetime: .seconds(3600), writesEvery: .seconds(3600)) { values in
  print("written: \(values)")
}
try await store.set("1", for: "a")

let group = ServiceGroup(
  services: [TimerService(queue: queue), KeyService(store: store), Heartbeat(queue: queue, store: store)],
  gracefulShutdownSignals: [.sigterm], logger: Logger(label: "service") { _ in SwiftLogNoOpLogHandler() })
try await group.run()

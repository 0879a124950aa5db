import Chime
import Dispatch
import Foundation

// Main-actor handlers in a program whose main function ends with RunLoop.main.run() or, when its argument is `dispatch`,
// with dispatchMain(). On Linux that ends the main thread; libdispatch goes on to drain the main queue on another one.

let dispatches = CommandLine.arguments.last == "dispatch"

@MainActor final class Model {
  private var ticks = 0
  private var timer: ChimeTimer?

  func start(on queue: MainTimerQueue) throws {
    timer = try queue.schedule(.every(.milliseconds(1)), target: self) { me, _ in me.tick() }
  }

  private func tick() {
    MainActor.assertIsolated()
    ticks += 1
    if ticks == 5 {
      precondition(dispatches || Thread.isMainThread)
      print("main-actor handlers run in \(dispatches ? "dispatchMain()" : "RunLoop.main.run()")")
      exit(0)
    }
  }
}

let queue = try MainTimerQueue()
let model = Model()
try model.start(on: queue)
if dispatches { dispatchMain() } else { RunLoop.main.run() }

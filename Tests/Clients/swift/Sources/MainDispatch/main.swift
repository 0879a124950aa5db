import Chime
import Dispatch
import Foundation

// Main-actor handlers in a program that ends its main function with dispatchMain(). On Linux that ends the main thread;
// libdispatch goes on to drain the main queue on another one.

@MainActor final class Model {
  private(set) var ticks = 0
  private var timer: ChimeTimer?

  func start(on queue: MainTimerQueue) throws {
    timer = try queue.every(.milliseconds(1), target: self) { me, _ in me.tick() }
  }

  private func tick() {
    MainActor.assertIsolated()
    ticks += 1
    if ticks == 5 {
      print("main-actor handlers run in dispatchMain()")
      exit(0)
    }
  }
}

let queue = try MainTimerQueue()
let model = Model()
try model.start(on: queue)
dispatchMain()

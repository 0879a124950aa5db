import Chime
import Foundation

// Main-actor handlers in a program that runs its main run loop.

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
      precondition(Thread.isMainThread)
      print("main-actor handlers run in RunLoop.main.run()")
      exit(0)
    }
  }
}

let queue = try MainTimerQueue()
let model = Model()
try model.start(on: queue)
RunLoop.main.run()

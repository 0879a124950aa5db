@testable import ChimeCore

/// A handful of calls on two to four threads, which begin at the end of its body, or where this has them race to look at
/// what they leave; and what must hold when they have returned.
struct Scenario {
  let name: String
  /// Few enough steps for every interleaving with so many preemptions; 0 for none.
  var preemptions = 0
  let body: (World) -> Void

  init(_ name: String, preemptions: Int = 0, _ body: @escaping (World) -> Void) {
    self.name = name
    self.preemptions = preemptions
    self.body = body
  }

  /// One run, with what is left looked over at its end. Gives what is wrong.
  func run(_ strategy: Strategy, seed: UInt64, length: Int) -> (failure: String?, steps: Int) {
    let scheduler = Scheduler.shared
    let world = World()
    Seam.generationMask = 0x7F_FFFF
    scheduler.latest = Scheduler.horizon
    // The pool's threads were those of the run before.
    Pool.reinitializeThreads()
    PoolCount.reinitialize()
    PoolRequests.reinitialize()
    resetSimulatedPoller()
    let failure = scheduler.run(strategy, seed: seed, length: length) {
      self.body(world)
      world.race()
      scheduler.latest = Scheduler.horizon
      world.finish()
    }
    if failure == nil {
      world.reset()
    } else {
      // Threads that stand still in the middle of calls may hold anything.
      _ = Unmanaged.passRetained(world)
    }
    return (failure, scheduler.raceSteps)
  }
}

let millisecond: Int64 = 1_000_000
let second: Int64 = 1_000_000_000

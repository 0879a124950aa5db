import CCoroutines

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// One thread of a run: a stack of its own, on which its body runs while the scheduler lets it.
final class Coroutine {
  /// What a thread waits for that cannot go on.
  enum Obstacle {
    case none
    case lock(UnsafeMutableRawPointer)
    case condition(UnsafeMutableRawPointer, until: Int64)
    case file(Int32, until: Int64)
    case end(of: Coroutine)
    case ended

    var until: Int64 {
      switch self {
      case .condition(_, let time), .file(_, let time): time
      case .none, .lock, .end, .ended: .max
      }
    }
  }

  let index: Int
  let name: String
  /// The run may end while it waits: the thread of a queue.
  let isDaemon: Bool
  private var body: (() -> Void)?
  let stack: UnsafeMutableRawPointer
  var obstacle = Obstacle.none
  var specifics: [UnsafeMutableRawPointer?] = []
  /// How many steps on it is held up, and until when; nil: not any more.
  var delay: (steps: Int, until: Int64)?
  /// PCT: the highest goes.
  var priority = 0
  var hasEnded: Bool { if case .ended = obstacle { true } else { false } }
  /// Its place among the threads that nothing holds up.
  var bit: UInt64 { 1 << UInt64(index) }

  private static let stackSize = 256 << 10
  nonisolated(unsafe) private static var stacks: [UnsafeMutableRawPointer] = []

  init(index: Int, name: String, isDaemon: Bool, _ body: @escaping () -> Void) {
    self.index = index
    self.name = name
    self.isDaemon = isDaemon
    self.body = body
    stack =
      Coroutine.stacks.popLast() ?? mmap(
        nil, Coroutine.stackSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)!
    chime_coroutine_prepare(stack, Coroutine.stackSize) {
      let coroutine = Scheduler.shared.current
      coroutine.body?()
      coroutine.body = nil
      Scheduler.shared.end(coroutine)
    }
  }

  /// Gives the stack to the next one. Not from the coroutine itself.
  func reclaim() { Coroutine.stacks.append(stack) }

  /// Lets `other` go on; returns when somebody lets this one go on.
  func yield(to other: Coroutine) { chime_coroutine_switch(stack, other.stack) }
}

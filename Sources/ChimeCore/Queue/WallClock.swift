internal import CPlatform
import Synchronization

/// The time of day, and its distance from the monotonic clock. Queues on the wall clock keep monotonic time internally,
/// and move their absolute deadlines when the wall clock is stepped.
package enum WallClock: ProcessState {
  /// Bounds of how far the wall clock is now ahead of the monotonic one.
  static var offset: (low: Int64, high: Int64) {
    var best = readOffset()
    // A thread that is preempted between the readings tries again. (No `for`: the compiler unrolls that, now in one way,
    // now in another, and the library is not the same twice.)
    var triesLeft = 7
    while best.high &- best.low >= 2_000, triesLeft > 0 {
      let next = readOffset()
      if next.high &- next.low < best.high &- best.low { best = next }
      triesLeft -= 1
    }
    return best
  }

  @inline(never)
  private static func readOffset() -> (low: Int64, high: Int64) {
    let before = Clock.wall.now
    let monotonic = Clock.monotonic.now
    let after = Clock.wall.now
    return (before &- monotonic, after &- monotonic)
  }

  // MARK: Steps

  private struct Watch {
    var file: Int32 = -1
    var queues: [UInt64] = []
  }

  private static let watched = Locked(Watch())

  /// Tells a queue on the wall clock, or on boottime, that has no descriptor of its own, of steps until it ends; a thread of
  /// the pool hears of them. When the system wakes from sleep, the wall clock steps, too, and boottime has gone on while what
  /// the queue waits by has not. Answers resource without a descriptor or a thread, noMemory, forked in a child.
  static func add(_ queue: UInt64) -> Status {
    watched.withLock { watch in
      guard watch.queues.reserve() else { return Memory.refusal }
      let status = watch.file >= 0 ? .ok : begin(&watch)
      if status == .ok { watch.queues.append(queue) }
      return status
    }
  }

  private static func begin(_ watch: inout Watch) -> Status {
    // Counted as long as steps are watched.
    let prepared = Pool.prepare()
    if prepared != .ok { return prepared }
    let file = chime_step_file_make()
    if file >= 0 { chime_step_file_arm(file) }
    guard file >= 0, Pool.watch(file) else {
      let status = Status.noTimerFile
      if file >= 0 { chime_step_file_close(file) }
      Pool.unprepare()
      return status
    }
    watch.file = file
    return .ok
  }

  /// The descriptor was readable. A thread of the pool.
  static func hasStepped() {
    watched.withLock { if $0.file >= 0 { chime_step_file_arm($0.file) } }
    // From the end: what moves up when a queue ends meanwhile was visited, or is visited below.
    var index = watched.withLock { $0.queues.count }
    while index > 0 {
      index -= 1
      let queue = watched.withLock { index < $0.queues.count ? $0.queues[index] : 0 }
      QueueControlBlocks.find(queue)?.wakeAfterStep()
    }
  }

  static func makeGlobals() {
    watched.withLock { _ in }
    Pool.listeners.withLock { $0.clockHasStepped = { hasStepped() } }
  }

  /// No step is noticed any more.
  static func reinitialize() { watched.reinitialize(Watch()) }

  /// Tells a queue of steps no more. Without any, nothing is watched.
  static func remove(_ queue: UInt64) {
    watched.withLock { watch in
      watch.queues.removeAll { $0 == queue }
      if watch.queues.isEmpty, watch.file >= 0 {
        Pool.endWatch(watch.file)
        withoutCancellation { chime_step_file_close(watch.file) }
        watch.file = -1
        watch.queues = []
        Pool.unprepare()
      }
    }
  }
}

extension QueueControlBlock {
  /// Makes a later pass look at the wall clock, not the one that may be under way. Any thread.
  func wakeAfterStep() {
    unsafe storage.pointee.stepIsPending.store(true, ordering: .sequentiallyConsistent)
    wake()
  }
}

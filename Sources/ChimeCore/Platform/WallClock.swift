internal import CPlatform

/// The time of day, and its distance from the monotonic clock. Queues on the wall clock keep monotonic time internally,
/// and move their absolute deadlines when the wall clock is stepped.
package enum WallClock: ProcessState {
  /// Bounds of how far the wall clock is now ahead of the monotonic one.
  static var offset: (low: Int64, high: Int64) {
    var best: (low: Int64, high: Int64) = (.min, .max)
    // A thread that is preempted between the readings tries again.
    for _ in 0..<8 {
      let before = Clock.wall.now
      let monotonic = Clock.monotonic.now
      let after = Clock.wall.now
      if best.low == .min || after &- before < best.high &- best.low {
        best = (before &- monotonic, after &- monotonic)
      }
      if best.high &- best.low < 2_000 { break }
    }
    return best
  }

  // MARK: Steps

  private struct Watch {
    var source: WorkSource?
    var file: Int32 = -1
    var queues: [UInt64] = []
  }

  private static let watched = Locked(Watch())

  /// Has steps of the wall clock noticed from now on, for a queue that is about to be made: resource without a
  /// descriptor for it, noMemory, forked in a child, unsupported without libdispatch.
  static func watch() -> Status {
    if Fork.statusOfDispatch != .ok { return Fork.explainedStatusOfDispatch }
    guard Descriptors.prepareDispatch() else { return .resource }
    return watched.withLock { watch in
      guard watch.queues.makesRoom() else { return Memory.refusal }
      if watch.source != nil { return .ok }
      let file = chime_step_file_make()
      guard file >= 0 else { return .noTimerFile }
      let source = WorkSource.reads(file, .global(.userInitiated))
      source.setEventHandler {
        chime_step_file_arm(file)
        stepped()
      }
      chime_step_file_arm(file)
      source.activate()
      watch.source = source
      watch.file = file
      return .ok
    }
  }

  static func makeGlobals() { watched.withLock { _ in } }

  /// No step is noticed any more.
  static func reinitialize() {
    watched.reinitialize()
    Fork.closeInherited(watched.withLock { $0.file })
    watched.reinitialize(Watch())
  }

  /// Tells a queue on the wall clock of steps until it ends.
  static func add(_ queue: UInt64) { watched.withLock { $0.queues.append(queue) } }

  static func remove(_ queue: UInt64) {
    watched.withLock { watch in
      guard let index = watch.queues.firstIndex(of: queue) else { return }
      watch.queues.swapAt(index, watch.queues.count - 1)
      watch.queues.removeLast()
    }
  }

  private static func stepped() {
    // From the end: what takes the place of a queue that ends meanwhile was visited.
    var index = watched.withLock { $0.queues.count }
    while index > 0 {
      index -= 1
      let queue = watched.withLock { index < $0.queues.count ? $0.queues[index] : 0 }
      QueueControlBlocks.find(queue)?.wakeAfterStep()
    }
  }
}

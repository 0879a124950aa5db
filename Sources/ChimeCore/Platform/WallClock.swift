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
    var queues: Set<UInt64> = []
  }

  private static let watched = Locked(Watch())

  /// Makes sure that steps of the wall clock are noticed from now on; false without a descriptor for it, in a forked
  /// child, and without libdispatch.
  static func watch() -> Bool {
    if Fork.statusOfDispatch != .ok { return false }
    guard Descriptors.prepareDispatch() else { return false }
    return watched.withLock { watch in
      if watch.source != nil { return true }
      guard let file = TimerFile.make(.wall) else {
        _ = Status.noTimerFile
        return false
      }
      let source = WorkSource.reads(file, .global(.userInitiated))
      source.setEventHandler {
        arm(file)
        stepped()
      }
      arm(file)
      source.activate()
      watch.source = source
      watch.file = file
      return true
    }
  }

  static func makeGlobals() { watched.withLock { _ in } }

  /// No step is noticed any more.
  static func reinitialize() {
    watched.reinitialize()
    Fork.closeInherited(watched.withLock { $0.file })
    watched.reinitialize(Watch())
  }

  private static func arm(_ file: Int32) { TimerFile.set(file, .max - 1, endsWithStep: true) }

  /// Tells a queue on the wall clock of steps until it ends.
  static func add(_ queue: UInt64) { watched.withLock { _ = $0.queues.insert(queue) } }

  static func remove(_ queue: UInt64) { watched.withLock { _ = $0.queues.remove(queue) } }

  private static func stepped() {
    for queue in watched.withLock({ $0.queues }) { QueueControlBlocks.find(queue)?.wakeAfterStep() }
  }
}

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

/// Queues on the wall clock. Internally they run on monotonic time; deadlines come in and go out as times of day. A
/// timer whose next tick is due at a time of day follows the clock when it is stepped; delays and intervals do not.
extension QueueControlBlock {
  /// Moves the timers that follow the wall clock, if it was stepped since the last pass.
  @inline(__always)
  func followWallClock(_ pass: borrowing Pass) {
    // On any clock: the step may have been meant for an earlier queue of the control block.
    takeStep()
    if isWall { followWallOffset() }
  }

  @inline(never)
  private func followWallOffset() {
    let offset = trueWallOffset
    if knows(offset) { return }
    wallOffset = offset.low
    forEachSlot { slot in
      if slot.wordInOrder.isLive, slot.hasSideRecord { TimerRef(slot: slot, version: slot.version).followWallClock() }
    }
  }
}

extension TimerRef {
  /// Makes the deadline agree with the wall clock as the queue knows it. Called for each timer after a step, and by the
  /// writer of an absolute deadline. The offset is stored before the timers are visited, and read here after the timer
  /// was published, so one of the two calls sees both (P13).
  func followWallClock() {
    guard let writing = beginWriting() else { return }
    let offset = control.wallOffset
    guard let before = writing.ownWallOffset, before != offset, let sideRecord = writing.sideRecord else {
      writing.abandon()
      return
    }
    var deadline = sideRecord.wallDeadline.saturatingSubtract(offset)
    let now = control.now
    if slot.flags.contains(.repeating), sideRecord.writerFields.gridHasBegun, deadline > now,
      before.saturatingSubtract(offset) >= slot.period
    {
      // Stepped back by an interval or more: a grid that has begun continues at its next point, not where the old point is
      // reached again. After a shorter step no point comes twice.
      let skipped = deadline.saturatingSubtract(now.saturatingAdd(1)) / slot.period * slot.period
      deadline -= skipped
      sideRecord.wallDeadline -= skipped
    }
    writing.deadline = deadline
    let word = writing.before
    writing.end(word)
  }
}

/// Times of a timer on the wall clock. Such a timer is postponed in its cell: the word's postponement is always 0.
extension Writing {
  /// How far the clock that the timer's deadline follows is ahead of the monotonic one: it may not have noticed a step
  /// that the queue has. `nil` if the deadline follows none.
  var ownWallOffset: Int64? {
    guard let wallDeadline = sideRecord?.wallDeadline, wallDeadline != SideRecordView.followsNoWall, deadline != .max
    else { return nil }
    return wallDeadline.saturatingSubtract(deadline)
  }

  /// A tick moves the deadline on by that much: to the next time of the grid, or, with the policy *delay*, by a distance.
  func moveOnWallClock(by distance: Int64) {
    guard let sideRecord, ownWallOffset != nil else { return }
    sideRecord.writerFields.gridHasBegun = true
    sideRecord.wallDeadline =
      slot.flags.contains(.delayPolicy) ? SideRecordView.followsNoWall : sideRecord.wallDeadline.saturatingAdd(distance)
  }

  /// A postponement moves the deadline, and decides what it is from now on: a time of day, which the timer follows, or,
  /// with `nil`, a distance. False if there is no memory.
  func postponeOnWallClock(until time: Int64?) -> Bool {
    guard let time else {
      sideRecord?.wallDeadline = SideRecordView.followsNoWall
      return true
    }
    guard let sideRecord = makeSideRecord() else { return false }
    sideRecord.writerFields.gridHasBegun = false
    sideRecord.wallDeadline = max(time, SideRecordView.followsNoWall + 1)
    return true
  }

  /// When the timer is due that is due at `time` by its cell: otherwise only if it follows the wall clock, with that
  /// offset.
  func dueTime(_ time: Int64, wallOffset: Int64) -> Int64 {
    guard ownWallOffset != nil, let sideRecord else { return time }
    return sideRecord.wallDeadline.saturatingSubtract(wallOffset)
  }
}

extension QueueControlBlock {
  /// Whether the wall clock was stepped and no pass has looked at it since.
  var stepIsPending: Bool { unsafe storage.pointee.stepIsPending.load(ordering: .sequentiallyConsistent) }

  /// Called by the pass before it looks at the wall clock. A flag that the first load misses is found by the pass's
  /// last look, behind the next wake-up; so that load may be relaxed (P13b).
  @inline(__always)
  fileprivate func takeStep() {
    if unsafe storage.pointee.stepIsPending.load(ordering: .relaxed) {
      _ = unsafe storage.pointee.stepIsPending.exchange(false, ordering: .sequentiallyConsistent)
    }
  }

  private var wallShift: Int64 { unsafe storage.pointee.wallShift.load(ordering: .relaxed) }

  /// Bounds of how much the queue's clock is ahead of the monotonic one now.
  var trueWallOffset: (low: Int64, high: Int64) {
    let (low, high) = WallClock.offset
    return (low &+ wallShift, high &+ wallShift)
  }

  /// How far the offset may lag before absolute deadlines are moved earlier. It is never ahead.
  private static var tolerance: Int64 { 20_000 }

  /// Whether the offset as of the last pass lies within these bounds.
  fileprivate func knows(_ offset: (low: Int64, high: Int64)) -> Bool {
    wallOffset <= offset.high && wallOffset >= offset.low.saturatingSubtract(QueueControlBlock.tolerance)
  }

  /// Whether no step has come since the last pass.
  var knowsWallOffset: Bool { knows(trueWallOffset) }

  /// The offset now, which the queue may not have noticed.
  var presentWallOffset: Int64 {
    let offset = trueWallOffset
    return knows(offset) ? wallOffset : offset.low
  }

  /// The time of day now.
  var wallNow: Int64 { Clock.wall.now &+ wallShift }
}

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
    storage.stepIsPending.store(true, ordering: .sequentiallyConsistent)
    wake()
  }
}

/// How far a queue's wall clock was ahead of the monotonic one when somebody looked. Times of day become deadlines, and
/// are compared, by such an offset alone: `QueueControlBlock.lookAtWallClock` gives it to a pass, or to a timer's writer, who
/// so looks later than that timer's last writer did (P13).
struct WallOffset: Equatable {
  fileprivate let nanoseconds: Int64

  /// The monotonic time at which the clock shows a time of day. Far is not never.
  func deadline(of time: Int64) -> Int64 { time == .max ? .max : min(time.saturatingSubtract(nanoseconds), .max - 1) }
  /// What the clock shows at a monotonic time.
  @inline(never)
  func time(of deadline: Int64) -> Int64 {
    deadline == .max ? .max : min(deadline.saturatingAdd(nanoseconds), .max - 1)
  }
}

/// Queues on the wall clock. Internally they run on monotonic time; deadlines come in and go out as times of day. A
/// timer whose next tick is due at a time of day follows the clock when it is stepped; delays and intervals do not.
extension QueueControlBlock {
  /// Called by a pass. False if a timer is being written by a thread that stands still, so that the next pass has to look.
  @inline(never)
  func followWallOffset(_ isToLook: Bool) -> Bool {
    let offset = lookAtWallClock()
    // A writer that has seen a step before a pass has is followed even if the clock is back where it was.
    if offset == wallOffset, !isToLook { return true }
    wallOffset = offset
    var areMoved = true
    forEachSlot { slot in
      // A writer may be making the side record.
      let word = slot.wordInOrder
      if word.isLive, word.hasWriter || slot.hasSideRecord {
        areMoved = TimerRef(slot: slot, version: slot.version).followWallClock() && areMoved
      }
    }
    return areMoved
  }

  /// The offset now. It is the one of the last pass unless the clock was stepped since: so equal times of day are equal
  /// deadlines. To be called in a pass or by a timer's writer, for that timer.
  func lookAtWallClock() -> WallOffset {
    let last = wallOffset
    let offset = trueWallOffset
    return isKnown(offset, last) ? last : WallOffset(nanoseconds: offset.low)
  }

  /// Called when a deadline that was stored by that offset can be seen. If a pass has looked at another, it may have missed
  /// the timer, or knows nothing of the step yet: then one comes (P13).
  @inline(never)
  func checkThatPassFollows(_ offset: WallOffset?) {
    if let offset, offset != wallOffset { wakeAfterStep() }
  }

  /// How far the queue's clock is ahead of the monotonic one, as of the last pass; 0 on other clocks.
  var wallOffset: WallOffset {
    get { WallOffset(nanoseconds: storage.wallOffset.load(ordering: .sequentiallyConsistent)) }
    nonmutating set {
      storage.wallOffset.store(newValue.nanoseconds, ordering: .sequentiallyConsistent)
    }
  }

  /// Before anybody knows the queue.
  func beginWallClock() {
    storage.wallOffset.store(isWall ? WallClock.offset.low : 0, ordering: .relaxed)
  }
}

extension TimerRef {
  /// Makes the deadline agree with the wall clock. Called for each timer after a step. False if another thread writes the timer
  /// and does not come to an end, for which only virtual time waits.
  fileprivate func followWallClock() -> Bool {
    var spinWait = SpinWait()
    while let word {
      if word.hasWriter {
        if control.isVirtual { spinWait.pause() } else if !spinWait.spin() { return false }
      } else if let writing = slot.beginWriting(word) {
        followWallClock(writing)
        return true
      }
    }
    return true
  }

  private func followWallClock(_ writing: consuming Writing) {
    // Looked at anew: a writer may have seen a later step than the pass has (P13).
    guard writing.ownWallOffset != nil, let sideRecord = writing.sideRecord,
      let (deadline, time) = writing.following(control.lookAtWallClock())
    else {
      writing.undo()
      return
    }
    sideRecord.wallDeadline = time
    writing.deadline = deadline
    let word = writing.before
    writing.finish(word)
  }
}

/// Times of a timer on the wall clock. Such a timer is postponed in its cell: the word's postponement is always 0.
extension Writing {
  /// How far the clock that the timer's deadline follows is ahead of the monotonic one, as its last writer saw it. `nil`
  /// if the deadline follows none.
  var ownWallOffset: WallOffset? {
    guard let wallDeadline = sideRecord?.wallDeadline, wallDeadline != SideRecordView.followsNoWall, deadline != .max
    else { return nil }
    return WallOffset(nanoseconds: wallDeadline.saturatingSubtract(deadline))
  }

  /// When the timer is due by the clock as it was looked at, and what time of day that is; `nil` if it follows none, or
  /// follows that. Changes nothing.
  func following(_ offset: WallOffset) -> (deadline: Int64, time: Int64)? {
    guard let own = ownWallOffset, own != offset, let sideRecord else { return nil }
    let time = sideRecord.wallDeadline
    let deadline = offset.deadline(of: time)
    let now = control.now
    guard slot.flags.contains(.repeating), sideRecord.writerFields.gridHasBegun, deadline > now,
      own.nanoseconds.saturatingSubtract(offset.nanoseconds) >= slot.period
    else { return (deadline, time) }
    // Stepped back by an interval or more: a grid that has begun continues at its next point, not where the old point is
    // reached again. After a shorter step no point comes twice.
    let skipped = deadline.saturatingSubtract(now.saturatingAdd(1)) / slot.period * slot.period
    return (deadline - skipped, time - skipped)
  }

  /// When the timer is due by the clock as it was looked at.
  func dueTime(_ offset: WallOffset) -> Int64 { following(offset)?.deadline ?? slot.deadline }

  /// A tick moves the deadline on by that much: to the next time of the grid, or, with the policy *delay*, by a distance.
  func moveOnWallClock(by distance: Int64) {
    guard let sideRecord, ownWallOffset != nil else { return }
    sideRecord.writerFields.gridHasBegun = true
    sideRecord.wallDeadline =
      slot.flags.contains(.delayPolicy) ? SideRecordView.followsNoWall : sideRecord.wallDeadline.saturatingAdd(distance)
  }

  /// The deadline is about to be moved, and is from now on a time of day, which the timer follows, or, with `nil`, a
  /// distance. False if there is no memory.
  func setWallDeadline(_ time: Int64?) -> Bool {
    guard let time else {
      sideRecord?.wallDeadline = SideRecordView.followsNoWall
      return true
    }
    guard let sideRecord = makeSideRecord() else { return false }
    sideRecord.writerFields.gridHasBegun = false
    sideRecord.wallDeadline = max(time, SideRecordView.followsNoWall + 1)
    return true
  }
}

extension QueueControlBlock {
  /// Whether the wall clock was stepped and no pass has looked at it since.
  var stepIsPending: Bool { storage.stepIsPending.load(ordering: .sequentiallyConsistent) }

  /// Called by the pass before it looks at the wall clock. A flag that the first load misses is found by the pass's
  /// last look, behind the next wake-up; so that load may be relaxed (P13b).
  func takeStep() -> Bool {
    guard storage.stepIsPending.load(ordering: .relaxed) else { return false }
    return storage.stepIsPending.exchange(false, ordering: .sequentiallyConsistent)
  }

  private var wallShift: Int64 { storage.wallShift.load(ordering: .relaxed) }

  /// Bounds of how much the queue's clock is ahead of the monotonic one now.
  private var trueWallOffset: (low: Int64, high: Int64) {
    let (low, high) = WallClock.offset
    return (low &+ wallShift, high &+ wallShift)
  }

  /// How far the offset may lag before absolute deadlines are moved earlier. It is never ahead.
  private static var tolerance: Int64 { 20_000 }

  /// Whether the offset as of the last pass lies within these bounds.
  private func isKnown(_ offset: (low: Int64, high: Int64), _ last: WallOffset) -> Bool {
    last.nanoseconds <= offset.high
      && last.nanoseconds >= offset.low.saturatingSubtract(QueueControlBlock.tolerance)
  }

  /// Whether no step has come since the last pass. For those who note none.
  var knowsWallOffset: Bool { isKnown(trueWallOffset, wallOffset) }

  /// The time of day now.
  var wallNow: Int64 { Clock.wall.now &+ wallShift }
}

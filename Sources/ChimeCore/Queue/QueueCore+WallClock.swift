import Synchronization

/// Queues on the wall clock: inside they run on monotonic time; deadlines come in and go out as times of day. A timer
/// whose schedule begins at a time of day follows that when the clock is stepped; delays and intervals do not notice.
extension QueueCore {
  /// How far the offset may be behind before absolute deadlines are moved earlier; it is never ahead.
  private static var tolerance: Int64 { 20_000 }

  /// Moves the timers that follow the wall clock, if that was stepped since the last pass. The caller holds the token.
  func followWallClock() {
    guard cell.isWall else { return }
    let (low, high) = cell.trueWallOffset
    let offset = cell.wallOffset
    if offset <= high, offset >= low.saturatingSubtract(QueueCore.tolerance) { return }
    cell.wallOffset = low
    cell.forEachSlot { slot in
      if slot.wordInOrder.isLive, slot.hasExtras { TimerRef(slot: slot, life: slot.life).followWallClock() }
    }
  }
}

extension TimerRef {
  /// Has the deadline agree with the wall clock as the queue knows it. Called for each timer after a step, and by
  /// whoever wrote an absolute deadline: the offset is stored before the timers are visited, and read here after the
  /// timer was published, so that one of the two calls sees both (P13, Sources/README.md).
  func followWallClock() {
    guard let word = beginWriting() else { return }
    guard let extras = slot.extras, extras.value.followsWall, extras.value.wallOffset != cell.wallOffset,
      slot.deadline != .max
    else {
      abandonWriting(word)
      return
    }
    let offset = cell.wallOffset
    var deadline = slot.deadline.saturatingAdd(extras.value.wallOffset.saturatingSubtract(offset))
    let flags = slot.flags
    let now = cell.now
    if flags.contains(.repeating), offset < extras.value.wallOffset, deadline > now {
      // Stepped back: on at the next point of the grid, not where the old one has been reached again.
      deadline -= deadline.saturatingSubtract(now.saturatingAdd(1)) / slot.period * slot.period
    }
    extras.update { $0.wallOffset = offset }
    slot.deadline = deadline
    endWriting(word)
  }
}

extension QueueCore {
  /// Steps the clock as the queue with that id sees it: for tests, which may not step the machine's.
  package static func stepWallClock(_ id: UInt64, by nanoseconds: Int64) {
    guard let cell = QueueCells.find(id) else { return }
    unsafe cell.storage.pointee.wallShift.add(nanoseconds, ordering: .relaxed)
    cell.wake()
  }
}

extension QueueCell {
  private var wallShift: Int64 { unsafe storage.pointee.wallShift.load(ordering: .relaxed) }

  /// Bounds of how much the queue's clock is ahead of the monotonic one now.
  var trueWallOffset: (low: Int64, high: Int64) {
    let (low, high) = WallClock.offset
    return (low &+ wallShift, high &+ wallShift)
  }

  /// The time of day now.
  var wallNow: Int64 { Clock.wall.now &+ wallShift }

  /// How much the queue's clock is ahead of the time inside the queue, as of the last pass; 0 on other clocks.
  var wallOffset: Int64 {
    get { unsafe storage.pointee.wallOffset.load(ordering: .sequentiallyConsistent) }
    nonmutating set { unsafe storage.pointee.wallOffset.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// A time of the queue's clock as the queue keeps it; never stays never.
  @inline(__always)
  func inner(_ time: Int64) -> Int64 { isWall && time != .max ? time.saturatingSubtract(wallOffset) : time }

  /// A time that the queue keeps as its clock shows it.
  @inline(__always)
  func outer(_ time: Int64) -> Int64 { isWall && time != .max ? time.saturatingAdd(wallOffset) : time }
}

import Synchronization

/// An object that timers hold weakly. It lives as long as a user holds a reference, and until the end of callbacks that
/// have it by then. When the last user's reference goes, its timers end at once, on whatever thread.
///
/// A hold is taken before a callback and released after it. The destructor runs where the last reference or hold goes,
/// with no lock held. Any thread.
package final class TimerTarget: Sendable, ProcessState {
  /// The high half counts users' references; the low half counts holds, one of which is that of all users together.
  /// Sequentially consistent, because it pairs with the timers: a creator publishes its timer, then checks that the
  /// target lives; the last release ends the references, then visits the timers (P8b, P8c).
  private let counts = Atomic<UInt64>(TimerTarget.oneReference | 1)
  /// The first of the timers, or `end`; their side records link them.
  private let firstTimer = Locked(SlotLink.end)
  let object: Context
  private let destructor: ContextFunction?
  /// Whether the timers of a target that has gone are released, rather than cancelled and left to whoever holds them.
  let releasesTimers: Bool

  private static var oneReference: UInt64 { 1 << 32 }
  private static let table = HandleTable<TimerTarget>(.target)

  static func makeGlobals() { _ = table.find(0) }
  static func reinitialize() { table.reinitialize() }

  private init(_ object: Context, _ destructor: ContextFunction?, releasesTimers: Bool) {
    self.object = object
    self.destructor = destructor
    self.releasesTimers = releasesTimers
  }

  // MARK: By id

  /// Makes a target with one user's reference: forked, limit when the ids are used up, noMemory.
  package static func make(
    _ object: Context, _ destructor: ContextFunction?, releasesTimers: Bool = false
  ) throws(Status) -> UInt64 {
    try table.add(TimerTarget(object, destructor, releasesTimers: releasesTimers))
  }

  /// The target for a timer: targetGone if it is gone, invalidHandle if the id was never a target's. `name` is the argument.
  static func find(_ id: UInt64, _ name: StaticString = "options.target") throws(Status) -> TimerTarget {
    if let target = table.find(id) { return target }
    throw table.hasNamed(id) ? gone(id) : Status.unknown(id, .target, name)
  }

  /// Adds a user's reference and gives the object: invalidHandle if the last reference is gone, limit after 2^32.
  package static func retain(_ id: UInt64) throws(Status) -> Context {
    guard let target = table.find(id) else { throw unknown(id) }
    do { _ = try target.change { $0 >> 32 == UInt64(UInt32.max) ? nil : $0 + oneReference } } catch {
      throw error == .invalidHandle ? unknown(id) : error
    }
    return target.object
  }

  /// Drops a user's reference. With the last one the id is stale, and the target is given.
  static func dropReference(_ id: UInt64) throws(Status) -> TimerTarget? {
    guard let target = table.find(id) else { throw unknown(id) }
    let left: UInt64
    do { left = try target.change { $0 - oneReference } } catch { throw error == .invalidHandle ? unknown(id) : error }
    if left >= oneReference { return nil }
    table.remove(id)
    return target
  }

  /// Changes the counts unless the target is gone, and gives the new counts. `body` gives `nil` if a count would
  /// overflow.
  private func change(_ body: (UInt64) -> UInt64?) throws(Status) -> UInt64 {
    var current = counts.load(ordering: .relaxed)
    while true {
      if current < TimerTarget.oneReference { throw .invalidHandle }  // which the caller explains
      guard let new = body(current) else {
        throw Status.limit.because("target has as many references as can be counted")
      }
      let result = counts.compareExchange(expected: current, desired: new, ordering: .sequentiallyConsistent)
      if result.exchanged { return new }
      current = result.original
    }
  }

  /// Runs `body` with the object, which lives until it returns; false when it has gone.
  static func withObject(_ id: UInt64, _ body: (Context) throws(Forked) -> Void) throws(Forked) -> Bool {
    guard let target = table.find(id), target.retain() else { return false }
    try body(target.object)
    try target.release()
    return true
  }

  /// The status of the id in an argument `target`: ok while the target lives; targetGone; invalidHandle if there never was
  /// one.
  package static func status(of id: UInt64) -> Status {
    .of { () throws(Status) in try find(id, "target").isGone ? gone(id) : .ok }
  }

  /// Whether the target lives. For queries: it leaves no sentence.
  static func isAlive(_ id: UInt64) -> Bool { table.find(id)?.isGone == false }

  @inline(never)
  package static func gone(_ id: UInt64) -> Status {
    Status.targetGone.because("target (%n) is gone: its last reference was released", Int64(bitPattern: id))
  }

  private static func unknown(_ id: UInt64) -> Status { Status.unknown(id, .target, "target") }

  // MARK: For timers

  /// Whether the last user's reference has gone.
  var isGone: Bool { counts.load(ordering: .sequentiallyConsistent) < TimerTarget.oneReference }

  /// Keeps the object alive until `release`; false if it has gone.
  func retain() -> Bool {
    (try? change { $0 + 1 }) != nil
  }

  /// Undoes one `retain`; the last calls the destructor. True for the last.
  @discardableResult
  func release() throws(Forked) -> Bool {
    guard counts.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 else { return false }
    try destructor?(object)
    return true
  }

  /// Puts a timer, which has its side record, into the list.
  func attach(_ slot: TimerSlot) {
    guard let sideRecord = slot.sideRecordMemory else { return }
    firstTimer.withLock { first in
      sideRecord.nextOfTarget = first
      sideRecord.previousOfTarget = .end
      first.slot?.sideRecordMemory?.previousOfTarget = SlotLink(slot)
      first = SlotLink(slot)
    }
  }

  /// Takes a timer out of the list, if it is there.
  func detach(_ slot: TimerSlot) { firstTimer.withLock { TimerTarget.unlink(slot, &$0) } }

  private static func unlink(_ slot: TimerSlot, _ first: inout SlotLink) {
    guard let sideRecord = slot.sideRecordMemory, sideRecord.nextOfTarget != .none else { return }
    let (previous, next) = (sideRecord.previousOfTarget, sideRecord.nextOfTarget)
    if previous == .end { first = next } else { previous.slot?.sideRecordMemory?.nextOfTarget = next }
    next.slot?.sideRecordMemory?.previousOfTarget = previous
    sideRecord.nextOfTarget = .none
  }

  /// Takes a timer out of the list. As long as it is there its slot is not given to another.
  func takeTimer() -> (slot: TimerSlot, version: UInt32)? {
    firstTimer.withLock { first in
      guard let slot = first.slot else { return nil }
      TimerTarget.unlink(slot, &first)
      return (slot, slot.version)
    }
  }
}

/// A timer's place in the list of its target: stored behind the target's lock.
extension SideRecordView {
  fileprivate var nextOfTarget: SlotLink {
    get { record.nextOfTarget.load(ordering: .relaxed) }
    nonmutating set { record.nextOfTarget.store(newValue, ordering: .relaxed) }
  }
  fileprivate var previousOfTarget: SlotLink {
    get { record.previousOfTarget.load(ordering: .relaxed) }
    nonmutating set { record.previousOfTarget.store(newValue, ordering: .relaxed) }
  }
}

import Synchronization

/// Room for all that the passes of a queue can have to write down: so much for each slot of the queue, taken when the
/// slots are, so that a pass needs no memory (promise 19). Pages of it that are not used cost nothing.
///
/// Whoever takes slots leaves it in the control block; the pass that first meets such a slot takes it from there,
/// copies what it has in the old one, and gives that back to the system. A queue's end leaves it to the next queue.
@safe struct PassRoom: @unchecked Sendable {
  // SAFETY: mapped for `slots` times `bytes`; used by whoever holds the queue's pass lock, the deliveries behind their
  // lock.
  private let base: UnsafeMutableRawPointer
  let slots: Int

  /// A batch has at most two turns of a slot: for a pending callback, and for what is due.
  private static let itemBytes = 2 * MemoryLayout<ReadyItem>.stride
  private static let indexBytes = MemoryLayout<UInt32>.stride
  private static let indexLists = 5
  private static let bytes = 2 * itemBytes + indexLists * indexBytes

  init?(slots: Int) {
    guard let memory = unsafe Memory.map(slots * PassRoom.bytes) else { return nil }
    unsafe base = memory
    self.slots = slots
  }

  func unmap() { unsafe Memory.unmap(base, slots * PassRoom.bytes) }

  var ready: PassList<ReadyItem> { unsafe PassList(base, capacity: 2 * slots) }
  var sorting: PassList<ReadyItem> { unsafe PassList(base + slots * PassRoom.itemBytes, capacity: 2 * slots) }
  var pendingCallbacks: PassList<UInt32> { list(0) }
  var due: PassList<UInt32> { list(1) }
  var others: PassList<UInt32> { list(2) }
  var retired: PassList<UInt32> { list(3) }
  /// What a concurrent queue has handed over, or a queue that gives records has outstanding.
  var deliveries: PassList<UInt32> { list(4) }

  private func list(_ number: Int) -> PassList<UInt32> {
    unsafe PassList(base + slots * (2 * PassRoom.itemBytes + number * PassRoom.indexBytes), capacity: slots)
  }
}

/// A list in a `PassRoom`: it never grows beyond its capacity, since no slot is in it twice.
@safe struct PassList<Element: BitwiseCopyable> {
  // SAFETY: `capacity` elements, of which the first `count` have been written.
  private(set) var base: UnsafeMutablePointer<Element>?
  private(set) var capacity = 0
  private(set) var count = 0

  /// Of a queue that has no slots yet.
  init() { unsafe base = nil }

  init(_ memory: UnsafeMutableRawPointer, capacity: Int) {
    unsafe base = memory.bindMemory(to: Element.self, capacity: capacity)
    self.capacity = capacity
  }

  var isEmpty: Bool { count == 0 }
  var indices: Range<Int> { 0..<count }
  var last: Element? { count == 0 ? nil : self[count - 1] }

  @inline(__always)
  subscript(i: Int) -> Element {
    get { unsafe base.unsafelyUnwrapped[i] }
    nonmutating set { unsafe base.unsafelyUnwrapped[i] = newValue }
  }

  @inline(__always)
  mutating func append(_ element: Element) {
    if count == capacity { invariantFailure("a slot more than there is room for", Int64(capacity)) }
    unsafe base.unsafelyUnwrapped[count] = element
    count += 1
  }

  mutating func popLast() -> Element? {
    if count == 0 { return nil }
    count -= 1
    return unsafe base.unsafelyUnwrapped[count]
  }

  /// Gives the pages of a batch that was a large one back to the system.
  mutating func removeAll() {
    discard(count)
    count = 0
  }

  func discard(_ count: Int) {
    if count > 4096 { unsafe Memory.discard(base, count * MemoryLayout<Element>.stride) }
  }

  /// Moves to a larger place.
  mutating func move(to other: PassList) {
    var other = other
    if count > 0 { unsafe other.base?.update(from: base.unsafelyUnwrapped, count: count) }
    other.count = count
    self = other
  }

  /// Has the other's memory, and the other this one's, with the elements written there.
  mutating func exchangeMemory(with other: inout PassList) {
    unsafe swap(&base, &other.base)
  }
}

extension QueueCore {
  /// Takes the room that was made for more slots. The caller holds the pass lock.
  @inline(never)
  func takeRoom() {
    guard let room = control.takeRoom() else { return }
    if let handOver { handOver.move(to: room.deliveries) } else { records.outstanding.move(to: room.deliveries) }
    batch.move(to: room)
  }
}

extension QueueControlBlock {
  /// Whether there is room that the pass has not taken.
  @inline(__always)
  var hasRoom: Bool { unsafe storage.pointee.hasRoom.load(ordering: .relaxed) }

  /// Makes room for so many slots; false if it is refused.
  func makeRoom(slots: Int) -> Bool {
    guard let room = PassRoom(slots: slots) else { return false }
    leaveRoom(room)
    return true
  }

  fileprivate func takeRoom() -> PassRoom? {
    unsafe storage.pointee.room.withLock { room in
      defer { room = nil }
      unsafe storage.pointee.hasRoom.store(false, ordering: .relaxed)
      return room
    }
  }

  /// Leaves room to the pass, or to the queue that comes next. The larger of two is kept.
  func leaveRoom(_ room: PassRoom) {
    var smaller: PassRoom? = room
    unsafe storage.pointee.room.withLock { kept in
      if let kept, kept.slots > room.slots { return }
      swap(&kept, &smaller)
      unsafe storage.pointee.hasRoom.store(true, ordering: .relaxed)
    }
    smaller?.unmap()
  }
}

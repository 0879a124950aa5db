/// The ticks of a queue that gives records: they are written down for the host instead of being called back, and end when
/// the host takes again. The pass's own.
struct Records {
  /// Where they go, inside `takeTicks`; nil outside.
  var buffer: RecordBuffer?
  /// Slots whose ticks were taken and have not ended, tagged with 1 where the tick holds its target. In the `PassScratch`,
  /// since a tick needs no memory (promise 19).
  var outstanding = PassList<TaggedSlot>()
  /// Some of them have to be ended soon, by another `takeTicks`.
  var endIsWanted = false

  /// Whether the host is taking records now.
  var areTaken: Bool { buffer != nil }
  var isFull: Bool { buffer?.isFull ?? true }

  mutating func append(_ record: CoreTick) { buffer?.append(record) }

  mutating func append(_ function: QueuedFunction, at time: Int64) {
    append(
      CoreTick(
        timer: 0, generation: 0, sequence: 0, missed: 0, scheduled: time, actual: time, context: function.context,
        target: .none, kind: TickKind.function.rawValue))
  }

  /// Keeps a tick that was written down until it ends.
  mutating func keep(_ tick: StartedTick) {
    let holdsTarget = unsafe tick.isRare && tick.target != nil
    outstanding.append(TaggedSlot(tick.slot.index, holdsTarget ? 1 : 0))
    // Its end may have consequences: a target or a timer that is released.
    if tick.slot.hasSideRecord || tick.slot.flags.contains(.selfRelease) { endIsWanted = true }
  }
}

extension QueueCore {
  /// Ends the ticks that were taken as records.
  func endOutstandingRecords(_ pass: borrowing Pass) throws(Forked) {
    // On a concurrent queue the workers look at them.
    if !givesRecords { return }
    records.endIsWanted = false
    for i in records.outstanding.indices {
      var tick = StartedTick(Slab.slot(records.outstanding[i].slot))
      tick.word = tick.slot.word
      tick.isRare = records.outstanding[i].tag != 0
      if tick.isRare { unsafe tick.target = tick.slot.sideRecord?.targetOfCallback }
      try end(&tick, pass.frame)
    }
    records.outstanding.removeAll()
  }

  /// Writes down a released timer's last callbacks as records, then frees its slot; gives it back if there is no room.
  func disposeIntoRecords(_ released: consuming Writing, _ pass: borrowing Pass) throws(Forked) -> Writing? {
    let slot = released.slot
    while let sideRecord = released.sideRecord,
      sideRecord.hasPendingCallback || sideRecord.writerFields.finalizer != nil
    {
      if records.isFull { return released }
      if let delivery = popCallback(sideRecord, control.now) {
        records.append(lastCallback(of: slot, delivery.kind, .none))
      } else {
        sideRecord.writerFields.finalizer = nil
        records.append(lastCallback(of: slot, .finalize, .none))
      }
      delivered += 1
    }
    try dispose(released, pass.frame)
    return nil
  }

  /// Whether the calling thread has taken records that it has not ended by taking again.
  var hasOutstandingRecordsHere: Bool {
    givesRecords && driver.isLastThread
  }
}

/// Where the records of one `takeTicks` go: an array of the host's whose elements may be longer than a record.
@safe package struct RecordBuffer {
  // SAFETY: the host's array, for the length of the call that made this.
  private let base: UnsafeMutableRawPointer
  private let stride: Int
  private let capacity: Int
  private(set) var count = 0

  init(_ base: UnsafeMutableRawPointer, stride: Int, capacity: Int) {
    unsafe self.base = base
    self.stride = stride
    self.capacity = capacity
  }

  var isFull: Bool { count >= capacity }

  mutating func append(_ record: CoreTick) {
    // SAFETY: nothing is delivered beyond the limit of the slice, which is the capacity.
    if isFull { invariantFailure("a record more than there is room for", Int64(capacity)) }
    let element = unsafe base + count * stride
    let size = MemoryLayout<CoreTick>.size
    unsafe element.storeBytes(of: record, as: CoreTick.self)
    if stride > size { unsafe (element + size).initializeMemory(as: UInt8.self, repeating: 0, count: stride - size) }
    count += 1
  }
}

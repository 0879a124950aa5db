import Synchronization

/// One timer: 64 bytes in the slab, one cache line. Its slot's inbox link and wheel position lie beside the cells (`Slab`).
///
/// Access: any thread may read and swap `word`. The other atomics are written only by the writer (or the owner of a
/// free slot), and may be read by any thread: as a hint that a compare-and-swap on the word then proves, or between two
/// reads of the word (see `TimerSlot.snapshot`). They are stored with release order (except the activation sequence,
/// which no query reads), so that whoever reads one of them then reads a word that is at least as new (P3, P3b).
/// Everything else belongs to the writer.
@safe struct TimerCell: ~Copyable {
  let word = Atomic<UInt64>(0)
  /// Running, or suspended under *coalesce*: when the next tick is due, before postponement. Suspended under
  /// *remaining*: the time that is left.
  let deadline = Atomic<Int64>(0)
  /// Repeating: the interval. One-shot: the first delay or deadline, kept for the next activation.
  let period = Atomic<Int64>(0)
  var handler: TickFunction?
  /// While the slot is free: the next free slot (see `FreeSlots`).
  var context = Context.none
  /// Memory for a side record, which stays with the slot once allocated. It holds a timer's side record while the flag
  /// `hasSideRecord` is set.
  let sideRecord = unsafe Atomic<UnsafeMutablePointer<TimerSideRecord>?>(nil)
  let versionAndFlags = Atomic<UInt32>(0)
  let leeway = Atomic<UInt32>(0)
  /// Ticks delivered in this activation, except for the one that has finished the timer; low bits.
  let sequence = Atomic<UInt32>(0)
  /// The order among one thread's activations; breaks ties between equal deadlines (P2b).
  let activationSequence = Atomic<UInt32>(0)
}

/// Flags beside a slot's version: the parts of options and schedule that are one bit.
struct CellFlags: OptionSet {
  let rawValue: UInt32
  static let repeating = CellFlags(rawValue: 1 << 24)
  static let firstIsDeadline = CellFlags(rawValue: 1 << 25)
  static let delayPolicy = CellFlags(rawValue: 1 << 26)
  static let keepsRemaining = CellFlags(rawValue: 1 << 27)
  static let hasSchedule = CellFlags(rawValue: 1 << 28)
  static let selfRelease = CellFlags(rawValue: 1 << 29)
  /// The context is a reference to an object: see `TimerSlot.ownedContext`.
  static let ownsContext = CellFlags(rawValue: 1 << 30)
  static let hasSideRecord = CellFlags(rawValue: 1 << 31)

  static var schedule: CellFlags { [.repeating, .firstIsDeadline, .delayPolicy, .keepsRemaining, .hasSchedule] }
}

/// A timer's side record: what few timers need. It belongs to the writer, except for the atomics, which are like those
/// of the cell: their memory is never given back, so a late reader reads something valid.
@safe struct TimerSideRecord: ~Copyable {
  /// The timer finishes after this many due times; 0: no limit.
  let tickLimit = Atomic<UInt64>(0)
  /// Due times counted against the limit, delivered and missed.
  let dueCount = Atomic<UInt64>(0)
  /// Due times of this activation that got no tick of their own.
  let missed = Atomic<UInt64>(0)
  /// The cell's counter overflows into this.
  let sequenceHigh = Atomic<UInt32>(0)
  /// How often the generation has passed half of the word's range, and all of it; see `SideRecordView.generation`.
  let generationHigh = Atomic<UInt32>(0)
  /// The id of the target; 0: none.
  let targetID = Atomic<UInt64>(0)
  /// For a deadline that is a time of day: that time, which the cell's deadline follows (see
  /// `QueueControlBlock.followWallClock`). `followsNoWall` for all others.
  let wallDeadline = Atomic<Int64>(SideRecordView.followsNoWall)
  /// In the list of its target's timers: the neighbours, `end` at the ends; `none` where the
  /// timer is in none. Behind the target's lock.
  let nextOfTarget = Atomic<SlotLink>(.none)
  let previousOfTarget = Atomic<SlotLink>(.none)
  /// Allocated with the timer, and freed with it, by `Labels`; `nil` for none.
  let label = unsafe Atomic<UnsafeMutablePointer<CChar>?>(nil)
  /// While the enqueued flag is set: the slot version of the timer whose pending callback has the turn. Used by the
  /// pass only.
  let turnVersion = Atomic<UInt32>(0)
  /// The longest random part of a due time; 0: none. Of repeating timers.
  let jitter = Atomic<Int64>(0)
  /// `QueueCore.run` does not wait for the timer's end.
  let isBackground = Atomic<Bool>(false)
  /// A repeating timer's first delay or deadline, if it is not the interval.
  let hasFirst = Atomic<Bool>(false)
  let first = Atomic<Int64>(0)
  // SAFETY: retained; there until the timer has ended.
  /// The handlers that were added.
  let named = unsafe Atomic<Unmanaged<NamedHandlers>?>(nil)
  /// Policy *delay*: when a callback has ended beside a writer, to whom it left the rest; `Int64.max` for none (P4e).
  let callbackEnd = Atomic<Int64>(.max)

  /// What only the writer reads. It follows the atomics in the same allocation.
  @safe struct WriterFields {
    var finalizer: ContextFunction?
    var registrationHandler: TickFunction?
    var cancelHandler: TickFunction?
    /// One reference to the target's counts, not to its object.
    var target: Unmanaged<TimerTarget>?
    /// Periods missed before a *remaining* suspend, which belong to the next tick.
    var carriedMissed: UInt64 = 0
    /// Policy *delay*: the generation and deadline that the end of the callback under way finds, unless something decides
    /// otherwise.
    var provisional: (generation: UInt64, deadline: Int64) = (0, 0)
    /// With jitter: how much of the present deadline is its random part.
    var randomPart: Int64 = 0
    /// An extra tick was requested, at `fireTime`.
    var firePending = false
    /// A registration callback is to be delivered, after the cancel callbacks of earlier activations.
    var armedIsPending = false
    /// A due time of the present grid has been delivered. Of timers that follow the wall clock.
    var gridHasBegun = false
    var fireTime: Int64 = 0
    /// Cancel callbacks that have not been delivered.
    var pendingCancels: UInt64 = 0
  }
}

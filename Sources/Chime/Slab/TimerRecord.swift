import Synchronization

/// One timer: 64 bytes in the slab, one cache line.
///
/// Who may touch what: `word` anybody, atomically. `deadline`, `lifeAndFlags`, `leeway`, `stamp` and `extras` are
/// written only by the thread that is writer (or owns a free slot) and may be read by anybody as a hint, which a
/// compare-and-swap on the word then proves. Everything else belongs to the writer alone.
@unsafe struct TimerRecord: ~Copyable {
  let word = Atomic<UInt64>(0)
  /// Running, or suspended under *coalesce*: when the next tick is due, before postponement. Suspended under
  /// *remaining*: the time that is left.
  let deadline = Atomic<Int64>(0)
  /// Repeating: the interval. One-shot: the first delay or deadline, kept for the next activation.
  var period: Int64 = 0
  var handler: TickFunction?
  /// While the slot is free: the next free slot (see `SlotStore`).
  var context = Context.none
  let extras = unsafe Atomic<UnsafeMutablePointer<TimerExtras>?>(nil)
  let lifeAndFlags = Atomic<UInt32>(0)
  let leeway = Atomic<UInt32>(0)
  /// Ticks delivered in this activation, low bits.
  var sequence: UInt32 = 0
  /// Order of activation among those of one thread; breaks ties between equal deadlines.
  let stamp = Atomic<UInt32>(0)
}

/// Flags beside a record's life: the parts of options and schedule that are one bit.
struct RecordFlags: OptionSet {
  let rawValue: UInt32
  static let repeating = RecordFlags(rawValue: 1 << 24)
  static let firstIsDeadline = RecordFlags(rawValue: 1 << 25)
  static let delayPolicy = RecordFlags(rawValue: 1 << 26)
  static let keepsRemaining = RecordFlags(rawValue: 1 << 27)
  static let hasSchedule = RecordFlags(rawValue: 1 << 28)
  static let selfRelease = RecordFlags(rawValue: 1 << 29)
  /// The timer's queue is on the wall clock.
  static let onWallClock = RecordFlags(rawValue: 1 << 30)

  static var schedule: RecordFlags { [.repeating, .firstIsDeadline, .delayPolicy, .keepsRemaining, .hasSchedule] }
}

/// What few timers need, allocated for those. Belongs to the writer.
@safe struct TimerExtras {
  var finalizer: ContextFunction?
  var registrationHandler: TickFunction?
  var cancelHandler: TickFunction?
  /// Allocated with the extras, freed with them.
  var label: UnsafeMutablePointer<CChar>?
  /// One reference to the target's counts, which is none to its object.
  var target: Unmanaged<TimerTarget>?
  /// One reference to the handlers beside the first.
  var named: Unmanaged<NamedHandlers>?
  /// Due times until the timer is finished; 0: no limit.
  var tickLimit: UInt64 = 0
  /// Due times counted against the limit, delivered and missed.
  var dueCount: UInt64 = 0
  /// Due times of this activation that got no tick of their own.
  var missed: UInt64 = 0
  /// Periods that were missed before a *remaining* suspend and belong to the next tick.
  var carriedMissed: UInt64 = 0
  /// A repeating timer's first delay or deadline when it is not the interval.
  var first: Int64 = 0
  var hasFirst = false
  /// An extra tick was asked for, at `fireTime`.
  var firePending = false
  /// Whether the first of the pending callbacks is ARMED; they alternate.
  var nextIsArmed = false
  var fireTime: Int64 = 0
  /// The deadline is a time of day, turned into inner time with this offset (see `QueueCore.followWallClock`).
  var followsWall = false
  var wallOffset: Int64 = 0
  /// Registration and cancel callbacks that have not been delivered.
  var pendingCallbacks: UInt64 = 0
  /// The words' counters overflow into these.
  var sequenceHigh: UInt32 = 0
  var generationHigh: UInt32 = 0
}

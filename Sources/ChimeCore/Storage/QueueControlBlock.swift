internal import CPlatform
import Synchronization

/// The part of a queue that other threads touch: its id, its clock, its inbox, the time of its next wake-up and its
/// free slots. Control blocks are never unmapped and serve one queue after another; a slot stays with its control block
/// for ever, which is type-stable memory: a late thread finds a control block, though perhaps another queue's.
@safe struct QueueControlBlockStorage: ~Copyable {
  /// The id of the queue that lives here; 0 if there is none, or it has been released. A release
  /// stores 0 here, then visits all slots. A creator reads the word of its slot, then this: so it sees that the id is
  /// gone, or the release changes the word before its swap, or finds its timer (P8, Protocols.md; for calls on the
  /// whole queue P7).
  let id = Atomic<UInt64>(0)
  /// The running timer that somebody in `run` waits for.
  /// Pairs with the words: whoever waits stores this, then reads the timer's word; whoever ends a running timer swaps
  /// its word, then reads this; all sequentially consistent: store buffering (P5).
  let watched = Atomic<SlotLink>(.none)
  /// Time of a virtual queue; unused otherwise. Only grows while the queue lives (P12).
  let virtualNow = Atomic<Int64>(0)
  /// How many activations there were on a virtual queue, where their order is exact whichever threads they are on.
  let activationSequence = Atomic<UInt32>(0)
  let traits = Atomic<UInt8>(0)
  /// The clock that the queue's deadlines are kept on, where it is not virtual: `clock_gettime`'s number.
  let clock = Atomic<Int32>(chime_monotonic_clock())
  /// The wall clock was stepped, and no pass has looked at it since. Pairs with the next wake-up: who notices a step
  /// stores this, then wakes the queue; a pass stores the next wake-up, then reads this; sequentially consistent:
  /// store buffering (P13b).
  let stepIsPending = Atomic<Bool>(false)
  /// Whether the queue has had a timer in the background. A hint, stored before that timer's word: without one `run` need not
  /// ask before each callback whether it still waits for something.
  let hasHadBackground = Atomic<Bool>(false)
  let wallOffset = Atomic<Int64>(0)
  /// What a test has stepped the clock by.
  let wallShift = Atomic<Int64>(0)
  /// Whether timers are counted. This never changes, because caches bypass the count.
  let isLimited: Bool
  let index: UInt32
  /// Where a thread's state has the cache for this control block's slots (see `ThreadState.cache`).
  let cacheOffset: UInt32
  /// What wakes a host-driven queue; see `wakeHost`.
  let hostFile = Atomic<Int32>(-1)
  /// Of a host-driven queue.
  let stopRequest = StopRequest()
  private var padding0 = (three, three)

  /// When the queue will look at its wheel next; `Int64.max` for never, `QueueControlBlock.awake` while a pass is
  /// running or sure to come. Pairs with the inbox: a pass stores this, then looks at the inbox; a pusher pushes, then
  /// reads this; all sequentially consistent: store buffering, so no wake-up is lost (P1).
  let nextWakeUp = Atomic<Int64>(.max)
  /// How many passes have begun; and which number a thread had read before it woke the queue, once it has done so: until
  /// that pass begins no other thread need wake it (P1c).
  let passes = Atomic<UInt64>(1)
  let wokenSince = Atomic<UInt64>(0)
  private var padding1: (three: (UInt64, UInt64, UInt64), UInt64) = (three, 0)
  private var padding1b = (three, three, three)

  /// Slots whose word has changed and that the pass must look at: a link to the latest (P1b).
  let inbox = Atomic<SlotLink>(.none)
  private var padding2 = (three, three, three, three, three)

  let slots: Locked<SlotStore>
  /// For visits, which need no lock: the first group of its chunks, and the slots that were never given out. The latter are
  /// stored behind the lock; see `showGivenOut` (P14f).
  let firstGroup = unsafe Atomic<UnsafeMutablePointer<ChunkHead>?>(nil)
  let fresh = Atomic<SlotRange>(.none)
  /// The queue that lives here, retained; `nil` for none. See `QueueControlBlock.queue` (P7). Debuggers read it (CPlatform's
  /// layout.c).
  let queue = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
  /// Calls that use the control block, or the descriptor, for a moment, and those that wait for the descriptor; see
  /// `pinned` (P7).
  let pins = Atomic<Int32>(0)
  /// Room for what passes write down, until the pass takes it: a `PassScratch`. It is there before the slots are given out
  /// that it is for (P14i).
  let scratch = Atomic<UInt64>(0)
  /// Free slots that were given back while another thread had the lock, the latest first (P14h).
  let returned = Atomic<SlotLink>(.none)
  /// How many chunks there are or are about to be, and how many of them have slots that have all used up their versions.
  let chunkCount = Atomic<Int>(0)
  let usedUpChunks = Atomic<Int>(0)
  /// The wheel pages that the control block has without chunks. They come with the first of these.
  let firstWheelPages = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
  /// Whether these were given back since, and do not count as held.
  let firstWheelPagesHaveLeft = Atomic<Bool>(false)
  /// For a queue with a limit: how many timers may exist at once; and how many slots are given out.
  let limit = Atomic<UInt64>(.max)
  let givenOut = Atomic<GivenOut>(GivenOut())
  /// The state of the random numbers for jitter; see `randomPart` (P26).
  let randomState = Atomic<UInt64>(0)
  /// While no queue lives here: the index of the next such control block, and how much of its memory is kept, in chunks.
  /// Behind the lock of `QueueControlBlocks`.
  var free: (next: UInt32, kept: Int) = (0, 0)
  /// The version of its next id, which stays that of the queue that lives here then. Stored behind that lock.
  let idVersion = Atomic<UInt32>(1)
  /// Free slots that the lock's holders keep beside the list, and how many those should be (P14h).
  let spare = SpareSlots()
  let spareWanted = Atomic<Int>(0)
  /// The control block that was made before; see `QueueControlBlocks.latest`.
  let previous: UnsafeMutableRawPointer?

  /// 24 bytes of padding.
  private static var three: (UInt64, UInt64, UInt64) { (0, 0, 0) }

  init(index: UInt32, isLimited: Bool, previous: UnsafeMutableRawPointer?) {
    unsafe self.previous = previous
    self.index = index
    self.isLimited = isLimited
    cacheOffset = ThreadState.cacheOffset(ofControlBlock: index)
    slots = Locked(SlotStore())
  }
}

/// What a queue is, which stays so while it lives. Debuggers read the lowest (CPlatform's layout.c).
struct QueueTraits: OptionSet {
  let rawValue: UInt8

  static let virtual = QueueTraits(rawValue: 1)
  /// The queue's times are times of day. Internally they are monotonic: `wallOffset` less (P13).
  static let wall = QueueTraits(rawValue: 2)
  /// Ticks are taken as records.
  static let givesRecords = QueueTraits(rawValue: 4)
  /// Passes run only inside calls of the host: virtual and host-driven queues.
  static let runsInCalls = QueueTraits(rawValue: 8)
  static let honoursLeeway = QueueTraits(rawValue: 16)
}

/// The free slots of a control block, behind its lock, for which no thread waits longer than a change takes (P14h).
struct SlotStore {
  var free = FreeSlots()
  /// Slots that were never given out, or not since their pages were given back.
  var fresh = SlotRange.none
  /// Where to look on for a chunk whose pages were given back, if there may be one; and whether slots of such a one are the
  /// unused ones.
  var nextLeft: ChunkCursor?
  var freshHaveLeft = false
}

/// What a queue with a limit has given out: how many slots; and how many of their timers were released, whose last
/// callbacks have not run.
struct GivenOut: BitwiseCopyable {
  var slots: UInt32 = 0
  var released: UInt32 = 0
  var timers: UInt64 { UInt64(slots &- released) }
}

extension GivenOut: AtomicRepresentable {
  typealias AtomicRepresentation = UInt64.AtomicRepresentation

  static func encodeAtomicRepresentation(_ value: consuming GivenOut) -> AtomicRepresentation {
    UInt64.encodeAtomicRepresentation(UInt64(value.slots) | UInt64(value.released) << 32)
  }

  static func decodeAtomicRepresentation(_ stored: consuming AtomicRepresentation) -> GivenOut {
    let bits = UInt64.decodeAtomicRepresentation(stored)
    return GivenOut(slots: UInt32(truncatingIfNeeded: bits), released: UInt32(bits >> 32))
  }
}

/// A reference to a queue's control block; free to copy, valid for ever.
@safe package struct QueueControlBlock: @unchecked Sendable, Equatable {
  // SAFETY: control blocks are never deallocated, and all their fields are atomics, mutexes or constants.
  let pointer: UnsafeMutablePointer<QueueControlBlockStorage>

  var storage: QueueControlBlockStorage {
    unsafeAddress { unsafe UnsafePointer(pointer) }
    nonmutating unsafeMutableAddress { unsafe pointer }
  }

  static var awake: Int64 { .min }
  /// When the queue is to wake up for a callback that is no tick. In a batch such a callback has `.min`, and no tick a time
  /// before this one.
  static var atOnce: Int64 { .min + 1 }

  init(_ memory: UnsafeMutableRawPointer) {
    unsafe pointer = memory.assumingMemoryBound(to: QueueControlBlockStorage.self)
  }

  package static func == (a: QueueControlBlock, b: QueueControlBlock) -> Bool { unsafe a.pointer == b.pointer }

  var index: UInt32 { storage.index }
  var free: (next: UInt32, kept: Int) {
    get { storage.free }
    nonmutating set { storage.free = newValue }
  }
  var idVersion: UInt32 {
    get { storage.idVersion.load(ordering: .acquiring) }
    nonmutating set { storage.idVersion.store(newValue, ordering: .releasing) }
  }
  var cacheOffset: Int { Int(storage.cacheOffset) }
  var isLimited: Bool { storage.isLimited }

  var hasHadBackground: Bool {
    get { storage.hasHadBackground.load(ordering: .relaxed) }
    nonmutating set { storage.hasHadBackground.store(newValue, ordering: .relaxed) }
  }
  var traits: QueueTraits {
    get { QueueTraits(rawValue: storage.traits.load(ordering: .relaxed)) }
    nonmutating set { storage.traits.store(newValue.rawValue, ordering: .releasing) }
  }

  package var isVirtual: Bool { traits.contains(.virtual) }
  var isWall: Bool { traits.contains(.wall) }
  /// Whether timers without rare options are created by `TimerRef.createFast`.
  var createsFast: Bool { traits.isDisjoint(with: [.wall, .givesRecords]) }
  var givesRecords: Bool { traits.contains(.givesRecords) }
  var runsInCalls: Bool { traits.contains(.runsInCalls) }
  var honoursLeeway: Bool { traits.contains(.honoursLeeway) }

  /// A tick of the queue's wheel is 2^shift nanoseconds.
  var shift: UInt64 { isVirtual ? 0 : WheelTicks.tickShift }

  var id: UInt64 {
    get { storage.id.load(ordering: .sequentiallyConsistent) }
    nonmutating set { storage.id.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// Takes the id away; true for the one caller that did it.
  func clearID(_ id: UInt64) -> Bool {
    storage.id.compareExchange(expected: id, desired: 0, ordering: .sequentiallyConsistent).exchanged
  }

  /// Runs `body`, in which the control block does not become another queue's, and the host's descriptor, if there is one
  /// yet, is not closed. Async-signal-safe.
  ///
  /// This raises the count, then reads the id or the descriptor; the end of a queue takes both away, then waits for the
  /// count; all sequentially consistent: store buffering (P7).
  func pinned<Result>(_ body: () -> Result) -> Result {
    storage.pins.wrappingAdd(1, ordering: .sequentiallyConsistent)
    defer { storage.pins.wrappingAdd(-1, ordering: .sequentiallyConsistent) }
    return body()
  }

  var isPinned: Bool { storage.pins.load(ordering: .sequentiallyConsistent) > 0 }

  /// Waits until nobody uses what has been taken away: a few instructions, as those who wait for the descriptor have been
  /// woken.
  func waitForPins() {
    var spinWait = SpinWait()
    while isPinned { spinWait.pause() }
  }

  // MARK: Time

  /// The number of the clock that the queue's deadlines are kept on.
  var clockNumber: Int32 { storage.clock.load(ordering: .relaxed) }

  /// The queue's internal time, in which its deadlines are kept: its clock's time, except on the wall clock.
  package var now: Int64 {
    isVirtual ? virtualNow : Clock.time(of: clockNumber)
  }

  /// The time on the clock of the queue with that id, without pinning the control block: what is asked of it is read
  /// between two looks at the id. `nil` if another queue lives here by now, or where more is to be read (P14b).
  func clockTime(ifStill id: UInt64) -> Int64? {
    if isVirtual || isWall { return nil }
    let now = Clock.time(of: clockNumber)
    // Pairs with the releases of `prepare`: who has read what the next queue's maker has stored sees that the id has gone.
    atomicMemoryFence(ordering: .acquiring)
    return self.id == id ? now : nil
  }

  var isBoottime: Bool { clockNumber == chime_boottime_clock() }

  /// A time of the queue as one of the monotonic clock, for those who wait by that; not earlier. True until the system
  /// sleeps, after which the queue makes a pass (`WallClock`).
  func monotonicTime(_ time: Int64) -> Int64 {
    if time == .max || !isBoottime { return time }
    return time.saturatingSubtract(now).saturatingAdd(Clock.monotonic.now)
  }

  /// The time at which a delay from now is over.
  @inline(never)
  func deadline(after delay: Int64) -> Int64 { now.saturatingAdd(delay) }

  var virtualNow: Int64 { storage.virtualNow.load(ordering: .acquiring) }

  /// Moves virtual time forward to a point, if that is later.
  func moveVirtualNow(to time: Int64) {
    if time > virtualNow { _ = storage.virtualNow.max(time, ordering: .sequentiallyConsistent) }
  }

  /// Converts the queue's internal time to what its clock shows: wall time on the wall clock.
  func wallTime(_ time: Int64) -> Int64 { isWall ? wallOffset.time(of: time) : time }

  /// The number of an activation on the calling thread, whose state that is: later ones have higher numbers, among those
  /// of one thread; on a virtual queue among all (P2b).
  func nextActivationSequence(_ thread: ThreadState) -> UInt32 {
    isVirtual
      ? storage.activationSequence.wrappingAdd(1, ordering: .relaxed).newValue
      : thread.nextActivationSequence()
  }

  // MARK: Inbox and wake-up

  var nextWakeUp: Int64 {
    get { storage.nextWakeUp.load(ordering: .sequentiallyConsistent) }
    nonmutating set { storage.nextWakeUp.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// Links a slot whose inbox flag the caller has just set (P1b).
  func push(_ slot: TimerSlot) {
    let link = unsafe slot.inboxLink
    var head = storage.inbox.load(ordering: .relaxed)
    while true {
      unsafe link.pointee.store(head, ordering: .relaxed)
      let result = storage.inbox.compareExchange(
        expected: head, desired: SlotLink(slot), ordering: .sequentiallyConsistent)
      if result.exchanged { return }
      head = result.original
    }
  }

  var inboxIsEmpty: Bool { storage.inbox.load(ordering: .sequentiallyConsistent) == .none }

  /// Takes everything out of the inbox and calls `body` for each slot, with its word as it was left.
  func drain(_ body: (TimerSlot, TimerWord) -> Void) {
    var head = storage.inbox.exchange(.none, ordering: .sequentiallyConsistent)
    while let slot = head.slot {
      // The link is read before the flag is cleared: from then on the slot may be pushed again.
      head = unsafe slot.inboxLink.pointee.load(ordering: .relaxed)
      body(slot, slot.clear(TimerWord.inboxBit).clearing(TimerWord.inboxBit))
    }
  }

  /// Makes sure that a pass comes at `time` at the latest. Called after the word, and the push, are visible. The pass
  /// comes at whole ticks of the wheel, so that a time which belongs to the same tick wakes nobody.
  @inline(__always)
  func wakeIfEarlier(_ time: Int64) {
    let nextWakeUp = nextWakeUp
    guard time < nextWakeUp else { return }
    if WheelTicks.time(of: WheelTicks.tick(notBefore: time, shift: shift), shift: shift) < nextWakeUp { wake() }
  }

  /// Whether a pass will begin later than what the caller has done: a thread has woken the queue, and that pass has not begun
  /// yet. Pairs with `countPass` (P1c).
  var isWoken: Bool { isWoken(before: storage.passes.load(ordering: .sequentiallyConsistent)) }

  private func isWoken(before passes: UInt64) -> Bool {
    storage.wokenSince.load(ordering: .sequentiallyConsistent) == passes
  }

  /// A pass begins: what was done before this, it will see.
  func countPass() { storage.passes.wrappingAdd(1, ordering: .sequentiallyConsistent) }

  /// Makes sure that a pass comes now (P1c).
  func wake() {
    // Read before the kind: a number of this queue's, then, or one that is over (P1c).
    let passes = storage.passes.load(ordering: .sequentiallyConsistent)
    if !runsInCalls { return wakeAsAll(passes) }
    if storage.nextWakeUp.exchange(QueueControlBlock.awake, ordering: .sequentiallyConsistent)
      != QueueControlBlock.awake
    {
      queue?.wakeDriver()
    }
  }

  /// `wake` where nobody waits for another thread that is about to do it: each thread that does not see it done calls the
  /// driver.
  @inline(never)
  private func wakeAsAll(_ passes: UInt64) {
    // Stored by passes only, which look at everything once more before they sleep.
    if nextWakeUp == QueueControlBlock.awake { return }
    if isWoken(before: passes) { return }
    guard let queue else { return }
    queue.wakeDriver()
    storage.wokenSince.store(passes, ordering: .sequentiallyConsistent)
  }

  /// Has the callbacks and finalizer of a released timer called: by a pass, or here when passes run inside calls and
  /// none does.
  func wakeToDispose() throws(Forked) {
    guard runsInCalls, let queue else { return wake() }
    try queue.disposeInCall()
  }

  /// The queue that lives here. Whoever asks pins the control block, then reads the pointer, and retains what it points to;
  /// the queue's end takes the pointer away, then waits for the pins (P7).
  var queue: ControlledQueue? {
    pinned {
      unsafe storage.queue.load(ordering: .sequentiallyConsistent).map {
        unsafe Unmanaged<ControlledQueue>.fromOpaque($0).takeUnretainedValue()
      }
    }
  }

  func begin(_ queue: ControlledQueue) {
    // What a thread says late of the queue before is not true of this one.
    countPass()
    unsafe storage.queue.store(Unmanaged.passRetained(queue).toOpaque(), ordering: .sequentiallyConsistent)
  }

  /// The queue has ended. Returns when nobody uses the control block for it any more.
  func endQueue() {
    let old = unsafe storage.queue.exchange(nil, ordering: .sequentiallyConsistent)
    waitForPins()
    if let old = unsafe old { unsafe Unmanaged<ControlledQueue>.fromOpaque(old).release() }
  }

  // MARK: The timer that somebody in `run` waits for

  /// See `QueueControlBlockStorage.watched`.
  /// `SlotLink.end`: the timer that was watched has ended, and nobody has looked since (P5b).
  var watched: SlotLink {
    get { storage.watched.load(ordering: .sequentiallyConsistent) }
    nonmutating set { storage.watched.store(newValue, ordering: .sequentiallyConsistent) }
  }

  /// A timer that ran does not run any more, or will never be due: whoever sleeps in `run` looks again if it is the one
  /// that is watched (P5).
  func wakeRunIfWatched(_ slot: TimerSlot) {
    if isWatching(slot) { wakeSleeper(watching: SlotLink(slot)) }
  }

  func isWatching(_ slot: TimerSlot) -> Bool { watched == SlotLink(slot) }

  @inline(never)
  private func wakeSleeper(watching slot: SlotLink) {
    let result = storage.watched.compareExchange(
      expected: slot, desired: .end, ordering: .sequentiallyConsistent)
    if result.exchanged { wakeHost() }
  }

  // MARK: The host's descriptor

  var hostFile: Int32 { storage.hostFile.load(ordering: .sequentiallyConsistent) }

  /// Makes the descriptor readable. Async-signal-safe.
  func wakeHost() {
    pinned {
      let file = hostFile
      if file >= 0 { TimerFile.wake(file) }
    }
  }
}

/// The queue's random numbers, for the jitter of its timers; any thread. SplitMix64 (G. L. Steele, D. Lea, C. H. Flood:
/// "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014; the constants are those of S. Vigna's splitmix64.c): the
/// state is a counter, so that one atomic addition draws, and two threads never draw the same number.
extension QueueControlBlock {
  private static var increment: UInt64 { 0x9E37_79B9_7F4A_7C15 }

  /// A number from 0 to `most`, each as likely as the others.
  ///
  /// A virtual queue's numbers begin with its seed; another queue's with the time of the first draw.
  /// - Parameter most: 0 or more.
  func randomPart(upTo most: Int64) -> Int64 {
    if !isVirtual, storage.randomState.load(ordering: .relaxed) == 0 { seedFromClock() }
    let state = storage.randomState.wrappingAdd(QueueControlBlock.increment, ordering: .relaxed).newValue
    // The high half of the product, as D. Lemire has it ("Fast Random Integer Generation in an Interval", 2019), without
    // the step that makes it exact: no two numbers' odds differ by more than `most` in 2^64.
    return Int64((UInt64(most) &+ 1).multipliedFullWidth(by: QueueControlBlock.mixed(state)).high)
  }

  private static func mixed(_ state: UInt64) -> UInt64 {
    var z = state
    z = (z ^ z >> 30) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ z >> 27) &* 0x94D0_49BB_1331_11EB
    return z ^ z >> 31
  }

  /// Queues of one process differ by their ids, those of two machines by the time.
  @inline(never)
  private func seedFromClock() {
    let seed =
      QueueControlBlock.mixed(UInt64(bitPattern: Clock.wall.now) ^ id) ^ UInt64(bitPattern: Clock.monotonic.now)
    // Where two threads do this at once, both add: the sum is as good a beginning.
    storage.randomState.wrappingAdd(seed | 1, ordering: .relaxed)
  }
}

/// What a control block knows of its queue, which stands above: `QueueCore`.
package class ControlledQueue: @unchecked Sendable {
  /// Has the driver make a pass now. Any thread.
  func wakeDriver() {}
  /// Has a released timer's callbacks and finalizer called, on a queue whose passes run inside calls of the host: here,
  /// if the calling thread may and no pass is running.
  func disposeInCall() throws(Forked) {}
  /// The word of a timer whose interval counts from the end of its handler, for a writer beside whom that ended; `nil` if a
  /// later transition has decided otherwise.
  func counted(_: borrowing Writing, fromEnd _: Int64, _: TimerWord) -> TimerWord? { nil }
  /// Whether callbacks of a concurrent queue are under way.
  var isHeldUp: Bool { false }
}

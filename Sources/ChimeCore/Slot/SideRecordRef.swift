internal import CPlatform
import Synchronization

/// A timer's side record; belongs to whoever is the timer's writer.
@safe struct SideRecordRef {
  // SAFETY: allocated by `allocate`, and never freed: the memory stays with its slot.
  let pointer: UnsafeMutablePointer<TimerSideRecord>

  @inline(__always)
  init(_ pointer: UnsafeMutablePointer<TimerSideRecord>) { unsafe self.pointer = pointer }

  /// The wall deadline of a timer whose deadline does not follow the wall clock.
  static var followsNoWall: Int64 { .min }

  /// - Parameter fromReserve: it may come out of the reserve, which `calloc` draws on (CPlatform's memory.c).
  static func allocate(fromReserve: Bool) -> SideRecordRef? {
    let bytes = writerFieldsOffset + MemoryLayout<TimerSideRecord.WriterFields>.size
    guard let memory = unsafe fromReserve ? calloc(1, bytes) : malloc(bytes) else { return nil }
    let typed = unsafe memory.bindMemory(to: TimerSideRecord.self, capacity: 1)
    unsafe typed.initialize(to: TimerSideRecord())
    let sideRecord = unsafe SideRecordRef(typed)
    unsafe sideRecord.writerFieldsPointer.initialize(to: TimerSideRecord.WriterFields())
    return sideRecord
  }

  /// Behind the atomics and not one of their members: a change of a member is one of the whole to Swift, and so to the
  /// thread sanitizer, beside others who read the atomics.
  private static var writerFieldsOffset: Int { unsafe (MemoryLayout<TimerSideRecord>.size + 15) & ~15 }

  @inline(__always)
  private var writerFieldsPointer: UnsafeMutablePointer<TimerSideRecord.WriterFields> {
    // SAFETY: `allocate` has put it there.
    unsafe (UnsafeMutableRawPointer(pointer) + SideRecordRef.writerFieldsOffset)
      .assumingMemoryBound(to: TimerSideRecord.WriterFields.self)
  }

  /// What is the writer's alone.
  @inline(__always)
  var writerFields: TimerSideRecord.WriterFields {
    get { unsafe writerFieldsPointer.pointee }
    nonmutating _modify { yield unsafe &writerFieldsPointer.pointee }
  }

  /// Resets it for a new timer; `generationHigh` is the caller's.
  func reset() {
    writerFields = TimerSideRecord.WriterFields()
    tickLimit = 0
    dueCount = 0
    missed = 0
    sequenceHigh = 0
    targetID = 0
    isBackground = false
    jitter = 0
    wallDeadline = SideRecordRef.followsNoWall
  }

  /// Releases what it holds.
  func end() {
    unsafe writerFields.target?.release()
    unsafe writerFields.named?.release()
    unsafe (writerFields.target, writerFields.named) = (nil, nil)
    if let label = unsafe label {
      unsafe self.label = nil
      unsafe Labels.free(label)
    }
  }

  @inline(__always)
  var target: TimerTarget? { unsafe writerFields.target?.takeUnretainedValue() }

  /// Notes that a registration or cancel callback is to be delivered. They alternate, whatever happens: between two
  /// activations that were not delivered there is a cancel, and the other way round.
  func addCallback(_ kind: TickKind) {
    if writerFields.pendingCallbacks == 0 { writerFields.nextIsArmed = kind == .armed }
    writerFields.pendingCallbacks += 1
  }

  /// Whether a tick in time is the same as it would be without the side record, if no callback is pending.
  var changesNoTick: Bool {
    unsafe writerFields.target == nil && writerFields.named == nil && writerFields.carriedMissed == 0 && tickLimit == 0
      && jitter == 0
      && wallDeadline == SideRecordRef.followsNoWall
  }

  /// Whether something is to be called when the timer is released.
  var hasLastWork: Bool {
    unsafe writerFields.finalizer != nil || writerFields.pendingCallbacks > 0 || writerFields.named != nil
  }

  @inline(__always)
  var named: NamedHandlers? { unsafe writerFields.named?.takeUnretainedValue() }

  // MARK: Read by anybody (see `TimerCell`)

  var tickLimit: UInt64 {
    get { unsafe pointer.pointee.tickLimit.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.tickLimit.store(newValue, ordering: .releasing) }
  }
  var isBackground: Bool {
    get { unsafe pointer.pointee.isBackground.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.isBackground.store(newValue, ordering: .releasing) }
  }
  var jitter: Int64 {
    get { unsafe pointer.pointee.jitter.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.jitter.store(newValue, ordering: .releasing) }
  }
  var dueCount: UInt64 {
    get { unsafe pointer.pointee.dueCount.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.dueCount.store(newValue, ordering: .releasing) }
  }
  var missed: UInt64 {
    get { unsafe pointer.pointee.missed.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.missed.store(newValue, ordering: .releasing) }
  }
  var sequenceHigh: UInt32 {
    get { unsafe pointer.pointee.sequenceHigh.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.sequenceHigh.store(newValue, ordering: .releasing) }
  }
  var generationHigh: UInt32 {
    get { unsafe pointer.pointee.generationHigh.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.generationHigh.store(newValue, ordering: .releasing) }
  }

  /// The whole generation of a timer with that word. `generationHigh` counts halves of the word's range, and its last bit
  /// is the word's highest one: unless a writer has raised it and not yet swapped the word.
  func generation(_ word: TimerWord) -> UInt64 {
    let halves = generationHigh
    let settled = halves & 1 == word.generationHalf ? halves : halves &- 1
    return UInt64(settled >> 1) << TimerWord.generationBits | word.generation
  }

  /// Behind the target's lock.
  var nextOfTarget: SlotLink {
    get { unsafe pointer.pointee.nextOfTarget.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.nextOfTarget.store(newValue, ordering: .relaxed) }
  }
  var previousOfTarget: SlotLink {
    get { unsafe pointer.pointee.previousOfTarget.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.previousOfTarget.store(newValue, ordering: .relaxed) }
  }
  /// Read only inside `Labels.read`, except by the writer.
  var label: UnsafeMutablePointer<CChar>? {
    get { unsafe pointer.pointee.label.load(ordering: .acquiring) }
    nonmutating set { unsafe pointer.pointee.label.store(newValue, ordering: .releasing) }
  }
  var wallDeadline: Int64 {
    get { unsafe pointer.pointee.wallDeadline.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.wallDeadline.store(newValue, ordering: .releasing) }
  }
  var targetID: UInt64 {
    get { unsafe pointer.pointee.targetID.load(ordering: .relaxed) }
    nonmutating set { unsafe pointer.pointee.targetID.store(newValue, ordering: .releasing) }
  }
}

/// The labels of timers. A label is not freed while it is being read, and a reader holds others up only as long as it
/// takes to copy one: the lock has priority inheritance.
enum Labels: ProcessState {
  private static let lock = Locked(())

  static func makeGlobals() { lock.withLock { _ in } }
  static func reinitialize() { lock.reinitialize() }

  /// A copy of a label; `nil` when there is no memory.
  static func copy(_ text: UnsafePointer<CChar>) -> UnsafeMutablePointer<CChar>? {
    let count = unsafe strlen(text)
    guard let memory = unsafe malloc(count + 1) else { return nil }
    return unsafe Text.copy(text, count, to: memory)
  }

  static func free(_ label: UnsafeMutablePointer<CChar>) { lock.withLock { _ in unsafe CPlatform.free(label) } }

  /// Runs `body`, in which no label is freed.
  static func read<Result>(_ body: () -> Result) -> Result { lock.withLock { _ in body() } }
}

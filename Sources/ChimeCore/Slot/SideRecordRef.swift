internal import CPlatform
import Synchronization

/// A timer's side record, as its writer stores it: there is none without a `Writing`.
@safe struct SideRecordRef {
  let view: SideRecordView

  init(_ view: SideRecordView, of _: borrowing Writing) { self.view = view }

  /// - Parameter fromReserve: it may come out of the reserve, which `calloc` draws on (CPlatform's memory.c).
  init?(allocatedFor _: borrowing Writing, fromReserve: Bool) {
    let bytes = SideRecordView.writerFieldsOffset + MemoryLayout<TimerSideRecord.WriterFields>.size
    guard let memory = unsafe fromReserve ? calloc(1, bytes) : malloc(bytes) else { return nil }
    let typed = unsafe memory.bindMemory(to: TimerSideRecord.self, capacity: 1)
    unsafe typed.initialize(to: TimerSideRecord())
    view = unsafe SideRecordView(typed)
    unsafe view.writerFieldsPointer.initialize(to: TimerSideRecord.WriterFields())
  }

  /// What only the writer reads.
  var writerFields: TimerSideRecord.WriterFields {
    unsafeAddress { unsafe UnsafePointer(view.writerFieldsPointer) }
    nonmutating unsafeMutableAddress { unsafe view.writerFieldsPointer }
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
    hasFirst = false
    jitter = 0
    view.record.callbackEnd.store(.max, ordering: .relaxed)
    wallDeadline = SideRecordView.followsNoWall
  }

  /// Releases what it holds.
  func end() {
    unsafe writerFields.target?.release()
    unsafe writerFields.target = nil
    unsafe view.record.named.exchange(nil, ordering: .acquiringAndReleasing)?.release()
    if let label = unsafe label {
      unsafe self.label = nil
      unsafe Labels.free(label)
    }
  }

  var target: TimerTarget? { unsafe writerFields.target?.takeUnretainedValue() }

  /// Notes that the timer was activated: its registration callback is to be delivered.
  func noteActivation() { writerFields.armedIsPending = writerFields.registrationHandler != nil }

  /// Notes that a running or suspended timer ends: its cancel callback is to be delivered, and no registration or extra
  /// tick that has not begun. So a pending registration is always that of the latest activation.
  func noteStop() {
    writerFields.armedIsPending = false
    writerFields.firePending = false
    if writerFields.cancelHandler != nil { writerFields.pendingCancels += 1 }
  }

  /// Policy *delay*: a callback starts, until whose end the timer is due by then.
  func noteStart(_ generation: UInt64, provisionally deadline: Int64) {
    writerFields.provisional = (generation, deadline)
  }

  /// When the callback has ended that left the rest of its end to the writer; `nil` if none did.
  func takeCallbackEnd() -> Int64? {
    let end = view.record.callbackEnd.exchange(.max, ordering: .sequentiallyConsistent)
    return end == .max ? nil : end
  }

  /// Whether a registration or cancel callback is to be delivered.
  var hasPendingCallback: Bool { writerFields.armedIsPending || writerFields.pendingCancels > 0 }

  /// Whether a tick in time is the same as it would be without the side record, if no callback is pending.
  var changesNoTick: Bool {
    unsafe writerFields.target == nil && view.named == nil && writerFields.carriedMissed == 0 && tickLimit == 0
      && jitter == 0
      && wallDeadline == SideRecordView.followsNoWall
  }

  /// Whether something is to be called when the timer is released.
  var hasLastWork: Bool {
    unsafe writerFields.finalizer != nil || hasPendingCallback || view.named != nil
  }

  var named: NamedHandlers? { unsafe view.named?.takeUnretainedValue() }

  /// Those that were added, and will be.
  func makeNamed() -> NamedHandlers {
    if let named { return named }
    let fresh = NamedHandlers()
    unsafe view.record.named.store(Unmanaged.passRetained(fresh), ordering: .releasing)
    return fresh
  }

  // MARK: Stored here, read by any thread

  var tickLimit: UInt64 {
    get { view.tickLimit }
    nonmutating set { view.record.tickLimit.store(newValue, ordering: .releasing) }
  }
  var isBackground: Bool {
    get { view.isBackground }
    nonmutating set { view.record.isBackground.store(newValue, ordering: .releasing) }
  }
  var jitter: Int64 {
    get { view.jitter }
    nonmutating set { view.record.jitter.store(newValue, ordering: .releasing) }
  }
  var hasFirst: Bool {
    get { view.hasFirst }
    nonmutating set { view.record.hasFirst.store(newValue, ordering: .releasing) }
  }
  var first: Int64 {
    get { view.first }
    nonmutating set { view.record.first.store(newValue, ordering: .releasing) }
  }
  var dueCount: UInt64 {
    get { view.dueCount }
    nonmutating set { view.record.dueCount.store(newValue, ordering: .releasing) }
  }
  var missed: UInt64 {
    get { view.missed }
    nonmutating set { view.record.missed.store(newValue, ordering: .releasing) }
  }
  var sequenceHigh: UInt32 {
    get { view.sequenceHigh }
    nonmutating set { view.record.sequenceHigh.store(newValue, ordering: .releasing) }
  }
  var generationHigh: UInt32 {
    get { view.generationHigh }
    nonmutating set { view.record.generationHigh.store(newValue, ordering: .releasing) }
  }

  var label: UnsafeMutablePointer<CChar>? {
    get { unsafe view.label }
    nonmutating set { unsafe view.record.label.store(newValue, ordering: .releasing) }
  }
  var wallDeadline: Int64 {
    get { view.wallDeadline }
    nonmutating set { view.record.wallDeadline.store(newValue, ordering: .releasing) }
  }
  var targetID: UInt64 {
    get { view.targetID }
    nonmutating set { view.record.targetID.store(newValue, ordering: .releasing) }
  }
}

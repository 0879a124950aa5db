import Synchronization

/// A timer at one moment: its word, and what queries report of its record. A plain value.
struct TimerImage {
  var word: TimerWord
  var deadline: Int64
  var period: Int64
  var versionAndFlags: UInt32
  var leeway: CompactDuration
  var sequenceLow: UInt32
  var tickLimit: UInt64 = 0
  var dueCount: UInt64 = 0
  var missed: UInt64 = 0
  var sequenceHigh: UInt32 = 0
  var generationHigh: UInt32 = 0
  var targetID: UInt64 = 0
  var wallOffset = SideRecordRef.followsNoWall

  var version: UInt32 { versionAndFlags & Handle.versionMask }
  var flags: RecordFlags { RecordFlags(rawValue: versionAndFlags & ~Handle.versionMask) }
  var generation: UInt64 { UInt64(generationHigh) << TimerWord.generationBits | word.generation }
  var sequence: UInt64 { UInt64(sequenceHigh) << 32 | UInt64(sequenceLow) }
  /// When a running timer is due.
  var dueTime: Int64 { word.dueTime(deadline) }

  /// The same on the queue's clock; `Int64.max` for a timer that is not running.
  func wallDueTime(_ control: QueueControlBlock) -> Int64 {
    guard word.isRunning else { return .max }
    return flags.contains(.onWallClock) ? control.wallTime(dueTime, own: wallOffset) : dueTime
  }
}

/// Where a thread that is writer of a timer leaves the timer's image as it was before: so a query, and a pass that has
/// to place the timer, need not wait for a writer that the system has taken off its processor (promise 18).
///
/// Each thread has one, as it writes one timer at a time. The memory is never unmapped and goes from thread to thread.
/// `imageVersion` is odd from before the writer bit is set until the image is complete; as long as it is odd, the
/// record has not been changed. Writer: makes the image version odd, another one for each try, notes the word, sets the
/// writer bit, copies the record, makes the image version even, changes the record. Reader: reads the image version;
/// the word, which must name this image; the image, or the record where the image version is odd; the image version
/// again. If that is the same, what was read belongs together. The reader repeats this only if another operation has
/// ended in the meantime (P3, Sources/README.md).
@safe struct WriterImage: @unchecked Sendable {
  @unsafe fileprivate struct Storage: ~Copyable {
    let imageVersion = Atomic<UInt32>(0)
    let versionAndFlags = Atomic<UInt32>(0)
    let word = Atomic<UInt64>(0)
    let deadline = Atomic<Int64>(0)
    let period = Atomic<Int64>(0)
    let leeway = Atomic<UInt32>(0)
    let sequence = Atomic<UInt32>(0)
    let tickLimit = Atomic<UInt64>(0)
    let dueCount = Atomic<UInt64>(0)
    let missed = Atomic<UInt64>(0)
    let sequenceHigh = Atomic<UInt32>(0)
    let generationHigh = Atomic<UInt32>(0)
    let targetID = Atomic<UInt64>(0)
    let wallOffset = Atomic<Int64>(SideRecordRef.followsNoWall)
    let changesAtHome = Atomic<Bool>(false)
    private var padding: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
  }

  // SAFETY: points into the table of images, which is never unmapped; all fields are atomics.
  private let storage: UnsafeMutablePointer<Storage>
  let index: UInt32

  fileprivate init(_ storage: UnsafeMutablePointer<Storage>, _ index: UInt32) {
    unsafe self.storage = storage
    self.index = index
  }

  /// Of an image that no thread has: the next such one.
  fileprivate var nextFree: UInt32 {
    get { unsafe storage.pointee.sequence.load(ordering: .relaxed) }
    nonmutating set { unsafe storage.pointee.sequence.store(newValue, ordering: .relaxed) }
  }

  /// Whether the thread is changing a word by a plain store; see `QueueControlBlock.beginAtHome`.
  @inline(__always)
  var changesAtHome: Bool {
    get { unsafe storage.pointee.changesAtHome.load(ordering: .acquiring) }
    nonmutating set { unsafe storage.pointee.changesAtHome.store(newValue, ordering: .releasing) }
  }

  /// Before the swap that sets the writer bit: each try has an image version of its own, which is odd.
  @inline(__always)
  func prepare(_ word: TimerWord) {
    let imageVersion = unsafe storage.pointee.imageVersion.load(ordering: .relaxed)
    unsafe storage.pointee.imageVersion.store(imageVersion &+ 1 &+ (imageVersion & 1), ordering: .releasing)
    atomicMemoryFence(ordering: .releasing)
    unsafe storage.pointee.word.store(word.bits, ordering: .relaxed)
  }

  /// After it: copies the record, which is now this thread's and has not been changed. Changes are stored with release
  /// order, so that whoever sees one also sees the new image version.
  @inline(__always)
  func take(_ slot: TimerSlot) {
    let versionAndFlags = slot.versionAndFlags
    unsafe storage.pointee.versionAndFlags.store(versionAndFlags, ordering: .relaxed)
    unsafe storage.pointee.deadline.store(slot.deadline, ordering: .relaxed)
    unsafe storage.pointee.period.store(slot.period, ordering: .relaxed)
    unsafe storage.pointee.leeway.store(slot.leeway.bits, ordering: .relaxed)
    unsafe storage.pointee.sequence.store(slot.sequence, ordering: .relaxed)
    if versionAndFlags & RecordFlags.hasSideRecord.rawValue != 0 { takeSideRecord(slot) }
    let imageVersion = unsafe storage.pointee.imageVersion.load(ordering: .relaxed)
    unsafe storage.pointee.imageVersion.store(imageVersion &+ 1, ordering: .releasing)
  }

  @inline(never)
  private func takeSideRecord(_ slot: TimerSlot) {
    guard let sideRecord = slot.sideRecord else { return }
    unsafe storage.pointee.tickLimit.store(sideRecord.tickLimit, ordering: .relaxed)
    unsafe storage.pointee.dueCount.store(sideRecord.dueCount, ordering: .relaxed)
    unsafe storage.pointee.missed.store(sideRecord.missed, ordering: .relaxed)
    unsafe storage.pointee.sequenceHigh.store(sideRecord.sequenceHigh, ordering: .relaxed)
    unsafe storage.pointee.generationHigh.store(sideRecord.generationHigh, ordering: .relaxed)
    unsafe storage.pointee.targetID.store(sideRecord.targetID, ordering: .relaxed)
    unsafe storage.pointee.wallOffset.store(sideRecord.wallOffset, ordering: .relaxed)
  }

  /// The timer before the writer that `word` names; `nil` if another operation has ended in the meantime.
  fileprivate func read(_ slot: TimerSlot, _ word: TimerWord) -> TimerImage? {
    let imageVersion = unsafe storage.pointee.imageVersion.load(ordering: .acquiring)
    // Not before the image version: that could be of a try which has not set the writer bit yet (P3,
    // Sources/README.md).
    let current = slot.word
    guard current.hasWriter(of: word) else { return nil }
    let before = unsafe TimerWord(storage.pointee.word.load(ordering: .relaxed))
    var image = imageVersion & 1 != 0 ? slot.copy(before) : copy(before)
    atomicMemoryFence(ordering: .acquiring)
    guard unsafe storage.pointee.imageVersion.load(ordering: .relaxed) == imageVersion else { return nil }
    // A handler may have ended in the meantime. Whether one starts, the writer is about to decide.
    if !current.isBusy { image.word = image.word.clearing(TimerWord.busyBit) }
    return image
  }

  private func copy(_ word: TimerWord) -> TimerImage {
    var image = unsafe TimerImage(
      word: word, deadline: storage.pointee.deadline.load(ordering: .relaxed),
      period: storage.pointee.period.load(ordering: .relaxed),
      versionAndFlags: storage.pointee.versionAndFlags.load(ordering: .relaxed),
      leeway: CompactDuration(bits: storage.pointee.leeway.load(ordering: .relaxed)),
      sequenceLow: storage.pointee.sequence.load(ordering: .relaxed))
    guard image.flags.contains(.hasSideRecord) else { return image }
    unsafe image.tickLimit = storage.pointee.tickLimit.load(ordering: .relaxed)
    unsafe image.dueCount = storage.pointee.dueCount.load(ordering: .relaxed)
    unsafe image.missed = storage.pointee.missed.load(ordering: .relaxed)
    unsafe image.sequenceHigh = storage.pointee.sequenceHigh.load(ordering: .relaxed)
    unsafe image.generationHigh = storage.pointee.generationHigh.load(ordering: .relaxed)
    unsafe image.targetID = storage.pointee.targetID.load(ordering: .relaxed)
    unsafe image.wallOffset = storage.pointee.wallOffset.load(ordering: .relaxed)
    return image
  }
}

/// All images of the process: one for each thread that has used a timer, and one shared by threads without memory for
/// their own. Index 0 means none, for the owner of a slot that holds no timer any more.
enum WriterImages: ProcessState {
  static var maximum: UInt32 { 1 << 16 }
  private static var stride: Int { 128 }

  /// Address of the table. Stored once, before the first timer exists.
  // SAFETY: an address of memory that is shared by design, written once.
  private nonisolated(unsafe) static let table = unsafe Atomic<UnsafeMutableRawPointer?>(nil)
  private static var sharedIndex: UInt32 { 1 }
  /// The first of the images that threads have given back, 0 for none, each of which notes the next; and the first one
  /// that no thread ever had.
  private static let free = Locked<(returned: UInt32, fresh: UInt32)>((0, 2))
  /// A spin lock of the shared image (P3d, Sources/README.md).
  private static let sharedIsTaken = Atomic<Bool>(false)

  /// Makes the table; false if there is no memory.
  static func prepare() -> Bool { free.withLock { _ in makeTable() } }

  /// The caller holds the lock of `free`.
  private static func makeTable() -> Bool {
    if unsafe table.load(ordering: .relaxed) != nil { return true }
    guard let memory = unsafe Memory.map(Int(maximum) * stride, isTable: true) else { return false }
    unsafe table.store(memory, ordering: .releasing)
    return true
  }

  static func makeGlobals() { free.withLock { _ in } }

  /// Other threads' images are not given out again.
  static func reinitialize() {
    free.reinitialize()
    sharedIsTaken.store(false, ordering: .relaxed)
  }

  @inline(__always)
  static func image(_ index: UInt32) -> WriterImage {
    // SAFETY: an index came from `take`, so that the table is there and holds it; zero bytes are an empty image.
    unsafe WriterImage(
      (table.load(ordering: .relaxed).unsafelyUnwrapped + Int(index) * stride)
        .assumingMemoryBound(to: WriterImage.Storage.self), index)
  }

  /// An image for a thread; `nil` when there are too many threads, or no memory.
  static func take() -> UInt32? {
    free.withLock { free in
      // A thread that has a run loop can come before the first queue.
      guard makeTable() else { return nil }
      let returned = free.returned
      if returned != 0 {
        free.returned = image(returned).nextFree
        return returned
      }
      guard free.fresh < maximum else { return nil }
      free.fresh += 1
      return free.fresh - 1
    }
  }

  static func giveBack(_ index: UInt32) {
    free.withLock { free in
      // A thread can have been cut off anywhere.
      image(index).changesAtHome = false
      image(index).nextFree = free.returned
      free.returned = index
    }
  }

  /// The image of the calling thread, or the shared one, for one operation.
  @inline(__always)
  static func own() -> WriterImage { ThreadState.obtain()?.image ?? shared() }

  @inline(never)
  private static func shared() -> WriterImage {
    var backoff = Backoff()
    while sharedIsTaken.exchange(true, ordering: .acquiring) { backoff.pause() }
    return image(sharedIndex)
  }

  /// The operation for which `own` gave an image has ended.
  @inline(__always)
  static func finish(_ index: UInt32) {
    if index == sharedIndex { sharedIsTaken.store(false, ordering: .releasing) }
  }
}

extension TimerSlot {
  /// The timer as the last completed operation left it. Waits for nobody; repeats only if another operation has ended
  /// in the meantime. If the slot holds no live timer, only the word means anything.
  var image: TimerImage {
    while true {
      let word = word
      if word.hasWriter, word.isLive {
        if let image = WriterImages.image(word.image).read(self, word) { return image }
        continue
      }
      let image = copy(word)
      // Each change of the record leaves another sequence, deadline, leeway or wall offset behind, or another word. The
      // word is looked at between the two readings, so that no change is half done at both; and last, since under
      // another generation the rest can be as it was.
      atomicMemoryFence(ordering: .acquiring)
      guard self.word == word, sequence == image.sequenceLow, deadline == image.deadline,
        leeway.bits == image.leeway.bits,
        !image.flags.contains(.onWallClock) || sideRecord?.wallOffset ?? SideRecordRef.followsNoWall == image.wallOffset
      else { continue }
      atomicMemoryFence(ordering: .acquiring)
      if self.word == word { return image }
    }
  }

  /// What the record says at this moment, with a word. The caller finds out whether they belong together.
  fileprivate func copy(_ word: TimerWord) -> TimerImage {
    var image = TimerImage(
      word: word, deadline: deadline, period: period, versionAndFlags: versionAndFlags, leeway: leeway,
      sequenceLow: sequence)
    guard let sideRecord else { return image }
    image.tickLimit = sideRecord.tickLimit
    image.dueCount = sideRecord.dueCount
    image.missed = sideRecord.missed
    image.sequenceHigh = sideRecord.sequenceHigh
    image.generationHigh = sideRecord.generationHigh
    image.targetID = sideRecord.targetID
    image.wallOffset = sideRecord.wallOffset
    return image
  }
}

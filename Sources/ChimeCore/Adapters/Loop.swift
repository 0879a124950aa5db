import Synchronization

/// A run loop of Chime's own: the wait of one thread for the earliest deadline among the queues of the mode that it
/// runs in, and for wake-ups from other threads.
///
/// Created when Chime first sees the thread, and kept until the thread ends. Then its id is stale, the queues of its
/// weak timers end, and a shutdown of another queue on it no longer waits for it. Any thread may call; `run` and `end`
/// belong to the loop's own thread.
@safe package final class Loop: ThreadLoop, WeakTimerLoop, @unchecked Sendable, ProcessState {
  // Unchecked for `id`, which is set once, before anybody else sees the object.
  package private(set) var id: UInt64 = 0

  /// A mode that was named on this loop. It lives as long as the loop.
  final class Mode: Sendable {
    let name: LoopMode
    private let commonness: Atomic<Bool>

    init(_ name: LoopMode, isCommon: Bool = false) {
      self.name = name
      commonness = Atomic(isCommon)
    }

    /// Stored behind the lock.
    var isCommon: Bool {
      get { commonness.load(ordering: .relaxed) }
      set { commonness.store(newValue, ordering: .relaxed) }
    }
  }

  /// A call of `run` that has not returned.
  struct Run {
    /// The mode's index.
    let mode: Int
    /// Return after the first pass of a queue that delivered a tick.
    var untilTick = false
    /// Whether it is that of `chime_main_run`, which `chime_main_stop` ends and nothing else.
    var isOfMainQueue = false
    /// It is to return.
    var isStopped = false
  }

  struct State {
    /// Every mode that was ever named on this loop. Modes stay, so that their indices do. The first is no mode to run
    /// in: it stands for the common modes, also later ones.
    var modes = [Mode(.common), Mode(.default, isCommon: true)]
    /// The drivers of all queues on the loop.
    var drivers: [RunLoopDriver] = []
    /// The queues of the weak timers, by the modes that they tick in.
    var weakTimerQueues: [(modes: LoopModes, queue: UInt64)] = []
    /// Innermost last.
    var runs: [Run] = []
    /// The number of the newest round of visits; see `goRound`.
    var lastRound: UInt64 = 0
    /// Where the search for a queue that is due goes on.
    var cursor = 0
    /// The next run returns at once: there was a stop when none was under way.
    var nextIsStopped = false
    /// `release` was called: every run returns, and the thread ends.
    var isEnding = false
    /// The time that the timer is set for, on the monotonic clock, unless the thread has been woken since.
    var fileTime = Int64.max
  }

  /// The index that stands for the common modes.
  static var commonModes: Int { 0 }

  /// Held for some instructions and a system call that does not wait; no other lock is taken inside.
  let state = Locked(State())
  /// The timer that the thread waits for. Closed by whoever is the last to use it (P5e).
  let file: Int32
  private let fileUse = FileUse()
  /// The thread waits for the timer, or is about to: to wake it, set the timer. Pairs with what it is woken for: whoever wakes
  /// stores that, then loads this; the thread stores this, then looks for that once more (P5d).
  let isWaiting = Atomic<Bool>(false)
  /// Whether the thread is one that Chime made for this loop.
  let isOwn: Bool
  /// The loop's thread, by its `ThreadNumber`; 0 until Chime has been on it (P18b).
  private let thread = Atomic<UInt64>(0)
  /// See `end` (P18d).
  private let ended = Atomic<Bool>(false)
  /// Whether the innermost run is to return: a hint for its passes, by which they give up their slices (P11c).
  let isStopping = Atomic<Bool>(false)
  /// The mode of the innermost run, for queries, which take no lock; `nil` for none. Stored behind the lock.
  // SAFETY: its modes live as long as the loop.
  private nonisolated(unsafe) let modeOfRun = unsafe Atomic<UnsafeMutableRawPointer?>(nil)

  package static let table = HandleTable<Loop>(.runLoop)
  private static let mainLoop = Locked<Loop?>(nil)

  private init(_ file: Int32, isOwn: Bool) {
    self.file = file
    self.isOwn = isOwn
  }

  // MARK: Which

  /// The calling thread's loop, or the reason why there is none: forked, resource, limit.
  package static var current: Loop {
    get throws(Status) {
      if Fork.isChild { throw .inChild }
      guard ThreadState.prepare(), let thread = ThreadState.obtain() else {
        throw ThreadState.isOver ? .threadIsEnding : .noThreadKey
      }
      // SAFETY: a thread's loop is a `Loop`: only `bind` sets it.
      if let loop = thread.loop { return unsafe unsafeDowncast(loop, to: Loop.self) }
      let found = MainThread.isCurrent ? try main : try make()
      found.bind(to: thread)
      return found
    }
  }

  /// The main thread's loop, or the reason why there is none: forked, resource, limit.
  package static var main: Loop {
    get throws(Status) {
      if Fork.isChild { throw .inChild }
      guard Fork.watch() else { throw Memory.refusal }
      return try mainLoop.withLock { known throws(Status) in
        if let loop = known { return loop }
        let made = try make()
        known = made
        return made
      }
    }
  }

  static func make(isOwn: Bool = false) throws(Status) -> Loop {
    guard Fork.watch() else { throw Memory.refusal }
    guard let file = TimerFile.make(.monotonic) else { throw .noTimerFile }
    let loop = Loop(file, isOwn: isOwn)
    do { loop.id = try table.add(loop) } catch {
      loop.closeFile()
      throw error
    }
    return loop
  }

  /// The mode in which it runs now; `nil` while it does not run. Takes no lock.
  var currentMode: Mode? {
    unsafe modeOfRun.load(ordering: .acquiring).map { unsafe Unmanaged<Mode>.fromOpaque($0).takeUnretainedValue() }
  }

  /// A run has begun, ended, or is to stop. Behind the lock.
  func noteRuns(_ state: State) {
    isStopping.store(state.isEnding || state.runs.last?.isStopped == true, ordering: .relaxed)
    let mode = unsafe state.runs.last.map { unsafe Unmanaged.passUnretained(state.modes[$0.mode]).toOpaque() }
    unsafe modeOfRun.store(mode, ordering: .releasing)
  }

  // MARK: Its thread

  /// Whether the caller is on the loop's thread.
  var isCurrent: Bool { thread.load(ordering: .relaxed) == ThreadNumber.current && !hasEnded }

  /// The thread's `ThreadNumber`; 0 until it is known.
  var threadNumber: UInt64 { thread.load(ordering: .relaxed) }

  /// Whether the loop's thread has ended.
  package var hasEnded: Bool { ended.load(ordering: .sequentiallyConsistent) }

  /// The answer where it has.
  package var hasEndedStatus: Status { Status.unknown(id, .runLoop, "run_loop") }

  /// On the loop's thread: notes which thread that is, and arranges that `end` is called when it ends.
  func bind(to state: ThreadState) {
    thread.store(ThreadNumber.current, ordering: .relaxed)
    state.loop = self
  }

  override func end() throws(Forked) {
    if ended.exchange(true, ordering: .sequentiallyConsistent) { return }
    Loop.table.remove(id)
    closeFile()
    // One after the other, which needs no memory: nothing is added any more.
    while let queue = state.withLock({ $0.weakTimerQueues.popLast()?.queue }) {
      _ = try Fork.guarded { QueueCore.release(queue) }
    }
    while let driver = state.withLock({ $0.drivers.popLast() }) { try driver.contextHasEnded() }
  }

  private func closeFile() {
    if fileUse.end() { withoutCancellation { TimerFile.close(file) } }
  }

  /// Ends the wait of the loop's thread, if it waits. Any thread; takes no lock.
  func wakeThread() {
    if fileUse.begin(), isWaiting.load(ordering: .sequentiallyConsistent) { TimerFile.wake(file) }
    if fileUse.leave() { withoutCancellation { TimerFile.close(file) } }
  }

  // MARK: Fork

  static func makeGlobals() {
    _ = table.find(0)
    mainLoop.withLock { _ in }
  }

  static func reinitialize() {
    table.reinitialize()
    mainLoop.reinitialize(nil)
  }
}

/// Who uses the timer of a loop that may end meanwhile: the loop's end closes it, or the last of those that wake the loop's
/// thread just then (P5e).
private struct FileUse: ~Copyable {
  private static var over: UInt32 { 1 }
  private static var closed: UInt32 { 2 }
  private static var one: UInt32 { 4 }
  private let word = Atomic<UInt32>(0)

  /// Begins a use, which `leave` ends. False after the loop's end.
  func begin() -> Bool {
    word.add(FileUse.one, ordering: .sequentiallyConsistent).oldValue & FileUse.over == 0
  }

  /// True if the caller is to close the timer.
  func leave() -> Bool {
    let left = word.subtract(FileUse.one, ordering: .sequentiallyConsistent).newValue
    return left == FileUse.over && mayClose()
  }

  /// The loop has ended. True if the caller is to close the timer.
  func end() -> Bool {
    word.bitwiseOr(FileUse.over, ordering: .sequentiallyConsistent).oldValue == 0 && mayClose()
  }

  private func mayClose() -> Bool {
    word.compareExchange(
      expected: FileUse.over, desired: FileUse.over | FileUse.closed, ordering: .sequentiallyConsistent
    ).exchanged
  }
}

/// The name of a run loop's mode. Compared byte by byte, without the tables that Unicode's equivalence needs.
package struct LoopMode: Equatable, Sendable {
  package let name: String

  package init(_ name: String) { self.name = name }

  /// The default mode, and the set of common modes, by their names in chime_run_loop.h.
  package static var `default`: LoopMode { LoopMode("kCFRunLoopDefaultMode") }
  package static var common: LoopMode { LoopMode("kCFRunLoopCommonModes") }
  /// The mode in which `chime_main_run` runs the main thread's loop.
  static var mainQueue: LoopMode { LoopMode("chime.main") }

  package var isEmpty: Bool { name.utf8.isEmpty }

  package static func == (a: LoopMode, b: LoopMode) -> Bool { a.name.utf8.elementsEqual(b.name.utf8) }
}

/// Some modes, each once; in what order makes no difference.
package struct LoopModes: Equatable, Sendable {
  package private(set) var all: [LoopMode]

  package init(_ modes: [LoopMode] = []) {
    all = []
    for mode in modes { insert(mode) }
  }

  package mutating func insert(_ mode: LoopMode) {
    if !contains(mode) { all.append(mode) }
  }

  package func contains(_ mode: LoopMode) -> Bool { all.contains { $0 == mode } }

  package static func == (a: LoopModes, b: LoopModes) -> Bool {
    a.all.count == b.all.count && a.all.allSatisfy { b.contains($0) }
  }
}

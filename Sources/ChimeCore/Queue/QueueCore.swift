import Synchronization

/// One queue at work: its wheel, its pass, and what the pass keeps between two wake-ups. What other threads use often
/// is in its `QueueControlBlock`; they use this object only to wake the queue, and for operations on the whole queue.
///
/// Passes exclude each other by the pass lock. Fields marked "pass" belong to whoever holds it; the rest is constant,
/// atomic or behind a lock, which is why the class is `@unchecked Sendable`.
package final class QueueCore: @unchecked Sendable {
  let id: UInt64
  package let control: QueueControlBlock
  let label: String
  package let counters = QueueCounters()  // debuggers find it, and what stands before it, here: CPlatform's layout.c
  let isLimited: Bool
  let givesRecords: Bool
  let hooks: QueueHooks?
  /// Where deliveries are enqueued, on a concurrent queue; nil where handlers run inside the pass.
  let handOver: HandOver?
  /// Set once, before the queue's id is known to anyone.
  private(set) var driver: any QueueDriver = NoDriver()

  /// The fork that the queue was made after.
  private let epoch = Fork.epoch

  // Pass.
  var wheel: Wheel
  /// Slots whose pending callback gets a turn in the next batch; their enqueued flag is set.
  var pendingCallbacks = PassList<UInt32>()
  var ready = PassList<ReadyItem>()
  /// Scratch memory for sorting `ready`.
  var sorting = PassList<ReadyItem>()
  /// Scratch memory of `collect`: slots that the wheel gave out, and those of them that are not due yet.
  var due = PassList<UInt32>()
  var outdated = PassList<UInt32>()
  var readyNext = 0
  /// The last slice ended before its batch. Nothing new is collected until the batch is delivered.
  var batchIsOpen = false
  /// Released slots, owned, whose callbacks and finalizers are called at the end of the slice.
  var retired = PassList<UInt32>()
  /// What these lists lie in.
  var room: PassRoom?
  /// How many callbacks passes have called or written down as records, in all.
  var delivered = 0
  /// Where records go, inside `takeTicks`; nil outside.
  var recordBuffer: RecordBuffer?
  /// Ticks that were taken as records and have not ended.
  var outstandingRecords = ContiguousArray<StartedTick>()
  /// Some of them have to be ended soon, by another `takeTicks`.
  var endIsWanted = false
  var isClosed = false
  /// Whether the last pass for `run` left nothing to run, and whether it watches a timer.
  var isIdle = false
  var isWatching = false
  /// Functions taken out of `functions` that have not had their turn.
  var takenFunctions = FunctionList()

  let functions = Locked<(waiting: FunctionList, isOpen: Bool)>((FunctionList(), true))
  /// Whether `functions` has some. Changed behind its lock, after them. Pairs with the next wake-up: whoever adds a
  /// function stores this, then takes the next wake-up away; a pass stores that, then reads this (P1e,
  /// Sources/README.md).
  let functionsWait = Atomic<Bool>(false)
  /// Functions and deliveries on their way on a concurrent queue, and whoever begins to close the queue: while it is
  /// not 0 the queue does not end (P7b, Sources/README.md).
  let outstanding = Atomic<Int>(0)
  /// Threads inside `run` that return when nothing is left to run (P5b, Sources/README.md).
  let runners = Atomic<Int>(0)
  let isClosing = Atomic<Bool>(false)
  let passLock = Atomic<UInt8>(PassLock.free)
  /// Set by whoever wants a pass, before it tries the pass lock. A pass looks at it after it has released the lock
  /// (P10, Sources/README.md).
  private let passWanted = Atomic<Bool>(false)
  let closed = Atomic<Bool>(false)

  let entries = Atomic<Int>(0)

  init(
    id: UInt64, control: QueueControlBlock, _ options: QueueOptions,
    handOver: (any BlockQueue)?
  ) {
    self.id = id
    self.control = control
    label = options.label
    isLimited = options.timerLimit > 0
    givesRecords = options.givesRecords
    hooks = options.hooks
    self.handOver = handOver.map { HandOver($0) }
    wheel = Wheel(control: control, shift: control.shift, now: control.now)
  }

  /// Opens the queue: from here on its id names it.
  func open(_ driver: any QueueDriver) {
    self.driver = driver
    handOver?.open(self)
    control.core = self
    control.nextWakeUp = control.isVirtual ? QueueControlBlock.awake : .max
    control.id = id
    Trace.note(self)
  }

  /// Whether a callback has forked and this is the child: then the pass must touch nothing more and return.
  @inline(__always)
  var isAbandoned: Bool { epoch != Fork.epoch }

  // MARK: The pass lock

  private enum PassLock {
    static let free: UInt8 = 0
    static let pass: UInt8 = 1
    /// A thread is only looking, for an instant: whoever wants a pass waits for it (P10b, Sources/README.md).
    static let query: UInt8 = 2
  }

  func takePassLock(forQuery: Bool = false) -> Bool {
    passLock.compareExchange(
      expected: PassLock.free, desired: forQuery ? PassLock.query : PassLock.pass, ordering: .sequentiallyConsistent
    ).exchanged
  }

  /// The same, for a call that would otherwise answer BUSY: another thread may be inside only for an instant, to end a
  /// timer.
  func takePassLockSoon() -> Bool {
    var backoff = Backoff()
    var rounds = 0
    while !takePassLock() {
      if rounds == Backoff.roundsWithoutSleep, passLock.load(ordering: .relaxed) != PassLock.query { return false }
      rounds = min(rounds + 1, Backoff.roundsWithoutSleep)
      backoff.pause()
    }
    return true
  }

  func releasePassLock() { passLock.store(PassLock.free, ordering: .sequentiallyConsistent) }

  // MARK: Into a pass

  /// Runs `body` as a pass, if it does not matter which thread does the work. If another pass is running, that one
  /// does, or repeats, what is wanted here; and this one runs again if another was requested in the meantime. So bodies
  /// that can meet on one queue must do each other's work.
  /// - Parameter onDriver: the thread is the driver's: it runs between the host's hooks, and may be cancelled if the
  ///   host's may.
  func asPass(onDriver: Bool = false, _ body: (CurrentFrame) -> Void) {
    passWanted.store(true, ordering: .sequentiallyConsistent)
    asPassIfWanted(onDriver: onDriver, body)
  }

  /// Runs `body` as a pass, as long as one is wanted and no other pass is running.
  private func asPassIfWanted(onDriver: Bool, _ body: (CurrentFrame) -> Void) {
    var backoff = Backoff()
    while passWanted.load(ordering: .sequentiallyConsistent), !isAbandoned {
      if takePassLock() {
        passWanted.store(false, ordering: .sequentiallyConsistent)
        if !isClosed {
          onDriver ? asHost { withHooks { enter(body) } } : enter(body)
          if !isAbandoned { announceEnd() }
        }
        releasePassLock()
      } else if passLock.load(ordering: .sequentiallyConsistent) == PassLock.pass {
        return
      } else {
        // A thread that only looks does no work for others.
        backoff.pause()
      }
    }
  }

  /// Runs `body` as a pass of the present call, which needs it done here and now.
  /// - Returns: what `body` gives; wouldDeadlock inside a callback of the queue, busy if another pass is running,
  ///   shutDown, forked.
  @inline(__always)
  func asPassOfCall(_ body: (CurrentFrame) -> Status) -> Status {
    if ThreadState.frames.holds(control) { return .wouldDeadlock }
    guard takePassLockSoon() else { return .busy }
    if isClosed {
      releasePassLock()
      return .shutDown
    }
    var status = Status.ok
    enter { frame in status = body(frame) }
    if isAbandoned { return .forked }
    announceEnd()
    releasePassLock()
    asPassIfWanted(onDriver: false, disposeNow)
    return status
  }

  /// The caller holds the pass lock.
  @inline(__always)
  private func enter(_ body: (CurrentFrame) -> Void) { ThreadState.inside(control, body) }
}

extension QueueCore {
  /// Runs `body`, which waits for nobody, if the queue has not been released; otherwise `nil`. Meanwhile its control block
  /// does not become another queue's.
  func whileItLives<Result>(_ body: () -> Result) -> Result? {
    control.pinned { control.id == id ? body() : nil }
  }

  /// Whether nothing of the queue runs or will run.
  var hasEnded: Bool { closed.load(ordering: .sequentiallyConsistent) }
}

/// A function put on a queue by `async`, and what it waits with.
final class QueuedFunction: @unchecked Sendable {
  // Unchecked for `next`, which is guarded as the list is that the function is in.
  let function: ContextFunction
  let context: Context
  let finalizer: ContextFunction?
  fileprivate var next: QueuedFunction?

  init(_ function: ContextFunction, _ context: Context, _ finalizer: ContextFunction?) {
    self.function = function
    self.context = context
    self.finalizer = finalizer
  }
}

/// Functions in the order in which they came. Each links the next: a list that needs no memory beside theirs.
struct FunctionList: Sendable {
  private var first: QueuedFunction?
  private var last: QueuedFunction?
  private(set) var count = 0

  var isEmpty: Bool { count == 0 }

  mutating func append(_ function: QueuedFunction) {
    if let last { last.next = function } else { first = function }
    last = function
    count += 1
  }

  mutating func popFirst() -> QueuedFunction? {
    guard let function = first else { return nil }
    first = function.next
    function.next = nil
    if first == nil { last = nil }
    count -= 1
    return function
  }
}

/// Takes the driver's place until there is one.
private final class NoDriver: QueueDriver {
  func arm(at time: Int64?) {}
  func wake(_ core: QueueCore) {}
  func close() {}
  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status { .unsupported }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) -> Bool { false }
  var isOnQueue: Bool { false }
  var mayNeverRun: Bool { false }
  var shouldYield: Bool { false }
}

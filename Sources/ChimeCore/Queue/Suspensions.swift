import Synchronization

/// Whether a queue's callbacks are held back, and which of them run outside its passes. Any thread.
struct Suspensions: ~Copyable {
  /// The suspends that no resume has taken back. Pairs with what begins callbacks: a pass with its lock, a worker of a
  /// concurrent queue, a `sync` on its caller's thread. Each says that it is at work, then reads this; a suspend adds to
  /// this, then looks who is at work; all sequentially consistent: store buffering (P28).
  private let suspends = Atomic<UInt32>(0)
  /// Functions of `sync` that run, or are about to, outside a pass.
  private let outsidePass = Atomic<Int>(0)

  var isHeld: Bool { suspends.load(ordering: .sequentiallyConsistent) != 0 }

  /// False if there are as many as can be counted.
  func add() -> Bool { change { $0 == .max ? nil : $0 + 1 } != nil }

  /// How many are left; `nil` if there was none.
  func takeBack() -> UInt32? { change { $0 == 0 ? nil : $0 - 1 } }

  private func change(_ next: (UInt32) -> UInt32?) -> UInt32? {
    var old = suspends.load(ordering: .relaxed)
    while let new = next(old) {
      let result = suspends.compareExchange(expected: old, desired: new, ordering: .sequentiallyConsistent)
      if result.exchanged { return new }
      old = result.original
    }
    return nil
  }

  /// Whether functions run outside a pass.
  var hasFunctions: Bool { outsidePass.load(ordering: .sequentiallyConsistent) != 0 }

  func beginFunction() { outsidePass.add(1, ordering: .sequentiallyConsistent) }
  func endFunction() { outsidePass.subtract(1, ordering: .sequentiallyConsistent) }
}

/// Suspending a queue: no callback of it begins, and time goes on. The pass of a suspended queue ends at once. It sets no
/// time, and leaves the next wake-up at `awake`, so that no change of a timer wakes the queue: the resume does.
extension QueueCore {
  /// Whether no callback may begin. The end of a queue ends that, too.
  var isSuspended: Bool { suspensions.isHeld && !closing.hasBegun }

  /// Holds the callbacks of the queue with that id back, until as many resumes: ok; running while one of them runs.
  package static func suspend(_ id: UInt64) -> Status {
    guard let core = find(id) else { return unknown(id) }
    guard core.suspensions.add() else {
      return Status.limit.because("queue was suspended %n times more than resumed", Int64(UInt32.max))
    }
    return core.isAtWork ? .running : .ok
  }

  /// Takes a suspend back; ignored if there is none.
  package static func resume(_ id: UInt64) -> Status {
    guard let core = find(id) else { return unknown(id) }
    guard let left = core.suspensions.takeBack() else { return .ignored }
    if left == 0 { core.goOn() }
    return .ok
  }

  /// A wake-up for nothing is counted, too.
  @inline(never)
  func noteEmptyPass() { counters.count(passAt: control.now, due: 0, isEmpty: true) }

  /// Makes what was held back come. Whoever calls has seen to it that nothing is held back any more.
  func goOn() {
    handOver?.goOn()
    driver.wake(self)
  }

  /// Whether a callback runs, or a thread stands still that may be about to begin one. Called once the queue is suspended:
  /// a pass that has begun nothing ends in a moment, which is waited for.
  private var isAtWork: Bool {
    if ThreadState.frames.holds(control) { return true }
    var spinWait = SpinWait()
    while passLock.isInPass || suspensions.hasFunctions || handOver?.isAtWork == true {
      if !spinWait.spin() { return true }
    }
    return givesRecords && hasOutstandingRecords
  }

  /// Whether a tick was taken as a record, and has not ended.
  private var hasOutstandingRecords: Bool {
    var found = false
    control.forEachSlot { if $0.wordInOrder.isBusy { found = true } }
    return found
  }

  /// Runs a function of `sync` outside a pass, unless the queue is suspended: then, false.
  func runOutsidePass(_ body: () throws(Forked) -> Void) throws(Forked) -> Bool {
    suspensions.beginFunction()
    defer { suspensions.endFunction() }
    if isSuspended { return false }
    try body()
    return true
  }
}

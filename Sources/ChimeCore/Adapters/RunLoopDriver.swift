import Synchronization

/// Wakes a queue on a loop of Chime's own. Its passes, which run on the loop's thread, arm it; any thread wakes it.
///
/// It keeps its queue until the queue's last pass closes it.
final class RunLoopDriver: QueueDriver, @unchecked Sendable {
  // Unchecked for the variables: guarded by the lock of the loop's state.
  private let loop: Loop
  /// Its modes, and their indices; the common modes may be one of them.
  private let names: LoopModes
  let modes: [Int]
  /// Whether its queue stands for the main queue: see `Loop.makeMainQueue`.
  let isMainQueue: Bool
  /// Gone after `close`.
  private var core: QueueCore?
  /// When a pass is to come, on the monotonic clock; `.max` for never.
  private var armed = Int64.max
  /// A pass was requested and has not begun (P5d).
  private let woken = Atomic<Bool>(false)
  /// The last pass has left some of what it collected.
  private(set) var hasRemainder = false
  /// The round of the loop in which the queue had its last turn.
  var lastRound: UInt64 = 0
  /// A pass is running; if this is read during it, a handler has run the loop again.
  private var isInside = false

  init(_ core: QueueCore, _ loop: Loop, _ names: LoopModes, _ modes: [Int], isMainQueue: Bool) {
    self.isMainQueue = isMainQueue
    self.names = names
    self.core = core
    self.loop = loop
    self.modes = modes
  }

  // MARK: With the loop's lock held

  var isWoken: Bool { woken.load(ordering: .sequentiallyConsistent) }

  /// When the loop has to look at the queue, on the monotonic clock.
  var nextPass: Int64 { isInside ? .max : isWoken ? .min : armed }

  /// Gives the queue whose pass begins; `nil` when none is due.
  func beginPass(at now: Int64) -> QueueCore? {
    let time = nextPass
    // A pass runs what is due in the tick that contains now, and the driver is armed for a tick's end.
    guard time <= now &+ WheelTicks.rest(shift: WheelTicks.tickShift), time != .max, let core else { return nil }
    woken.store(false, ordering: .sequentiallyConsistent)
    armed = .max
    isInside = true
    return core
  }

  /// - Parameter leaves: whether some of what the pass has collected is left for the next one.
  func endPass(leaves: Bool) {
    isInside = false
    hasRemainder = leaves
  }

  // MARK: QueueDriver

  func arm(at time: Int64?) {
    // On the loop's thread, which looks at the time before it waits.
    let time = core?.control.monotonicTime(time ?? .max) ?? .max
    loop.state.withLock { _ in armed = time }
  }

  func wake(_ core: QueueCore) {
    woken.store(true, ordering: .sequentiallyConsistent)
    loop.wakeThread()
  }

  func close() {
    loop.state.withLock { state in
      core = nil
      if let index = state.drivers.lastIndex(where: { $0 === self }) { state.drivers.remove(at: index) }
    }
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    if isMainQueue {
      text.add(MainQueue.obstacle)
    } else if hasEnded {
      text.add("the thread of its run loop has ended")
    } else if let current = loop.currentMode {
      if names.contains(current.name) || current.isCommon && names.contains(.common) {
        return text.add("its run loop is busy")
      }
      text.add("its run loop is in mode ")
      text.add(current.name.name)
      for (i, mode) in names.all.enumerated() {
        text.add(i == 0 ? ", and not in " : ", ")
        text.add(mode.name)
      }
    } else {
      text.add("its run loop does not run")
    }
  }

  var takesSync: Bool { isMainQueue }
  var isOnQueue: Bool { isMainQueue ? MainThread.isHere : loop.isCurrent }
  var executionContext: ExecutionContext? { isMainQueue ? .main : .thread(loop.threadNumber) }
  var mayNeverRun: Bool { true }
  var hasEnded: Bool { loop.hasEnded }
  var shouldYield: Bool {
    loop.isStopping.load(ordering: .relaxed) || isMainQueue && MainQueue.isToYield
  }

  /// The loop's thread has ended.
  func contextHasEnded() throws(Forked) { try loop.state.withLock { _ in core }?.contextHasEnded() }
}

/// Modes, and the queues in them.
extension Loop {
  /// Makes a queue on the loop and gives its id: invalidHandle if the loop's thread has ended; limit, noMemory,
  /// resource.
  package func makeQueue(
    in modes: LoopModes, _ options: QueueOptions, isMainQueue: Bool = false
  ) throws(Status) -> UInt64 {
    guard !hasEnded else { throw hasEndedStatus }
    var indices: [Int] = []
    let isThereRoom = state.withLock { state in
      for mode in modes.all {
        guard let index = state.makeIndex(of: mode) else { return false }
        indices.append(index)
      }
      return state.drivers.reserve()
    }
    guard isThereRoom else { throw Memory.refusal }
    let made = try QueueCore.make(options) { core in
      let driver = RunLoopDriver(core, self, modes, indices, isMainQueue: isMainQueue)
      ExecutionContexts.hasRunLoops.store(true, ordering: .relaxed)
      state.withLock { state in
        if !hasEnded { state.drivers.append(driver) }
      }
      return driver
    }
    // A thread that ended meanwhile has not seen the new queue.
    if hasEnded {
      _ = QueueCore.release(made)
      throw hasEndedStatus
    }
    return made
  }

  /// Makes a mode one of the loop's common modes.
  package func addCommonMode(_ mode: LoopMode) -> Status {
    if mode == .common { return Status.invalidArgument.because("mode is the common modes themselves") }
    return state.withLock { state in
      guard let index = state.makeIndex(of: mode) else { return Memory.refusal }
      state.modes[index].isCommon = true
      // The loop may be waiting in that mode, for others' deadlines.
      wakeThread()
      return .ok
    }
  }

  package func weakTimerQueue(in modes: LoopModes) throws(Status) -> (id: UInt64, isNew: Bool) {
    func find(_ state: State) -> UInt64? { state.weakTimerQueues.first { $0.modes == modes }?.queue }
    if let queue = state.withLock({ find($0) }) {
      if QueueCore.find(queue) != nil { return (queue, false) }
      // A caller that found it in the list of queues has ended it.
      dropWeakTimerQueue(queue)
    }
    let made = try makeQueue(in: modes, QueueOptions(label: "chime.weak-timers"))
    // If two threads have created one, the first wins and the other's is released. So is one that the loop's end has
    // not seen.
    var kept: UInt64 = 0
    defer { if kept != made { _ = QueueCore.release(made) } }
    kept = try state.withLock { state throws(Status) in
      if let queue = find(state) { return queue }
      if hasEnded { throw hasEndedStatus }
      guard state.weakTimerQueues.reserve() else { throw Memory.refusal }
      state.weakTimerQueues.append((modes, made))
      return made
    }
    return (kept, kept == made)
  }

  package func dropWeakTimerQueue(_ id: UInt64) {
    state.withLock { state in
      if let index = state.weakTimerQueues.firstIndex(where: { $0.queue == id }) {
        state.weakTimerQueues.remove(at: index)
      }
    }
    _ = QueueCore.release(id)
  }
}

extension Loop.State {
  /// A mode's index; `nil` for one that was never named.
  func index(of mode: LoopMode) -> Int? { modes.firstIndex { $0.name == mode } }

  /// A mode's index; a new mode gets one. `nil` without memory.
  mutating func makeIndex(of mode: LoopMode) -> Int? {
    if let index = index(of: mode) { return index }
    guard modes.reserve() else { return nil }
    modes.append(Loop.Mode(mode))
    return modes.count - 1
  }

  /// Whether a queue ticks in a mode.
  func isIn(_ mode: Int, _ driver: RunLoopDriver) -> Bool {
    driver.modes.contains(mode) || modes[mode].isCommon && driver.modes.contains(Loop.commonModes)
  }
}

/// A loop that weak timers tick on: Chime's own, or Foundation's.
package protocol WeakTimerLoop: AnyObject, Sendable {
  /// Whether the loop's thread has ended.
  var hasEnded: Bool { get }
  /// The answer where it has.
  var hasEndedStatus: Status { get }
  /// The id of the queue of the weak timers in these modes, and whether this call has made it.
  func weakTimerQueue(in modes: LoopModes) throws(Status) -> (id: UInt64, isNew: Bool)
  /// Releases such a queue, for which there was no timer after all.
  func dropWeakTimerQueue(_ id: UInt64)
}

internal import CPlatform
import Synchronization

/// A host-driven queue's driver: a kernel timer, whose descriptor the host polls.
final class HostDriver: QueueDriver, @unchecked Sendable {
  // Unchecked for `isIdle` and `isWatching`, which are the pass's.
  let control: QueueControlBlock
  private let id: UInt64
  /// The only thread that may drive the queue; nil for any.
  private let owner: UInt64?
  /// What the system calls the thread that made the queue.
  let systemThread = chime_system_thread()
  /// The thread that last processed or took records; 0 for none yet (P11d).
  let drivingThread = Atomic<UInt64>(0)
  /// Threads inside `run` that return when nothing is left to run (P5b).
  let sleepers = Atomic<Int>(0)
  /// Whether the last pass for `run` left nothing to run, and whether it watches a timer.
  var isIdle = false
  var isWatching = false

  init(_ core: QueueCore, owner: UInt64?) {
    control = core.control
    id = core.id
    self.owner = owner
  }

  var mayDrive: Bool { owner == nil || owner == ThreadNumber.current }
  /// Whether the calling thread was the last that drove the queue.
  var isLastThread: Bool { drivingThread.load(ordering: .relaxed) == ThreadNumber.current }
  var isDrivingThread: Bool { (owner ?? drivingThread.load(ordering: .relaxed)) == ThreadNumber.current }

  func arm(at time: Int64?) {
    let isCurrent = set(control.hostFile, time ?? .max)
    // A thread that wanted a pass may have set it for now just before: then it must stay so (P11b).
    if !isCurrent || control.nextWakeUp != time ?? .max || control.stopsPoller(id) { control.wakeHost() }
    if !control.isWall { TimerFile.checkThatIsSet(control.hostFile, time ?? .max, clock: control.clockNumber) }
  }

  /// Sets the descriptor, on the wall clock so that a step makes it readable, too. False if the clock was stepped since
  /// the pass has looked at it: behind the setting, so that no step is missed (P13c).
  private func set(_ file: Int32, _ time: Int64) -> Bool {
    guard control.isWall, time != .max else {
      TimerFile.set(file, time, clock: control.clockNumber)
      return true
    }
    TimerFile.setForWall(file, time, offset: WallClock.offset.high)
    return control.knowsWallOffset
  }

  func wake(_ core: QueueCore) { control.wakeHost() }
  func close() { control.closeHost() }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    guard let sinceLastPass else { return text.add("its host-driven queue was never processed") }
    text.add(phrase: "its host-driven queue was last processed %d ago", sinceLastPass)
  }
  var takesSync: Bool { false }
  var mayNeverRun: Bool { true }
  var isOfHost: Bool { true }
}

extension HostDriver {
  @inline(never)
  var isBoundElsewhere: Status {
    Status.wrongThread.because(
      "queue is bound to thread %n, which created it, and this is thread %n", systemThread, chime_system_thread())
  }
}

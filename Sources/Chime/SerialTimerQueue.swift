import ChimeCore
import Dispatch

/// A serial queue on which an actor can live: the actor's isolated code and the handlers of the queue's timers exclude
/// each other.
///
///     actor Player {
///       private let queue: SerialTimerQueue
///       nonisolated var unownedExecutor: UnownedSerialExecutor { queue.asUnownedSerialExecutor() }
///     }
///
/// The actor must hold its queue. A handler gets at the actor's state with `assumeIsolated`, without waiting.
/// `shutdown` ends the queue's timers; the actor goes on.
public final class SerialTimerQueue: TimerQueue, SerialExecutor, @unchecked Sendable {
  // Unchecked as its class is; these are constant, and dispatch queues may be used by any thread.
  private let dispatchQueue: DispatchQueue
  private let workQueue: WorkQueue

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: of the dispatch queue behind it.
  ///   - clock: monotonic or wall.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` for boottime.
  public init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: QueueClock = .monotonic
  ) throws(ChimeError) {
    let options = QueueOptions(label: label, qos: QualityOfService(qos), clock: clock.clock)
    let queue = DispatchQueue(label: options.dispatchLabel, qos: qos)
    workQueue = WorkQueue(queue)
    workQueue.mark()
    dispatchQueue = queue
    try super.init(QueueCore.makeSerial(options, shared: workQueue))
  }

  /// A timer queue on a serial dispatch queue.
  ///
  /// - Throws: `unsupported` if the queue is concurrent; `limit`, `noMemory`, `resource`.
  public init(on queue: DispatchQueue, label: String = "") throws(ChimeError) {
    workQueue = WorkQueue(queue)
    dispatchQueue = queue
    if workQueue.isConcurrent { throw .unsupported }
    try super.init(QueueCore.makeWrapping(queue, QueueOptions(label: label)))
  }

  /// Called by Swift: runs a part of an actor's work on the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    dispatchQueue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
  }

  /// Called by Swift.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

  /// Called by Swift when isolation is assumed. Ends the program if the caller is not on the queue.
  public func checkIsolated() { dispatchPrecondition(condition: .onQueue(dispatchQueue)) }

  /// Called by Swift to ask whether the caller is on the queue.
  public func isIsolatingCurrentContext() -> Bool? { workQueue.isMain ? MainQueue.isHere : workQueue.isCurrent }
}

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
  // Unchecked as its class is; this is constant, and any thread may use what it holds.
  private let place: Place

  /// Where the actor's code and the handlers run.
  private enum Place {
    case pool(PoolWork)
    case dispatch(DispatchQueue, WorkQueue)
  }

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: decides which queues have their turn first.
  ///   - clock: monotonic or wall.
  /// - Throws: `limit`, `noMemory`, `resource`; `unsupported` for boottime.
  public init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: QueueClock = .monotonic
  ) throws(ChimeError) {
    let options = QueueOptions(label: label, qos: QualityOfService(qos), clock: clock.clock)
    switch PoolWork.make(options.qos) {
    case .success(let work):
      place = .pool(work)
      try super.init(QueueCore.makeSerial(options, sharing: work))
    case .failure(let status): throw status.error
    }
  }

  /// A timer queue on a serial dispatch queue.
  ///
  /// - Throws: `unsupported` if the queue is concurrent; `limit`, `noMemory`, `resource`.
  public init(on queue: DispatchQueue, label: String = "") throws(ChimeError) {
    let workQueue = WorkQueue(queue)
    place = .dispatch(queue, workQueue)
    if workQueue.isConcurrent { throw .unsupported }
    try super.init(QueueCore.makeWrapping(queue, QueueOptions(label: label)))
  }

  /// Called by Swift: runs a part of an actor's work on the queue.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    switch place {
    case .pool(let work): work.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    case .dispatch(let queue, _): queue.async { unsafe job.runSynchronously(on: self.asUnownedSerialExecutor()) }
    }
  }

  /// Called by Swift.
  public func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

  /// Called by Swift when isolation is assumed. Ends the program if the caller is not on the queue.
  public func checkIsolated() {
    switch place {
    case .pool(let work): precondition(work.isCurrent, "the caller is not on the queue")
    case .dispatch(let queue, _): dispatchPrecondition(condition: .onQueue(queue))
    }
  }

  /// Called by Swift to ask whether the caller is on the queue.
  public func isIsolatingCurrentContext() -> Bool? {
    switch place {
    case .pool(let work): work.isCurrent
    case .dispatch(_, let queue): queue.isMain ? MainQueue.isHere : queue.isCurrent
    }
  }
}

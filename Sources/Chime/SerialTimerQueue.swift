import ChimeCore
import Dispatch

/// A serial queue on which an actor can live: the actor's isolated code and the handlers of the queue's timers exclude
/// each other.
///
///     actor Player {
///       private let queue: SerialTimerQueue
///       nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }
///     }
///
/// The actor must hold its queue. A handler gets at the actor's state with `assumeIsolated`, without waiting.
/// `shutdown` ends the queue's timers; the actor goes on.
///
/// A cancel handler runs on the queue or not at all. In virtual time, that of a timer whose last reference goes on another
/// thread runs in the next `advance`. It is dropped, with all that it holds, if there is none before the queue ends, or if
/// the queue is shut down on another thread: call `shutdown` on the actor where it matters.
public final class SerialTimerQueue: TimerQueue, VirtualTimeQueue, SerialExecutor, @unchecked Sendable {
  // Unchecked as its class is; these are constant, but for `time`, which is set in `init` only.
  let context: SerialContext
  private var time: VirtualTime!

  /// A serial queue of its own.
  ///
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - qos: decides which queues have their turn first.
  ///   - clock: monotonic, boottime or wall.
  /// - Throws: `limit`, `noMemory`, `resource`.
  public init(
    label: String = "", qos: DispatchQoS = .unspecified, clock: TimerInstant.Timeline = .monotonic
  ) throws {
    let options = QueueOptions(label: label, qos: QualityOfService(qos), clock: try clock.clock())
    let context = try SerialContext.make(options)
    self.context = context
    try super.init(clock) { () throws(Status) in try context.makeTimerQueue(options) }
    time = VirtualTime(self, in: .queue(context))
  }

  /// A timer queue on a serial dispatch queue.
  ///
  /// - Parameters:
  ///   - queue: not a concurrent one.
  ///   - label: for debuggers.
  /// - Throws: `unsupported` if the queue is concurrent, or this libdispatch does not let its queues be known; `limit`,
  ///   `noMemory`, `resource`.
  public init(dispatchQueue queue: DispatchQueue, label: String = "") throws {
    context = try SerialContext.of(queue)
    try super.init { () throws(Status) in try QueueCore.makeWrapping(queue, QueueOptions(label: label)) }
    time = VirtualTime(self, in: .queue(context))
  }

  /// A queue whose time moves only when it is told to: for tests of actors. Handlers run between two parts of the actor's
  /// work, as in real time.
  ///
  /// - Parameters:
  ///   - start: the time since the clock's zero at first, 0 or more.
  ///   - label: for debuggers.
  /// - Throws: `invalidArgument`, `limit`, `noMemory`.
  public init(virtual start: Duration, label: String = "") throws {
    context = try SerialContext.make(QueueOptions(label: label))
    let options = try TimerQueue.virtualOptions(start, label)
    try super.init(.virtual) { () throws(Status) in try QueueCore.makeVirtual(options) }
    time = VirtualTime(self, in: .queue(context))
  }

  package override var home: HandlerHome? { HandlerHome(queue: id) { [context] in context.isCurrent } }

  package override var virtualTime: VirtualTime? { time }

  // MARK: The executor

  /// Called by Swift: runs a part of an actor's work on the queue.
  ///
  /// - Parameter job: the part.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    RunnableJobs.enqueue(job, on: context.perform) {
      unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
    }
  }

  /// Called by Swift when isolation is assumed. Ends the program if the caller is not on the queue.
  public func checkIsolated() {
    precondition(context.isCurrent, "isolation was assumed on another thread than the SerialTimerQueue's")
  }

  /// Called by Swift to ask whether the caller is on the queue.
  ///
  /// - Returns: whether it is.
  public func isIsolatingCurrentContext() -> Bool? { context.isCurrent }
}

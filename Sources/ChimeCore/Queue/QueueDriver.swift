/// What wakes a queue. This is most of what differs between kinds of queues.
///
/// Only the pass arms; any other thread only wakes. `arm`, `wake`, `close` and `tellObstacle` must be written; of the
/// others, a kind overrides those under a heading that is true of it.
package protocol QueueDriver: AnyObject, Sendable {
  /// Makes a pass come at that time on the queue's clock; `nil` for none. Called by the pass. A driver that can only wait on
  /// the monotonic clock waits until `control.monotonicTime` of it.
  func arm(at time: Int64?)
  /// Makes no pass come until a wake. Called by the pass of a suspended queue.
  func rest(_ core: QueueCore)
  /// Makes a pass of `core`, the queue, come now. Any thread, inside calls and passes: it calls nothing of the host's.
  func wake(_ core: QueueCore)
  /// Ends the driver: no pass comes any more. Called by the last pass.
  func close()
  /// Writes why no pass has come that is wanted, as far as can be told: a part of a sentence.
  /// - Parameter sinceLastPass: how long ago the last one began, in nanoseconds; `nil` before the first.
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter)

  // MARK: The passes run on a thread that the kind knows

  /// Whether the caller is where the passes run, so that waiting for one would be waiting for itself.
  var isOnQueue: Bool { get }

  // MARK: The passes share their thread with the host's work, or with other queues

  /// What the passes share with other work of the host's; `nil` for nothing.
  var executionContext: ExecutionContext? { get }
  /// Whether a pass should end its slice now, for the sake of whoever runs it.
  var shouldYield: Bool { get }
  /// Whether nothing is left that `run` of the queue waits for.
  func hasNothingToWaitFor(_ core: QueueCore) -> Bool
  /// The cancellation state of the thread that runs the passes, before it called what runs them: callbacks run in that
  /// state. `nil` if it has not changed.
  var hostCancellation: HostCancellation? { get }
  /// Whether the passes run on threads of libdispatch, which nobody else may cancel.
  var borrowsThread: Bool { get }

  // MARK: A waiting thread may run the queue itself

  /// Runs a function in mutual exclusion with the passes, on the calling thread where that is faster than to wait for a
  /// pass. Waits for a handler.
  func runInTurn(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status
  /// Gives the queue, or a worker of a concurrent one, its turn on the calling thread, which waits for it, where no thread
  /// may ever do so; false if it did not.
  func runStarvingTurn(_ core: QueueCore) throws(Forked) -> Bool

  // MARK: The passes come only if somebody runs the queue

  /// Whether a thread may wait for a function: the passes come by themselves.
  var takesSync: Bool { get }
  /// Whether it is possible that nobody will ever run the queue again, as with a main queue that is not drained.
  var mayNeverRun: Bool { get }
  /// Whether it is certain that nobody will, as with a run loop whose thread has ended.
  var hasEnded: Bool { get }

  // MARK: The host decides when passes run

  /// Whether it does: host-driven queues alone.
  var isOfHost: Bool { get }
  /// Whether the calling thread may drive the queue, whether it does, and whether it was the last that did.
  var mayDrive: Bool { get }
  var isDrivingThread: Bool { get }
  var isLastThread: Bool { get }
}

extension QueueDriver {
  package func rest(_ core: QueueCore) { arm(at: nil) }
  package func runInTurn(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    SyncCall.wait(core, timeout: timeout, body)
  }
  package func runStarvingTurn(_ core: QueueCore) throws(Forked) -> Bool { false }
  package var takesSync: Bool { true }
  package var isOnQueue: Bool { false }
  package var executionContext: ExecutionContext? { nil }
  package var hostCancellation: HostCancellation? { nil }
  package var borrowsThread: Bool { false }
  package var mayNeverRun: Bool { false }
  package var hasEnded: Bool { false }
  package var shouldYield: Bool { false }
  package func hasNothingToWaitFor(_ core: QueueCore) -> Bool { false }
  package var isOfHost: Bool { false }
  package var mayDrive: Bool { true }
  package var isDrivingThread: Bool { true }
  package var isLastThread: Bool { false }
}

/// Takes the driver's place until there is one.
final class NoDriver: QueueDriver {
  func arm(at time: Int64?) {}
  func wake(_ core: QueueCore) {}
  func close() {}
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {}
}

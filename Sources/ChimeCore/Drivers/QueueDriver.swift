/// What wakes a queue: all that differs between kinds of queues, with the execution context of its passes.
///
/// Only the pass arms; any other thread only wakes.
package protocol QueueDriver: AnyObject, Sendable {
  /// Has a pass come at that time on the queue's clock; `nil` for none. Called by the pass.
  func arm(at time: Int64?)
  /// Has a pass of `core`, the queue's, come now. Any thread.
  func wake(_ core: QueueCore)
  /// Ends it: no pass comes any more. Called by the last pass.
  func close()
  /// Runs a function in mutual exclusion with the queue's passes, waiting `timeout` nanoseconds for its turn.
  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status
  /// Writes why no pass has come that is wanted, as far as can be told: a part of a sentence; false, and nothing written, when
  /// one is about to come.
  /// - Parameter sinceLastPass: how long ago the last one began, in nanoseconds; `nil` before the first.
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) -> Bool
  /// Whether the caller stands where the passes run, so that waiting for one would be waiting for itself.
  var isOnQueue: Bool { get }
  /// What the passes share with other work of the host's; `nil` for nothing.
  var executionContext: ExecutionContext? { get }
  /// How the thread that runs the passes was, as to cancellation, before it called what runs them: callbacks are to run
  /// like that. `nil` where that is how it is.
  var hostCancellation: HostCancellation? { get }
  /// Whether it can be that nobody will ever run the queue again, as with a main queue that is not drained.
  var mayNeverRun: Bool { get }
  /// Whether it is certain that nobody will, as with a run loop whose thread has ended.
  var hasEnded: Bool { get }
  /// Whether a pass should end its slice now, for the sake of whoever runs it.
  var shouldYield: Bool { get }
}

extension QueueDriver {
  package var hasEnded: Bool { false }
  package var executionContext: ExecutionContext? { nil }
  package var hostCancellation: HostCancellation? { nil }
}

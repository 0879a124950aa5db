/// What a control block knows of its queue, which stands above: `QueueCore`.
package class ControlledQueue: @unchecked Sendable {
  /// Has the driver make a pass now. Any thread.
  func wakeDriver() {}
  /// Has a released timer's callbacks and finalizer called, on a queue whose passes run inside calls of the host: here,
  /// if the calling thread may and no pass is running.
  func dispose() {}
  /// Whether callbacks of a concurrent queue are under way.
  var isHeldUp: Bool { false }
}

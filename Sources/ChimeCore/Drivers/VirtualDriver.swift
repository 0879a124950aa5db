/// A virtual queue's driver: nothing wakes it, but for who waits until a timer is there.
final class VirtualDriver: QueueDriver {
  /// See `QueueCore.notifyOfArming`.
  let waiting = Locked<[@Sendable () -> Void]>([])

  private func notify() {
    let all = waiting.withLock { waiting in
      defer { waiting = [] }
      return waiting
    }
    for body in all { body() }
  }

  func arm(at time: Int64?) {}
  func wake(_ core: QueueCore) { notify() }
  func close() { notify() }
  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status { .unsupported }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) -> Bool {
    text.add("it comes with the next advance of its virtual queue")
    return true
  }
  var isOnQueue: Bool { false }
  var mayNeverRun: Bool { false }
  var shouldYield: Bool { false }
}

/// A virtual queue's driver: nothing wakes it, and whoever waits until there is a timer is notified.
final class VirtualDriver: QueueDriver {
  /// See `QueueCore.notifyOfArming`.
  let waiting = Locked<[@Sendable () -> Void]>([])

  private func notify() {
    for body in waiting.withLock({ $0.takeAll() }) { body() }
  }

  func arm(at time: Int64?) {}
  func wake(_ core: QueueCore) { notify() }
  func close() { notify() }
  var takesSync: Bool { false }
  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    text.add("it comes with the next advance of its virtual queue")
  }
}

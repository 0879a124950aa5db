import Dispatch
import Glibc

/// libdispatch, and CoreFoundation, end the process when they cannot open a descriptor of their own. So it is seen
/// first whether they can be had, and libdispatch is made to open its own while they can.
package enum Descriptors {
  private static let dispatchIsReady = Locked(false)

  /// Whether so many could be opened now. Others may take them meanwhile.
  package static func areLeft(_ count: Int) -> Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    for _ in 0..<count {
      let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return false }
      opened.append(descriptor)
    }
    return true
  }

  /// Has libdispatch open all it will ever need for timers, at the first call of the process: an epoll, an eventfd, a
  /// timerfd, and the thread that waits for them. False when they cannot be had. Waits for that thread, some 100 us.
  package static func prepareDispatch() -> Bool {
    dispatchIsReady.withLock { isReady in
      if isReady { return true }
      guard areLeft(4) else { return false }
      let begun = DispatchSemaphore(value: 0)
      let timer = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "chime.first"))
      timer.setEventHandler { begun.signal() }
      timer.schedule(deadline: .now())
      timer.activate()
      defer { timer.cancel() }
      isReady = begun.wait(timeout: .now() + .seconds(5)) == .success
      return isReady
    }
  }
}

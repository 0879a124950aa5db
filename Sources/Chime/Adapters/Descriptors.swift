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
      // Without threads libdispatch waits for one in whoever calls it.
      guard areLeft(4), OwnThread.canBeMade else { return false }
      // One that is not due has the timerfd opened; by the second of two that are due now it has been.
      let timers = (0..<3).map { _ in DispatchSource.makeTimerSource(queue: DispatchQueue(label: "chime.first")) }
      defer { for timer in timers { timer.cancel() } }
      timers[0].schedule(deadline: .now() + .seconds(3600))
      timers[0].activate()
      for timer in timers[1...] {
        let begun = DispatchSemaphore(value: 0)
        timer.setEventHandler { begun.signal() }
        timer.schedule(deadline: .now())
        timer.activate()
        if begun.wait(timeout: .now() + .seconds(5)) == .timedOut { return false }
      }
      isReady = true
      return true
    }
  }
}

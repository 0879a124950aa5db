import Synchronization

/// The descriptor of a host-driven queue, in its control block, so that a waker needs no lock: it pins the control block,
/// reads the descriptor and sets the timer. Whoever closes the queue takes the descriptor away, waits for the pins, and
/// closes it. So a late waker never touches a descriptor that the host has opened since (P7).
extension QueueControlBlock {
  func openHost(_ file: Int32) { unsafe storage.pointee.hostFile.store(file, ordering: .sequentiallyConsistent) }

  func closeHost() {
    let file = unsafe storage.pointee.hostFile.exchange(-1, ordering: .sequentiallyConsistent)
    if file < 0 { return }
    TimerFile.set(file, 0)  // wakes whoever polls
    waitForPins()
    withoutCancellation { TimerFile.close(file) }
  }

  func stopIsPending(_ id: UInt64) -> Bool { unsafe storage.pointee.stopRequest.isPending(for: id) }

  /// Whether whoever has to stop may be waiting for the descriptor.
  func stopsPoller(_ id: UInt64) -> Bool { stopIsPending(id) && isPinned }

  /// The queue may have ended since it was found; the next queue's stop must not be lost.
  func requestStop(_ id: UInt64) -> Bool { unsafe storage.pointee.stopRequest.make(for: id, while: { self.id == id }) }

  func takeStop(_ id: UInt64) -> Bool { unsafe storage.pointee.stopRequest.take(for: id) }
}

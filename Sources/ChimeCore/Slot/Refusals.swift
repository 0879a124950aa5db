/// What is said where a call is refused because of a particular timer, queue or thread. Each gives the status, which it
/// explains to the calling thread.
extension TimerRef {
  /// The timer has been released.
  @inline(never)
  package var stale: Status { TimerRef.unknown(id) }

  /// The answer to an id that names no timer.
  @inline(never)
  package static func unknown(_ id: UInt64) -> Status { Status.unknown(id, .timer, "timer") }

  @inline(never)
  func refuseAsTargetGone() -> Status { Status.targetGone.because("the target of timer (%n) is gone", signedID) }

  /// The caller would wait for the end of a record that it has taken itself.
  @inline(never)
  func refuseAsRecordOfCaller() -> Status {
    Status.wouldDeadlock.because(
      "this thread has taken a tick of timer (%n), which ends with its next chime_queue_take_ticks", signedID)
  }

  /// The calling thread would wait for the end of a handler that it is inside.
  @inline(never)
  var callerIsInside: Status {
    Status.wouldDeadlock.because("this thread is inside the handler of timer (%n)", signedID)
  }

  /// The calling thread would wait for the end of a handler that waits for it.
  @inline(never)
  var waitsForCaller: Status {
    Status.wouldDeadlock.because("the handler of timer (%n) waits for this thread", signedID)
  }

  private var signedID: Int64 { Int64(bitPattern: id) }
}

extension QueueControlBlock {
  /// The calling thread is inside a callback of the queue, with that id, for which it would wait.
  @inline(never)
  func callerIsInside(_ queue: UInt64) -> Status {
    let frame = ThreadState.frames.first { $0.control == self }
    guard let slot = frame?.slot.map({ Slab.slot($0) }) else {
      return Status.wouldDeadlock.because(
        "this thread is inside a callback of queue (%n)", Int64(bitPattern: queue))
    }
    let timer = TimerRef(slot: slot, version: slot.version)
    return Status.wouldDeadlock.because(
      "this thread is inside a callback of queue (%n): of timer (%n)", Int64(bitPattern: queue),
      Int64(bitPattern: timer.id))
  }

  @inline(never)
  static func waitsForCaller(_ queue: UInt64) -> Status {
    Status.wouldDeadlock.because(
      "a callback of queue (%n) waits for this thread, or needs it to run", Int64(bitPattern: queue))
  }

  @inline(never)
  static func refuseAsBusy(_ queue: UInt64) -> Status {
    Status.busy.because("another thread is inside queue (%n)", Int64(bitPattern: queue))
  }
}

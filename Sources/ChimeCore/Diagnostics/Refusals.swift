internal import CPlatform

/// What is said where a call is refused because of a particular timer, queue or thread: each property is the status, which
/// it explains to the calling thread.
extension TimerRef {
  /// The timer has been released.
  @inline(never)
  package var stale: Status { TimerRef.unknown(id) }

  /// The answer to an id that names no timer.
  @inline(never)
  package static func unknown(_ id: UInt64) -> Status { Status.unknown(id, .timer, "timer") }

  @inline(never)
  var targetHasGone: Status { Status.targetGone.because("the target of timer (%n) is gone", signedID) }

  /// The caller would wait for the end of a record that it has taken itself.
  @inline(never)
  var isRecordOfCaller: Status {
    Status.wouldDeadlock.because(
      "this thread has taken a tick of timer (%n), which ends with its next chime_queue_take_ticks", signedID)
  }

  fileprivate var signedID: Int64 { Int64(bitPattern: id) }
}

extension QueueCore {
  fileprivate var signedID: Int64 { Int64(bitPattern: id) }

  /// The calling thread is inside a callback of the queue, which it would wait for.
  @inline(never)
  var callerIsInside: Status {
    let frame = ThreadState.frames.first { $0.control == control }
    guard let slot = frame?.slot.map({ Slab.slot($0) }) else {
      return Status.wouldDeadlock.because("this thread is inside a callback of queue (%n)", signedID)
    }
    return Status.wouldDeadlock.because(
      "this thread is inside a callback of queue (%n): of timer (%n)", signedID,
      TimerRef(slot: slot, version: slot.version).signedID)
  }

  @inline(never)
  var isBusy: Status { Status.busy.because("another thread is inside queue (%n)", signedID) }
}

extension HostDriver {
  @inline(never)
  var isBoundElsewhere: Status {
    Status.wrongThread.because(
      "queue is bound to thread %n, which created it, and this is thread %n", systemThread, chime_system_thread())
  }
}

extension WaitRegistry.Waiter {
  /// The thread did not wait, because it would have waited for itself.
  @inline(never)
  var wouldDeadlock: Status {
    switch subject {
    case .timer(let timer):
      standing.holds(subject)
        ? Status.wouldDeadlock.because("this thread is inside the handler of timer (%n)", timer.signedID)
        : Status.wouldDeadlock.because("the handler of timer (%n) waits for this thread", timer.signedID)
    case .queue(let core), .context(let core): core.waitsForCaller
    case .call(let call): call.core.waitsForCaller
    }
  }
}

extension QueueCore {
  fileprivate var waitsForCaller: Status {
    Status.wouldDeadlock.because("a callback of queue (%n) waits for this thread, or needs it to run", signedID)
  }
}

internal import CPlatform
import Synchronization

/// Wakes a queue that lives on libdispatch: by a timer source, and a source for wake-ups that cannot wait. Armed by
/// passes, which exclude each other; woken from anywhere.
final class DispatchDriver: QueueDriver {
  private let dispatchContext: DispatchContext
  /// They bring the passes, and hold the queue; gone after `close`.
  private let sources = Locked<(timer: WorkSource, waker: WorkSource)?>(nil)
  private let control: QueueControlBlock
  /// The time that the timer is set for; `.max` for none, or it has come. Only passes read it (P18b, Sources/README.md).
  private let armed = Atomic<Int64>(.max)

  init(_ core: QueueCore, _ context: DispatchContext) {
    control = core.control
    dispatchContext = context
    let timer = WorkSource.timer(on: context.timerQueue) { [self] in
      // A call that comes early, or of a time before the last one, costs one more setting of the timer.
      armed.store(.max, ordering: .relaxed)
      core.pass()
    }
    let waker = WorkSource.runs(on: context.queue) { core.pass() }
    sources.withLock { $0 = (timer, waker) }
  }

  /// Setting the source is a message to libdispatch's manager thread, which wakes up for it. So a source that is set for
  /// an earlier time, which has not come, is left alone: it costs one empty wake-up at most.
  func arm(at time: Int64?) {
    let time = time ?? .max
    let old = armed.load(ordering: .relaxed)
    if time == .max ? old == .max : old <= time && old > control.now { return }
    armed.store(time, ordering: .relaxed)
    let timer = sources.withLock { $0?.timer }
    // libdispatch and the monotonic clock count from one zero.
    withoutCancellation { timer?.set(time) }
  }

  func wake(_ core: QueueCore) {
    let waker = sources.withLock { $0?.waker }
    withoutCancellation { waker?.run() }
  }

  func close() {
    let sources = sources.withLock { $0.take() }
    withoutCancellation {
      sources?.timer.close()
      sources?.waker.close()
    }
  }

  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    // The compiler knows the answer, and in a libchime without libdispatch leaves out what follows.
    if chime_has_dispatch() == 0 { return .unsupported }
    // Without a timeout and outside callbacks, libdispatch has a faster way.
    if timeout == .max, dispatchContext.isOwn, ThreadState.frames.isEmpty,
      let status = runInTurn(core, body)
    {
      return status
    }
    return SyncCall.wait(core, timeout: timeout, body) { call in
      withoutCancellation {
        dispatchContext.queue.async {
          // The functions that the thread has put on the queue before come first.
          if !core.functions.isEmpty { core.pass() }
          if !core.isAbandoned { call.run() }
        }
      }
      return .ok
    }
  }

  /// Runs a function on the calling thread, in the queue's turn; `nil` if others wait for theirs. If others can wait for
  /// the thread, because it is on the main queue, a queue of the host's or a run loop, it is registered as waiting
  /// meanwhile.
  private func runInTurn(_ core: QueueCore, _ body: @escaping () -> Void) -> Status? {
    let standing = Standing.current
    let waiter = standing.isNowhere ? nil : WaitRegistry.Waiter(.queue(core), standing)
    if let waiter, !WaitRegistry.enter(waiter) { return .wouldDeadlock }
    defer { if let waiter { WaitRegistry.leave(waiter) } }
    var status: Status? = .shutDown
    withoutCancellation { host in
      dispatchContext.queue.sync {
        if core.closing.hasBegun { return }
        status = core.functions.isEmpty ? .ok : nil
        if status == nil { return }
        if let waiter { WaitRegistry.leave(waiter) }
        host.allow { ThreadState.inside(core.control) { _ in body() } }
      }
    }
    return status
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) {
    if dispatchContext.isMain {
      text.add(MainQueue.obstacle)
    } else if !dispatchContext.isOwn {
      text.add("the host's dispatch queue that it is on is busy, suspended, or not drained")
    } else {
      text.add("its queue is busy")
    }
  }
  var isOnQueue: Bool { dispatchContext.isHere }
  var executionContext: ExecutionContext? { dispatchContext.shared }
  var hostCancellation: HostCancellation? { dispatchContext.isMain ? MainQueue.hostCancellation : nil }
  var mayNeverRun: Bool { !dispatchContext.isOwn }
  var shouldYield: Bool { dispatchContext.isMain && MainQueue.stopIsPending }
}

import Dispatch
import Synchronization

/// Wakes a queue that lives on libdispatch: one DispatchSourceTimer behind its machine, and a block for wake-ups that
/// cannot wait. Armed by passes, which exclude each other; woken from anywhere.
final class DispatchAdapter: QueueAdapter {
  private let place: DispatchPlace
  private let machine: DispatchSourceTimerMachine
  private let cell: QueueCell
  /// What the source is set for, `.max` for nothing; the pass's own.
  private let armed = Atomic<Int64>(.max)

  init(_ core: QueueCore, _ place: DispatchPlace) {
    cell = core.cell
    self.place = place
    machine = DispatchSourceTimerMachine(queue: place.timerQueue) { [weak core] in core?.pass() }
  }

  func arm(at time: Int64?) {
    let time = time ?? .max
    let old = armed.load(ordering: .relaxed)
    if time == .max, old == .max { return }
    // A source that is set for an earlier time is left alone: it costs one empty wake-up at most. One whose time has
    // come has fired, or is about to.
    if time != .max, old <= time, old > cell.now { return }
    armed.store(time, ordering: .relaxed)
    // DispatchTime counts from the zero of CLOCK_MONOTONIC.
    let deadline = time == .max ? .distantFuture : DispatchTime(uptimeNanoseconds: UInt64(max(time, 1)))
    do {
      try machine.restart(deadline: deadline, repeating: .never, leeway: .nanoseconds(0))
    } catch {
      invariantFailure("the adapter's deadline", time, error)
    }
  }

  func wake(_ core: QueueCore) { place.submit { core.pass() } }

  func close() { machine.cancel() }

  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    // Without a timeout, outside every callback, nothing can go wrong with libdispatch's own, faster way.
    if timeout == .max, ThreadState.frames.isEmpty, let runAndWait = place.runAndWait {
      var ran = false
      runAndWait {
        if core.isClosing.load(ordering: .sequentiallyConsistent) { return }
        ran = true
        ThreadState.current.inside(core.cell) { _ in body() }
      }
      return ran ? .ok : .shutDown
    }
    let call = SyncCall(core, body)
    place.submit { call.run() }
    return call.wait(timeout: timeout)
  }

  func obstacle(_ core: QueueCore, sinceLastPass: String?) -> String? {
    if place.isMain {
      return MainQueue.isBeingRun ? "the main queue is busy" : "its main queue is not drained: chime_main_run does not run"
    }
    if !place.isOwn { return "the host's dispatch queue that it is on is busy, suspended, or not drained" }
    return place.handOver == nil
      ? "its queue is busy" : "it waits for a thread of libdispatch, which grants about one a processor"
  }
  var isOnQueue: Bool { place.isOnPlace() }
  var mayNeverRun: Bool { !place.isOwn }
  var shouldYield: Bool { place.isMain && MainQueue.stopIsPending }
}

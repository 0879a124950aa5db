internal import CPlatform
import Synchronization

/// Wakes a queue that lives on libdispatch: one DispatchSourceTimer behind its machine, and a source for wake-ups that
/// cannot wait. Armed by passes, which exclude each other; woken from anywhere.
final class DispatchDriver: QueueDriver {
  private let dispatchContext: DispatchContext
  private let machine: TimerMachine
  /// Brings a pass that cannot wait; gone after `close`. It holds the queue until then.
  private let waker: Locked<(any Runner)?>
  private let control: QueueControlBlock
  /// The time that the source is set for, `.max` for none; the interval at which it goes on from there by itself, `.max`
  /// for once; and how far apart the last two times were. Used by the pass only (P18b, Sources/README.md).
  private let armed = Atomic<Int64>(.max)
  private let interval = Atomic<Int64>(.max)
  private let distance = Atomic<Int64>(0)

  /// The compiler knows the answer, and in a libchime without libdispatch leaves out what follows the question.
  @inline(__always)
  private static var isNeverMade: Bool { chime_has_dispatch() == 0 }

  /// Wake-ups that are closer come as they are needed.
  private static var shortestInterval: Int64 { 100_000 }

  init(_ core: QueueCore, _ context: DispatchContext) {
    control = core.control
    dispatchContext = context
    // Holds the queue until `close`.
    machine = TimerMachine(WorkSourceFactory(context.timerQueue), standing: TimerMachineHandler.of { core.pass() })
    waker = Locked(context.queue.makeRunner { core.pass() })
  }

  /// Setting the source is a message to libdispatch's manager thread, which wakes up for it. So a source that was set
  /// for two times at the same distance is set to go on at that distance, and is left alone as long as it does.
  func arm(at time: Int64?) {
    if DispatchDriver.isNeverMade { return }
    let time = time ?? .max
    let now = control.now
    let old = armed.load(ordering: .relaxed)
    let interval = interval.load(ordering: .relaxed)
    let hasFired = old <= now
    let next =
      hasFired && interval != .max ? old.saturatingAdd(UInt64((now - old) / interval) + 1, times: interval) : old
    if time == next, next > now {
      armed.store(next, ordering: .relaxed)
      return
    }
    // A source that is set once, for an earlier time, is left alone, too: it costs one empty wake-up at most. One whose
    // time has come has fired or is about to, so it is set anew.
    if interval == .max, time != .max, old <= time, !hasFired { return }
    let distance = hasFired && time != .max ? time - old : 0
    let goesOn = distance >= DispatchDriver.shortestInterval && distance == self.distance.load(ordering: .relaxed)
    armed.store(time, ordering: .relaxed)
    self.distance.store(distance, ordering: .relaxed)
    self.interval.store(goesOn ? distance : .max, ordering: .relaxed)
    withoutCancellation {
      do throws(TimerMachine.ScheduleError) {
        // libdispatch counts from the zero of CLOCK_MONOTONIC.
        let plan = TimerMachinePlan(deadline: max(time, 1), interval: goesOn ? distance : .max, leeway: 0)
        _ = try machine.perform(.restart, plan: plan)
      } catch {
        invariantFailure("the driver's deadline", time)
      }
    }
  }

  func wake(_ core: QueueCore) {
    let waker = waker.withLock { $0 }
    withoutCancellation { waker?.run() }
  }

  func close() {
    withoutCancellation {
      machine.shutDown()
      let runner = waker.withLock { waker in
        defer { waker = nil }
        return waker
      }
      runner?.close()
    }
  }

  func sync(_ core: QueueCore, timeout: Int64, _ body: @escaping () -> Void) -> Status {
    if DispatchDriver.isNeverMade { return .unsupported }
    // Without a timeout and outside callbacks, libdispatch has a faster way.
    if timeout == .max, dispatchContext.canRunAndWait, ThreadState.frames.isEmpty { return runInTurn(core, body) }
    return SyncCall.wait(core, timeout: timeout, body) { call in
      withoutCancellation { dispatchContext.queue.async { call.run() } }
      return .ok
    }
  }

  /// Runs a function on the calling thread, in the queue's turn. If others can wait for the thread, because it is on
  /// the main queue, a queue of the host's or a run loop, it is registered as waiting meanwhile.
  private func runInTurn(_ core: QueueCore, _ body: @escaping () -> Void) -> Status {
    let standing = Standing.current
    let waiter = standing.isNowhere ? nil : WaitRegistry.Waiter(.queue(core), standing)
    if let waiter, !WaitRegistry.enter(waiter) { return .wouldDeadlock }
    defer { if let waiter { WaitRegistry.leave(waiter) } }
    var ran = false
    withoutCancellation { host in
      dispatchContext.queue.sync {
        if core.closing.hasBegun { return }
        ran = true
        if let waiter { WaitRegistry.leave(waiter) }
        host.allow { ThreadState.inside(core.control) { _ in body() } }
      }
    }
    return ran ? .ok : .shutDown
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) -> Bool {
    if dispatchContext.isMain {
      text.add(MainQueue.obstacle)
    } else if !dispatchContext.isOwn {
      text.add("the host's dispatch queue that it is on is busy, suspended, or not drained")
    } else {
      text.add(
        dispatchContext.handOver == nil
          ? "its queue is busy" : "it waits for a thread of libdispatch, which grants about one a processor")
    }
    return true
  }
  var isOnQueue: Bool { dispatchContext.isHere }
  var executionContext: ExecutionContext? { dispatchContext.shared }
  var hostCancellation: HostCancellation? { dispatchContext.isMain ? MainQueue.hostCancellation : nil }
  var mayNeverRun: Bool { !dispatchContext.isOwn }
  var shouldYield: Bool { dispatchContext.isMain && MainQueue.stopIsPending }
}

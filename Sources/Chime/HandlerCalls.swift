internal import CSwiftTasks
import ChimeCore

/// The calls of one asynchronous handler, which never overlap: whether one runs, on which actor, and for whose calls it waits
/// itself. All that others have to know before they wait for its end. Any thread.
package final class HandlerCalls: Sendable {
  private struct State {
    /// The actor that the running call is on.
    var actor: (any Actor)?
    /// Where the running call's task keeps `innermost`.
    var binding: UInt = 0
    /// Whose calls the running call, or its child tasks, wait for.
    var awaited: [HandlerCalls] = []
  }

  private let state = Locked(State())
  /// One or none.
  let running = RunningCalls()
  /// Of all timers of the queue.
  private let ofQueue: RunningCalls

  init(on queue: AnyTimerQueue) { ofQueue = queue.calls }

  // MARK: Calls

  /// Begins a call, if there is one to make.
  ///
  /// - Parameters:
  ///   - actor: where the call will run.
  ///   - take: what there is to do, decided under the lock of whoever asks whether a call runs.
  func begin<Work>(on actor: (any Actor)?, _ take: (_ begin: () -> Void) -> Work?) -> Work? {
    // First counted, then looked at: a shutdown ends the timer, then looks at the count.
    ofQueue.begin(self)
    let work = take {
      state.withLock { $0.actor = actor }
      running.begin(self)
    }
    if work == nil { ofQueue.end(self) }
    return work
  }

  /// Runs a call that has begun, so that the code in it is known to be in it.
  func call(on actor: isolated (any Actor)?, _ body: nonisolated(nonsending) () async -> Void) async {
    await HandlerCalls.$innermost.withValue(self) {
      _ = actor  // the closure's isolation
      state.withLock { $0.binding = HandlerCalls.binding }
      await body()
    }
  }

  func end() {
    state.withLock { $0 = State() }
    running.end(self)
    ofQueue.end(self)
  }

  // MARK: The call that somebody is in

  /// That of the calling task or of the one that made it, and so on.
  @TaskLocal private static var innermost: HandlerCalls?

  /// Where that is kept.
  private static var binding: UInt {
    let local = unsafe Unmanaged.passUnretained($innermost).toOpaque()
    return unsafe UInt(bitPattern: chime_swift_task_local(local))
  }

  /// Whose call the calling task is in; its child tasks are in it, too. A task that a call has begun and does not wait for has
  /// a copy of `innermost`, at another place.
  static var current: HandlerCalls? {
    guard let call = innermost else { return nil }
    let binding = binding
    return call.state.withLock { $0.binding == binding } ? call : nil
  }

  /// Whether the caller holds the actor up that the running call is on.
  private var needsCallersActor: Bool {
    guard let actor = state.withLock({ $0.actor }) else { return false }
    let executor = unsafe HandlerCalls.executor(of: actor)
    if unsafe executor == HandlerCalls.executor(of: MainActor.shared) { return MainThread.isHere }
    if unsafe executor == chime_swift_current_executor() { return true }
    // A handler of the queue's timers is on the actor, too, and is no job.
    // SAFETY: executors are objects, and the actor keeps its own.
    let object = unsafe Unmanaged<AnyObject>.fromOpaque(executor).takeUnretainedValue()
    return (object as? SerialTimerQueue)?.isIsolatingCurrentContext() == true
  }

  /// What two actors with one executor have in common.
  private static func executor(of actor: any Actor) -> UnsafeRawPointer {
    // SAFETY: a reference to an executor is two pointers, to the object and to how it is one.
    unsafe unsafeBitCast(actor.unownedExecutor, to: (UnsafeRawPointer, UnsafeRawPointer?).self).0
  }

  // MARK: Waiting

  /// Held while somebody looks whether he may wait.
  private static let waits = Locked(())

  /// Notes that the calling task's call, if it is in one, waits for calls.
  ///
  /// - Parameter holdsThread: whether nothing else runs meanwhile on the actor that the caller is on.
  /// - Throws: `wouldDeadlock` if one of them waits for the caller, by way of others or not.
  static func beginWait(for calls: [HandlerCalls], holdsThread: Bool = false) throws(ChimeError) -> Wait {
    let caller = current
    if calls.isEmpty || caller == nil && !holdsThread { return Wait(caller: nil, calls: []) }
    let isCircle = waits.withLock { _ in
      var (next, seen) = (calls, Set<ObjectIdentifier>())
      while let call = next.popLast() {
        if call === caller || holdsThread && call.needsCallersActor { return true }
        if seen.insert(ObjectIdentifier(call)).inserted { next += call.state.withLock { $0.awaited } }
      }
      caller?.state.withLock { $0.awaited += calls }
      return false
    }
    if isCircle {
      throw ChimeError(.wouldDeadlock, "the call of the handler that it would wait for waits for the caller")
    }
    return Wait(caller: caller, calls: calls)
  }

  /// A wait that has been noted.
  struct Wait {
    fileprivate let caller: HandlerCalls?
    fileprivate let calls: [HandlerCalls]

    func end() {
      caller?.state.withLock { state in
        for call in calls {
          if let index = state.awaited.firstIndex(where: { $0 === call }) { state.awaited.remove(at: index) }
        }
      }
    }
  }
}

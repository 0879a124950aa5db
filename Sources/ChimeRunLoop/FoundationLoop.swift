import Chime
import ChimeCore
import CoreFoundation
import Foundation
import Synchronization

/// What Chime keeps for a run loop: its thread, the drivers of queues on it, the queues of its weak timers.
///
/// Created when Chime first sees the run loop, and kept until its thread ends. Then the queues of its weak timers end,
/// and a shutdown of other queues on it no longer waits for the loop. Any thread.
package final class FoundationLoop: WeakTimerLoop, @unchecked Sendable {
  // Unchecked for `runLoop`: of its methods only those are called from other threads that CoreFoundation makes safe.
  let runLoop: RunLoop

  struct State {
    /// The drivers of queues on this loop, which hear of its end.
    var drivers: [ObjectIdentifier: FoundationLoopDriver] = [:]
    /// The queues of the weak timers, by the modes they are in.
    var queues: [Set<RunLoop.Mode>: UInt64] = [:]
    /// CoreFoundation's loop, known once Chime has been on its thread.
    var cf: CFRunLoop?
  }

  let state = Locked(State())
  /// The loop's thread, by its `ThreadNumber`; 0 until Chime has been on it.
  private let thread = Atomic<UInt64>(0)
  private let ended = Atomic<Bool>(false)

  /// The run loops that Chime has met.
  private struct Known {
    var loops: [ObjectIdentifier: FoundationLoop] = [:]
    /// Those whose thread has ended but which are still held by somebody.
    var ended: [ObjectIdentifier: Ended] = [:]
  }

  private final class Ended: @unchecked Sendable {
    // Unchecked: weak references may be read by several threads.
    weak var runLoop: RunLoop?
    init(_ runLoop: RunLoop) { self.runLoop = runLoop }
  }

  private static let known = Locked(Known())

  private init(_ runLoop: RunLoop) { self.runLoop = runLoop }

  // MARK: Which

  /// What Chime keeps for one of Foundation's run loops.
  static func of(_ runLoop: RunLoop) -> FoundationLoop {
    let loop = find(runLoop)
    if runLoop === RunLoop.current { loop.bind() }
    return loop
  }

  private static func find(_ runLoop: RunLoop) -> FoundationLoop {
    known.withLock { known in
      if let loop = known.loops[ObjectIdentifier(runLoop)] { return loop }
      let loop = FoundationLoop(runLoop)
      if known.ended[ObjectIdentifier(runLoop)]?.runLoop === runLoop {
        loop.ended.store(true, ordering: .sequentiallyConsistent)
        return loop
      }
      known.loops[ObjectIdentifier(runLoop)] = loop
      return loop
    }
  }

  // MARK: Its thread

  /// Whether the caller is on the loop's thread.
  var isCurrent: Bool { thread.load(ordering: .relaxed) == ThreadNumber.current && !hasEnded }

  /// The thread's `ThreadNumber`; 0 until it is known.
  var threadNumber: UInt64 { thread.load(ordering: .relaxed) }

  /// Whether the loop's thread has ended.
  package var hasEnded: Bool { ended.load(ordering: .sequentiallyConsistent) }

  package var hasEndedStatus: Status { Status.invalidHandle.because("the run loop's thread has ended") }

  private static let endOfThread = unsafe ThreadKey { loop in
    if let loop = unsafe loop { unsafe Unmanaged<FoundationLoop>.fromOpaque(loop).takeRetainedValue().end() }
  }

  /// The mode that the loop is in; `nil` if it is not running, or Chime has never been on its thread. Any thread.
  var currentMode: RunLoop.Mode? {
    guard let loop = state.withLock({ $0.cf }), let mode = CFRunLoopCopyCurrentMode(loop) else { return nil }
    #if canImport(Darwin)
      return RunLoop.Mode(mode.rawValue as String)
    #else
      // SAFETY: on Linux CFString has the layout of NSString; Foundation itself converts it like this.
      return RunLoop.Mode(unsafe unsafeBitCast(mode, to: NSString.self).description)
    #endif
  }

  /// Notes, on the loop's thread, which thread that is, and has `end` called when it ends.
  func bind() {
    if thread.load(ordering: .relaxed) != 0 { return }
    thread.store(ThreadNumber.current, ordering: .relaxed)
    state.withLock { $0.cf = CFRunLoopGetCurrent() }
    guard let key = FoundationLoop.endOfThread else { return }
    // SAFETY: the key's destructor takes the reference back.
    unsafe key.set(Unmanaged.passRetained(self).toOpaque())
  }

  private func end() {
    ended.store(true, ordering: .sequentiallyConsistent)
    FoundationLoop.known.withLock { known in
      known.loops[ObjectIdentifier(runLoop)] = nil
      known.ended = known.ended.filter { $0.value.runLoop != nil }
      known.ended[ObjectIdentifier(runLoop)] = Ended(runLoop)
    }
    let (drivers, queues) = state.withLock { state in
      let left = (state.drivers.values.map { $0 }, state.queues)
      state.drivers = [:]
      state.queues = [:]
      return left
    }
    do throws(Forked) {
      for queue in queues.values { _ = try Fork.guarded { QueueCore.release(queue) } }
      for driver in drivers { try driver.contextHasEnded() }
    } catch {}  // In a child there is no such loop.
  }

  // MARK: Queues

  /// The queue of the weak timers in these modes.
  package func weakTimerQueue(in modes: LoopModes) throws(Status) -> (id: UInt64, isNew: Bool) {
    let modes = Set(modes.all.map { RunLoop.Mode($0.name) })
    if let queue = state.withLock({ $0.queues[modes] }) {
      if QueueCore.find(queue) != nil { return (queue, false) }
      // Somebody who had it from the list of queues has ended it.
      dropWeakTimerQueue(queue)
    }
    let options = QueueOptions(label: "chime.weak-timers")
    let made = try makeQueue(in: modes, options)
    // If two threads have created one, the first wins, and the other's is released. So is one that the loop's end has
    // not seen.
    let kept = state.withLock { state in
      if state.queues[modes] == nil, !hasEnded { state.queues[modes] = made }
      return state.queues[modes]
    }
    if kept != made { _ = QueueCore.release(made) }
    guard let kept else { throw hasEndedStatus }
    return (kept, kept == made)
  }

  package func dropWeakTimerQueue(_ id: UInt64) {
    state.withLock { state in state.queues = state.queues.filter { $0.value != id } }
    _ = QueueCore.release(id)
  }
}

extension TimeInterval {
  /// The interval of a Timer that is re-armed by its fire date and must not end by firing: 15 years.
  static var never: TimeInterval { 473_040_000 }
}

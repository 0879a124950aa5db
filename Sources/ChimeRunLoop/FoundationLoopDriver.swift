import Chime
import ChimeCore
import Foundation
import Synchronization

/// Wakes a queue on a run loop, with one Foundation `Timer` whose target is a weak proxy, re-armed by its fire date.
/// (Foundation on Linux never frees a Timer, so a Timer for each of Chime's timers is out of the question.)
///
/// In several modes two Timers take turns. If a Timer's date is set in its own callback, CoreFoundation re-arms it only
/// in the mode that called it, and it stays silent in the others. So the date is always set of the one that is not
/// firing.
///
/// Armed by passes, which run in the Timer's block; woken from anywhere.
final class FoundationLoopDriver: QueueDriver {
  private let loop: FoundationLoop
  private let modes: Set<RunLoop.Mode>
  // SAFETY: what is called here from other threads, the fire date and invalidation, CoreFoundation makes safe.
  private nonisolated(unsafe) let timers: [Foundation.Timer]
  private let control: QueueControlBlock
  private let proxy: CoreProxy

  private struct State {
    /// The time that the timer is set for, on the queue's clock; `.max` for none.
    var armed: Int64 = .max
    /// A pass was requested and has not begun: the timer is set for now, and stays so.
    var isWoken = false
    var isClosed = false
    /// Which timer is set next.
    var next = 0
    /// A pass is running in a timer's block. It may run the loop again, and the other timer may fire.
    var isInside = false
  }

  /// The fire date is set with the lock held, so that a pass that arms at the same moment does not undo a wake.
  private let state = Locked(State())

  private final class CoreProxy: @unchecked Sendable {
    // Unchecked: set before the timer is on the loop; weak references may be read by several threads.
    weak var core: QueueCore?
    weak var driver: FoundationLoopDriver?
  }

  init(_ core: QueueCore, _ loop: FoundationLoop, _ modes: Set<RunLoop.Mode>) {
    self.loop = loop
    self.modes = modes
    control = core.control
    let proxy = CoreProxy()
    self.proxy = proxy
    ExecutionContexts.hasRunLoops.store(true, ordering: .relaxed)
    let count = modes.count > 1 || modes.contains(.common) ? 2 : 1
    unsafe timers = (0..<count).map { _ in
      Foundation.Timer(fire: .distantFuture, interval: .never, repeats: true) { _ in proxy.driver?.fired() }
    }
    proxy.core = core
    proxy.driver = self
    loop.state.withLock { $0.drivers[ObjectIdentifier(self)] = self }
    for mode in modes {
      for timer in unsafe timers { loop.runLoop.add(timer, forMode: mode) }
    }
  }

  /// On the loop's thread, in one of the modes.
  private func fired() {
    loop.bind()
    let isOuter = state.withLock { state in
      state.isWoken = false
      state.armed = .max
      if state.isInside { return false }
      state.isInside = true
      unsafe state.next = (state.next + 1) % timers.count
      return true
    }
    do throws(Forked) { try proxy.core?.pass() } catch { return }
    if isOuter { state.withLock { $0.isInside = false } }
  }

  func arm(at time: Int64?) {
    let time = time ?? .max
    state.withLock { state in
      if state.isWoken || state.isClosed || time == state.armed { return }
      // A timer that is set for an earlier time is left alone: it costs one empty wake-up at most.
      if time != .max, state.armed <= time, state.armed > control.now { return }
      state.armed = time
      withoutCancellation { unsafe timers[state.next].fireDate = time == .max ? .distantFuture : date(of: time) }
    }
  }

  func wake(_ core: QueueCore) {
    state.withLock { state in
      if state.isWoken || state.isClosed { return }
      state.isWoken = true
      withoutCancellation { unsafe timers[state.next].fireDate = .distantPast }
    }
  }

  func close() {
    state.withLock { $0.isClosed = true }
    withoutCancellation { for timer in unsafe timers { timer.invalidate() } }
    loop.state.withLock { $0.drivers[ObjectIdentifier(self)] = nil }
  }

  func tellObstacle(_ core: QueueCore, sinceLastPass: Int64?, _ text: inout TextWriter) { text.add(obstacle) }

  private var obstacle: String {
    if hasEnded { return "the thread of its run loop has ended" }
    guard let current = loop.currentMode else { return "its run loop does not run" }
    let own = modes.map(\.rawValue).sorted().joined(separator: ", ")
    return modes.contains(current) || modes.contains(.common)
      ? "its run loop is busy" : "its run loop is in mode \(current.rawValue), and not in \(own)"
  }

  var takesSync: Bool { false }
  var isOnQueue: Bool { loop.isCurrent }
  var executionContext: ExecutionContext? { .thread(loop.threadNumber) }
  var mayNeverRun: Bool { true }
  var hasEnded: Bool { loop.hasEnded }
  var shouldYield: Bool { false }

  /// The loop's thread has ended.
  func contextHasEnded() throws(Forked) { try proxy.core?.contextHasEnded() }

  /// The wall-clock date of a time on the queue's clock. Foundation converts it back at once. Both conversions together
  /// lose less than the microsecond that is added here, so the timer does not fire early.
  private func date(of time: Int64) -> Date {
    Date(timeIntervalSinceNow: Double(max(0, time.saturatingSubtract(control.now))) / 1e9 + 1e-6)
  }
}

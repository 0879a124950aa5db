import Chime
import ChimeCore
import CoreFoundation
import Foundation

/// Running a loop, stopping it from anywhere, and loops on threads of their own.
extension FoundationLoop {
  /// Runs the calling thread's loop in a mode. Waits for time, also when nothing is in that mode yet.
  ///
  /// - Parameters:
  ///   - mode: not the common modes, which are a set of modes.
  ///   - timeout: 0 or more; `Int64.max` without end.
  ///   - untilTick: return after the first pass of one of Chime's queues that delivered a tick.
  /// - Returns: stopped; ok after a tick; timedOut; invalidArgument for a mode that nobody has ever used on this loop;
  ///   resource.
  package static func run(in mode: RunLoop.Mode, timeout: Int64, untilTick: Bool) -> Status {
    guard withoutCancellation({ canBeCurrent }) else { return .resource }
    let loop = withoutCancellation { current }
    let status = withoutCancellation { loop.prepare(mode) }
    if status != .ok { return status }
    let end = Clock.monotonic.now.saturatingAdd(timeout)
    loop.state.withLock { $0.runs.append(Run(endsWithTick: untilTick)) }
    defer { loop.state.withLock { _ = $0.runs.removeLast() } }
    while true {
      if loop.takeStop() { return .stopped }
      let left = end == .max ? TimeInterval.never : Double(max(0, end - Clock.monotonic.now)) / 1e9
      withoutCancellation { host in
        let outer = unsafe loop.hostCancellation
        unsafe loop.hostCancellation = host
        CFRunLoopRunInMode(mode.cf, left, false)
        unsafe loop.hostCancellation = outer
      }
      // A callback has ended this thread, which goes on to its end in the caller.
      if ThreadEnd.isCaught, !loop.isOwn.load(ordering: .relaxed) { return .stopped }
      if untilTick, loop.state.withLock({ $0.runs.last?.hasTicked == true }) { return .ok }
      if end != .max, Clock.monotonic.now >= end { return loop.takeStop() ? .stopped : .timedOut }
    }
  }

  /// Whether CoreFoundation, which ends the process otherwise, can open what it needs for a loop and so many modes.
  static func canHave(modes: Int) -> Bool { Descriptors.prepareDispatch() && Descriptors.areLeft(4 + 2 * modes) }

  /// Whether the calling thread has a loop that Chime knows, or can have one.
  package static var canBeCurrent: Bool { isBoundHere || canHave(modes: 2) }

  /// Puts the control timer into the mode; invalidArgument for a mode that cannot be run, resource.
  private func prepare(_ mode: RunLoop.Mode) -> Status {
    if mode == .common || mode.rawValue.isEmpty { return .invalidArgument }
    let (isControlled, isKnown) = state.withLock { ($0.controlled.contains(mode), $0.modes.contains(mode)) }
    if isControlled { return .ok }
    guard FoundationLoop.canHave(modes: 1) else { return .resource }
    if !isKnown, CFRunLoopRunInMode(mode.cf, 0, false) == .finished { return .invalidArgument }
    let control = state.withLock { state in
      state.controlled.insert(mode)
      let control =
        state.control
        ?? Foundation.Timer(fire: .distantFuture, interval: .never, repeats: true) { [weak self] _ in
          self?.controlFired()
        }
      state.control = control
      return control
    }
    runLoop.add(control, forMode: mode)
    return .ok
  }

  /// Makes the innermost run return, or the next one when none is under way; ignored while a stop is pending.
  package func stop() -> Status {
    state.withLock { state in
      if state.stopIsPending { return .ignored }
      state.stopIsPending = true
      state.control?.fireDate = .distantPast
      return .ok
    }
  }

  private func takeStop() -> Bool {
    state.withLock { state in
      defer { state.stopIsPending = false }
      return state.stopIsPending || state.isEnding
    }
  }

  /// The mode that the loop is in; `nil` when it does not run, or Chime has never been on its thread. Any thread.
  var currentMode: RunLoop.Mode? {
    guard let loop = state.withLock({ $0.cf }), let mode = CFRunLoopCopyCurrentMode(loop) else { return nil }
    // SAFETY: on Linux CFString has the layout of NSString; Foundation itself converts it like this.
    return RunLoop.Mode(unsafe unsafeBitCast(mode, to: NSString.self).description)
  }

  /// On the loop's thread.
  func controlFired() {
    let mustStop = state.withLock { state in
      guard state.stopIsPending || state.isEnding, !state.runs.isEmpty else { return false }
      // Again, until it is seen: what stops below may be a run of the host's inside the one that is meant.
      state.control?.fireDate = Date(timeIntervalSinceNow: 0.001)
      return true
    }
    if mustStop { CFRunLoopStop(CFRunLoopGetCurrent()) }
  }

  /// On the loop's thread: a queue on it has delivered.
  func hasTicked() {
    let mustStop = state.withLock { state in
      guard !state.runs.isEmpty else { return false }
      state.runs[state.runs.count - 1].hasTicked = true
      return state.runs[state.runs.count - 1].endsWithTick
    }
    if mustStop { CFRunLoopStop(CFRunLoopGetCurrent()) }
  }

  /// On the loop's thread, which a callback has ended: makes the run that it is in return, if it is one of Chime's on a
  /// thread of the host's.
  func stopRun() {
    if isOwn.load(ordering: .relaxed) || state.withLock({ $0.runs.isEmpty }) { return }
    CFRunLoopStop(CFRunLoopGetCurrent())
  }

  /// Makes a mode one of the loop's common modes.
  package func addCommonMode(_ mode: RunLoop.Mode) -> Status {
    guard mode != .common, !mode.rawValue.isEmpty else { return .invalidArgument }
    guard let loop = state.withLock({ $0.cf }) else { return .unsupported }
    state.withLock { _ = $0.modes.insert(mode) }
    CFRunLoopAddCommonMode(loop, mode.cf)
    return .ok
  }

  // MARK: On a thread of its own

  /// Starts a thread that runs its loop in the default mode until `stop`. The thread ends then, and with it the loop.
  package static func start(label: String) -> Result<UInt64, Status> {
    guard canHave(modes: 2) else { return .failure(.resource) }
    let started = DispatchSemaphore(value: 0)
    let made = Locked<Result<UInt64, Status>>(.failure(.limit))
    let status = OwnThread.start(name: label.isEmpty ? "chime.run-loop" : label) {
      let loop = current
      loop.isOwn.store(true, ordering: .relaxed)
      // All that running it needs is there before anybody knows it.
      let status = loop.prepare(.default)
      made.withLock { $0 = status != .ok ? .failure(status) : loop.id == 0 ? .failure(.limit) : .success(loop.id) }
      started.signal()
      if status == .ok { _ = run(in: .default, timeout: .max, untilTick: false) }
    }
    if status != .ok { return .failure(status) }
    started.wait()
    return made.withLock { $0 }
  }

  /// Ends a loop that `start` made: its id is stale, and its thread ends after the callback it is in. Ignored for the
  /// loop of a thread of the host's.
  package func release() -> Status {
    guard isOwn.load(ordering: .relaxed) else { return .ignored }
    guard retireID() else { return .invalidHandle }
    // Not a stop, which would end the innermost run only.
    state.withLock { state in
      state.isEnding = true
      state.control?.fireDate = .distantPast
    }
    return .ok
  }
}

extension RunLoop.Mode {
  /// The mode as CoreFoundation's functions take it.
  var cf: CFRunLoopMode {
    // SAFETY: on Linux NSString has the layout of CFString; Foundation itself converts it like this.
    unsafe unsafeBitCast(NSString(string: rawValue), to: CFRunLoopMode.self)
  }
}

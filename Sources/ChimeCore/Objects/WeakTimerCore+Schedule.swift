/// Where and when a weak timer ticks.
extension WeakTimerCore {
  /// Adds the timer to a mode of a loop; it may be in several modes of one loop.
  /// - Parameter companion: what the loop keeps alive with the timer.
  /// - Returns: ok; ignored if the timer is invalid or in that mode already; invalidArgument when it is on another
  ///   loop, or without a mode; invalidHandle if the loop's thread has ended; limit, noMemory, resource.
  package func add(to loop: any WeakTimerLoop, mode: LoopMode, companion: AnyObject? = nil) -> Status {
    guard isValid else { return .ignored }
    if mode.isEmpty { return Status.invalidArgument.because("mode is empty") }
    if loop.hasEnded { return loop.hasEndedStatus }
    var (old, made): (UInt64, UInt64) = (0, 0)
    let status: Status = state.withLock { state in
      guard state.action != nil else { return .ignored }
      if let other = state.loop, other !== loop {
        return Status.invalidArgument.because("timer is on another run loop already")
      }
      guard !state.modes.contains(mode) else { return .ignored }
      var modes = state.modes
      modes.insert(mode)
      var timer: UInt64 = 0
      let first = TimerRef(state.timer)?.nextDeadline ?? state.first
      let status = start(on: loop, modes, first, state.tolerance, &timer)
      if status != .ok { return status }
      old = state.timer
      state.before = (old, first)
      state.loop = loop
      state.modes = modes
      state.timer = timer
      state.companion = companion
      made = timer
      return .ok
    }
    // A fork in it is seen by whoever calls this.
    if let timer = TimerRef(made) { try? Trace.noteCreated(timer) }
    if old != 0 { _ = TimerRef.release(old) }
    return status
  }

  /// Makes the core's timer, which the caller reports: the lock is held.
  private func start(
    on loop: any WeakTimerLoop, _ modes: LoopModes, _ first: Int64, _ tolerance: Int64, _ timer: inout UInt64
  ) -> Status {
    let schedule = schedule(from: first, tolerance)
    // SAFETY: the finalizer releases the reference, or the failure does.
    let context = unsafe Unmanaged.passRetained(self)
    let options = unsafe TimerOptions(
      handler: WeakTimerCore.handler, context: Context(context.toOpaque()), finalizer: WeakTimerCore.finalizer,
      target: subject.targetID, flags: .selfRelease)
    var status = Status.invalidHandle
    // Another call, which was refused its timer, may drop the queue that it has made.
    while status == .invalidHandle, !loop.hasEnded {
      do throws(Status) {
        let queue = try loop.weakTimerQueue(in: modes)
        status = Trace.unreported {
          options.labelled(label) { unsafe TimerRef.create(on: queue.id, $0, schedule, out: &timer) }
        }
        if status.isFailure, queue.isNew { loop.dropWeakTimerQueue(queue.id) }
      } catch {
        unsafe context.release()
        return error
      }
    }
    if status.isFailure { unsafe context.release() }
    return status == .invalidHandle ? loop.hasEndedStatus : status
  }

  private func schedule(from first: Int64, _ tolerance: Int64) -> Schedule {
    Schedule(first: first, firstIsDeadline: true, interval: repeats ? interval : 0, leeway: tolerance)
  }

  /// When the next tick is due, on the monotonic clock; `Int64.max` when none is.
  package var nextDeadline: Int64 {
    get {
      guard isValid else { return .max }
      let (timer, first) = state.withLock { ($0.timer, $0.first) }
      return timer == 0 ? first : TimerRef(timer)?.nextDeadline ?? .max
    }
    set {
      let rescheduled: TimerRef? = state.withLock { state in
        state.first = newValue
        state.delayed = nil
        guard let timer = TimerRef(state.timer) else { return nil }
        let status = Trace.unreported { timer.reschedule(schedule(from: newValue, state.tolerance)) }
        return status == .ok || status == .running ? timer : nil
      }
      if let rescheduled { try? Trace.note(.rescheduled, rescheduled) }
    }
  }

  /// How late a tick may be, in nanoseconds; the setter takes 0 or more, for a timer that repeats below its interval.
  package var tolerance: Int64 {
    get { state.withLock { $0.tolerance } }
    set {
      state.withLock { state in
        state.tolerance = newValue
        _ = TimerRef(state.timer)?.setLeeway(newValue)
      }
    }
  }

  /// The longest tolerance.
  package var maximumTolerance: Int64 { repeats ? interval - 1 : .max }
}

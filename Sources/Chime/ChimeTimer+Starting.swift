import ChimeCore

extension ChimeTimer {
  /// Makes a one-shot that calls `handler`, and starts it: most timers are of this kind, and programs make many.
  @usableFromInline
  package static func start(
    on queue: AnyTimerQueue, after delay: Duration, leeway: Duration, label: String,
    _ handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    let (first, late) = (delay.nanoseconds, leeway.nanoseconds)
    // SAFETY: the reference is the timer's if one was made, and otherwise taken back, once.
    let box = unsafe Unmanaged.passRetained(HandlerBox(timeline: queue.timeline, consume handler))
    if label.isEmpty, let short = CompactDuration(short: late), first >= 0,
      let id = unsafe HandlerBox.makeAtOnce(on: queue, after: first, short, box)
    {
      return ChimeTimer(id, on: queue, queue.timeline)
    }
    return try start(on: queue, Schedule(first: first, leeway: late), label: label, box: unsafe box.takeRetainedValue())
  }

  @inline(never)
  private static func start(
    on queue: AnyTimerQueue, _ schedule: Schedule, label: String, calls: TaskCalls? = nil, box: sending HandlerBox
  ) throws(ChimeError) -> ChimeTimer {
    try schedule.check(for: queue.timeline)
    return ChimeTimer(
      try HandlerBox.make(on: queue.id, schedule, label: label, box), on: queue, queue.timeline,
      watched: calls.map { Watched(calls: $0) })
  }

  /// Makes a timer that calls `handler`, and starts it.
  package static func start(
    on queue: AnyTimerQueue, _ schedule: Schedule, label: String = "", calls: TaskCalls? = nil,
    _ handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try start(
      on: queue, schedule, label: label, calls: calls, box: HandlerBox(timeline: queue.timeline, consume handler))
  }

  /// Makes a timer that calls `handler` with the target as long as that lives, and starts it.
  package static func start<Object: AnyObject>(
    on queue: AnyTimerQueue, _ schedule: Schedule, label: String = "", _ target: WeakTarget<Object>,
    calls: TaskCalls? = nil, _ handler: sending @escaping (Object, ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try schedule.check(for: queue.timeline)
    let box = HandlerBox(timeline: queue.timeline) { tick in
      if let object = target.object {
        handler(object, tick)
      } else {
        _ = TimerRef.release(tick.handle)
      }
    }
    let handle = try HandlerBox.make(on: queue.id, schedule, target: target.tokenID, label: label, box)
    if target.tokenID == 0 {
      TargetSweep.watch {
        if target.object == nil { _ = TimerRef.release(handle) }
        return TimerRef(handle)?.state == nil
      }
    }
    let watched = Watched(targetHasGone: { target.object == nil }, calls: calls)
    return ChimeTimer(handle, on: queue, queue.timeline, watched: watched)
  }
}

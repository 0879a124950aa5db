internal import CPlatform
import Synchronization

/// Reports every transition of a timer and every tick to the host. If not set, it costs each of them the load of one
/// flag. It is called on the thread that caused the event, with no lock held. What the trace itself does is not traced.
package enum Trace: ProcessState {
  /// What happened to a timer, other than its callbacks, which have their `TickKind`. The raw values are those of
  /// `chime_tick_kind`.
  package enum Event: UInt32, CaseIterable {
    case created = 16
    case activated, restarted, suspended, resumed, rescheduled, postponed, fired, finished, cancelled, released,
      returned
  }

  /// A hint; the function lies behind the lock (P16).
  private static let flag = Atomic<Bool>(false)
  static var isOn: Bool { flag.load(ordering: .relaxed) }
  private struct Target {
    var function: TickFunction?
    /// A report that has begun holds it, too.
    var context: OwnedContext?
    /// What Swift's observers want to be told.
    var observer: TickFunction?
    /// The file that is being written, if one is.
    var file: File?
  }

  private static let target = Locked(Target())

  /// The context of the function before goes when the last report that has begun has let go of it.
  /// - Parameter function: `nil` for none.
  package static func set(_ function: TickFunction?, _ context: OwnedContext?) throws(Forked) {
    try Fork.guarded {
      let before = change { target in
        defer { (target.function, target.context) = (function, context) }
        return target.context
      }
      // Freed with no lock held.
      _ = consume before
    }
  }

  /// A second function, which has no context, beside the host's; `nil` for none.
  package static func setObserver(_ function: TickFunction?) { change { $0.observer = function } }

  /// Begins the file that the environment names, if it names one: called before the first queue is made.
  // SAFETY: set as the library is loaded.
  nonisolated(unsafe) static var beginFileIfWanted: (() -> Void)?

  /// What `TraceFile` writes down.
  struct File {
    let put: (CoreTick) -> Void
    let putQueue: (QueueControlBlock) -> Void
  }

  /// A file was begun or ended. Whoever comes last finds how it is.
  static func fileHasChanged(_ file: File) { change { $0.file = chime_trace_is_open() != 0 ? file : nil } }

  private static func change<Result>(_ body: (inout Target) -> Result) -> Result {
    target.withLock { target in
      let result = body(&target)
      flag.store(target.function != nil || target.observer != nil || target.file != nil, ordering: .releasing)
      return result
    }
  }

  static func makeGlobals() {
    target.withLock { _ in }
    chime_trace_initialize()
  }

  static func reinitialize() {
    target.reinitialize(Target())
    chime_trace_reinitialize()
  }

  /// A queue was made.
  static func note(_ control: QueueControlBlock) {
    if isOn, !Fork.isChild { target.withLock { $0.file }?.putQueue(control) }
  }

  /// Something has happened to a timer. Generation and deadline are read now.
  static func note(_ event: Event, _ timer: TimerRef) throws(Forked) { if isOn { try report(event, timer) } }

  /// The same as the last thing that a call does. Gives what the call returns: `status`, or forked.
  static func noteLast(_ event: Event, _ timer: TimerRef, _ status: Status) -> Status {
    isOn ? reportLast(event, timer, status) : status
  }

  @inline(never)
  private static func reportLast(_ event: Event, _ timer: TimerRef, _ status: Status) -> Status {
    .of { () throws(Forked) in
      try report(event, timer)
      return status
    }
  }

  /// A timer was made, and activated if it was.
  static func noteCreated(_ timer: TimerRef, activated: Bool = true) throws(Forked) {
    if !isOn { return }
    try report(.created, timer)
    if activated { try report(.activated, timer) }
  }

  /// Does what must be done while a lock is held: no trace function is called meanwhile, since that may call anything.
  /// The caller reports it afterwards.
  static func unreported<R>(_ body: () -> R) -> R {
    guard let thread = ThreadState.obtain(), !thread.isTracing else { return body() }
    thread.isTracing = true
    defer { thread.isTracing = false }
    return body()
  }

  /// A callback is about to be called.
  static func noteCall(_ tick: CoreTick) throws(Forked) { if isOn { try report(tick) } }

  @inline(never)
  private static func report(_ event: Event, _ timer: TimerRef) throws(Forked) {
    let control = timer.control
    try report(
      CoreTick(
        timer: timer.id, generation: timer.generation ?? 0, sequence: 0, missed: 0,
        scheduled: timer.nextDeadline ?? .max, actual: control.wallTime(control.now), context: .none, target: .none,
        kind: event.rawValue))
  }

  @inline(never)
  private static func report(_ record: CoreTick) throws(Forked) {
    // What a child still does before it is reinitialised, such as return from a handler, is not reported: another
    // thread of the parent's may have held the lock.
    if Fork.isChild { return }
    guard let thread = ThreadState.obtain(), !thread.isTracing else { return }
    thread.isTracing = true
    defer { thread.isTracing = false }
    // Whoever holds the context last goes on afterwards.
    try Fork.guarded {
      let target = target.withLock { $0 }
      target.file?.put(record)
      _ = try? target.function?(record, target.context?.context ?? .none)
      withExtendedLifetime(target.context) {}
      if !Fork.isChild { _ = try? target.observer?(record, .none) }
    }
  }
}

import Synchronization

/// Tells the host of every transition of a timer and every tick, for whoever looks what timers do. Not set, it costs each
/// of them the load of one flag. Called on the thread that does it, with no lock held; what the trace itself does is not
/// traced.
package enum Trace: ProcessState {
  /// What happened to a timer, beside its callbacks, which have their `TickKind`. The raw values are those of
  /// `chime_tick_kind`.
  package enum Event: Int32 {
    case created = 16
    case activated = 17
    case restarted = 18
    case suspended = 19
    case resumed = 20
    case rescheduled = 21
    case postponed = 22
    case fireWanted = 23
    case finished = 24
    case cancelled = 25
    case released = 26
    case returned = 27
  }

  /// A hint; the function lies behind the lock (P16, Sources/README.md).
  private static let flag = Atomic<Bool>(false)
  @inline(__always) static var isOn: Bool { flag.load(ordering: .relaxed) }
  private static let target = Locked<(function: TickFunction, context: Context)?>(nil)

  /// - Parameter function: `nil` for none.
  package static func set(_ function: TickFunction?, _ context: Context) {
    target.withLock { $0 = function.map { ($0, context) } }
    flag.store(function != nil, ordering: .releasing)
  }

  static func makeGlobals() { target.withLock { _ in } }

  static func reinitialize() {
    target.reinitialize(nil)
    flag.store(false, ordering: .relaxed)
  }

  /// Something has happened to a timer; generation and deadline are looked up as they are now.
  @inline(__always)
  static func note(_ event: Event, _ timer: TimerRef) {
    if isOn { report(event, timer) }
  }

  /// A timer was made, and activated if it was.
  @inline(__always)
  static func noteCreated(_ timer: TimerRef, activated: Bool = true) {
    if isOn { reportCreated(timer, activated) }
  }

  @inline(never)
  private static func reportCreated(_ timer: TimerRef, _ activated: Bool) {
    report(.created, timer)
    if activated { report(.activated, timer) }
  }

  /// A callback is about to be called.
  @inline(__always)
  static func noteCall(_ tick: TickRecord) {
    if isOn { report(tick) }
  }

  @inline(never)
  private static func report(_ event: Event, _ timer: TimerRef) {
    if ThreadState.existing?.isTracing == true { return }
    let control = timer.control
    report(
      TickRecord(
        timer: timer.id, generation: timer.generation ?? 0, sequence: 0, missed: 0,
        scheduled: timer.nextDeadline ?? .max, actual: control.wallTime(control.now), context: .none, target: .none,
        kind: event.rawValue))
  }

  @inline(never)
  private static func report(_ record: TickRecord) {
    guard let thread = ThreadState.obtain(), !thread.isTracing, let (function, context) = target.withLock({ $0 }) else { return }
    thread.isTracing = true
    function(record, context)
    thread.isTracing = false
  }
}

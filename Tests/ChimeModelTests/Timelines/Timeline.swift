import CChime

/// A virtual queue whose ticks are drawn as text, one character for each instant, the first for instant 0.
///
///     -    nothing              x    a DUE tick, nothing missed        1…9  a DUE tick, so many missed
///     >    jumped over          f    a FIRED tick                      +    a DUE tick, more than 9 missed
///                               A    ARMED                             C    CANCELLED
///     (xf)  several callbacks at one instant, in their order
///
/// A tick stands at the instant at which it ran (`actual_ns`). `every(3)` run to 6 is `---x--x`.
/// Used by one thread; each timer's line is in its `Probe`.
final class Timeline {
  let queue: chime_queue_t
  private var probes: [Probe] = []
  fileprivate var skipped: Set<Int64> = []
  /// All callbacks of all timers in their order, each as the timer's name and the character of its line.
  fileprivate(set) var log: [String] = []

  init(flags: Int = 0) { queue = makeVirtualQueue(flags: flags) }

  deinit {
    for probe in probes { probe.ended = true }
    _ = chime_queue_release(queue)
  }

  var now: Int64 { ChimeModelTests.now(of: queue) }

  /// Creates a timer in state idle.
  func timer(
    _ name: String = "t", registration: Bool = false, cancellation: Bool = false, selfRelease: Bool = false,
    onTick: @escaping (Probe, chime_tick) -> Void = { _, _ in }
  ) -> Probe {
    let probe = Probe(name: name, timeline: self, onTick: onTick)
    probes.append(probe)
    var options = chime_timer_options()
    options.size = UInt32(MemoryLayout<chime_timer_options>.size)
    options.flags = selfRelease ? UInt32(CHIME_TIMER_SELF_RELEASE) : 0
    options.handler = probeHandler
    options.registration_handler = registration ? probeHandler : nil
    options.cancel_handler = cancellation ? probeHandler : nil
    options.context = Unmanaged.passUnretained(probe).toOpaque()
    options.finalizer = { Probe.at($0).finalizations += 1 }
    probe.created = chime_timer_create(queue, &options, &probe.id)
    return probe
  }

  /// Creates and activates a timer.
  func start(
    _ name: String, _ schedule: chime_schedule, onTick: @escaping (Probe, chime_tick) -> Void = { _, _ in }
  ) -> Probe {
    let probe = timer(name, onTick: onTick)
    probe.activate(schedule)
    return probe
  }

  func start(
    _ schedule: chime_schedule, onTick: @escaping (Probe, chime_tick) -> Void = { _, _ in }
  ) -> Probe { start("t", schedule, onTick: onTick) }

  /// Creates and activates a timer whose first tick is one interval from now.
  func every(_ interval: Int64, onTick: @escaping (Probe, chime_tick) -> Void = { _, _ in }) -> Probe {
    start("t", makeSchedule(first: interval, interval: interval), onTick: onTick)
  }

  @discardableResult
  func run(to instant: Int64) -> chime_status { chime_queue_advance_to(queue, instant) }

  @discardableResult
  func jump(_ duration: Int64) -> chime_status {
    let before = now
    let status = chime_queue_jump(queue, duration)
    if now > before + 1 { skipped.formUnion(before + 1..<now) }
    return status
  }

  fileprivate func record(_ probe: Probe, _ character: String) { log.append(probe.name + character) }
}

/// One timer of a timeline: what it received, and short names for the calls that tests make.
final class Probe {
  let name: String
  fileprivate(set) var id: chime_timer_t = 0
  fileprivate(set) var created: chime_status = 0
  fileprivate(set) var ticks: [chime_tick] = []
  fileprivate(set) var finalizations = 0
  fileprivate var ended = false
  private let onTick: (Probe, chime_tick) -> Void
  private unowned let timeline: Timeline
  private var marks: [Int64: String] = [:]

  fileprivate init(name: String, timeline: Timeline, onTick: @escaping (Probe, chime_tick) -> Void) {
    self.name = name
    self.timeline = timeline
    self.onTick = onTick
  }

  /// The timeline's text from instant 0 to now.
  var line: String {
    (0...timeline.now).map { instant in
      let marks = marks[instant, default: timeline.skipped.contains(instant) ? ">" : "-"]
      return marks.count > 1 ? "(\(marks))" : marks
    }.joined()
  }

  @discardableResult func activate(_ schedule: chime_schedule) -> chime_status {
    withUnsafePointer(to: schedule) { chime_timer_activate(id, $0) }
  }
  @discardableResult func restart(_ schedule: chime_schedule) -> chime_status {
    withUnsafePointer(to: schedule) { chime_timer_restart(id, $0) }
  }
  @discardableResult func reschedule(_ schedule: chime_schedule) -> chime_status {
    withUnsafePointer(to: schedule) { chime_timer_reschedule(id, $0) }
  }
  @discardableResult func activate() -> chime_status { chime_timer_activate(id, nil) }
  @discardableResult func restart() -> chime_status { chime_timer_restart(id, nil) }
  @discardableResult func reschedule() -> chime_status { chime_timer_reschedule(id, nil) }
  @discardableResult func suspend() -> chime_status { chime_timer_suspend(id) }
  @discardableResult func resume() -> chime_status { chime_timer_resume(id) }
  @discardableResult func postpone(_ delay: Int64) -> chime_status { chime_timer_postpone(id, delay) }
  @discardableResult func fire() -> chime_status { chime_timer_fire(id) }
  @discardableResult func cancel() -> chime_status { chime_timer_cancel(id) }
  @discardableResult func release() -> chime_status { chime_timer_release(id) }
  var state: Int { ChimeModelTests.state(of: id) }
  var nextDeadline: Int64 { ChimeModelTests.nextDeadline(of: id) }

  fileprivate static func at(_ context: UnsafeMutableRawPointer?) -> Probe {
    Unmanaged<Probe>.fromOpaque(context!).takeUnretainedValue()
  }

  fileprivate func receive(_ tick: chime_tick) {
    if ended { return }
    ticks.append(tick)
    let character =
      switch Int(tick.kind) {
      case CHIME_TICK_DUE: tick.missed == 0 ? "x" : tick.missed <= 9 ? "\(tick.missed)" : "+"
      case CHIME_TICK_FIRED: "f"
      case CHIME_TICK_ARMED: "A"
      case CHIME_TICK_CANCELLED: "C"
      default: "?"
      }
    marks[tick.actual_ns, default: ""] += character
    timeline.record(self, character)
    onTick(self, tick)
  }
}

private let probeHandler: chime_handler = { tick, context in Probe.at(context).receive(tick.pointee) }

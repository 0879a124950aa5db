import ChimeCore
import Synchronization

/// What every timer queue is: a clock, a place for asynchronous handlers, and an end. Take one of these where it does not
/// matter on which kind of queue timers are.
///
/// Any thread may use a queue and its timers, inside handlers too. A queue lives as long as somebody holds it or one of
/// its timers, or until `shutdown`.
///
/// Whatever is out of range is refused with `invalidArgument`, but for what the comment of a call says. Everywhere, a
/// `Duration` counts in whole nanoseconds, rounded up; one of 292 years or more, `Int64.max` nanoseconds, is for ever, and a
/// point on a clock beyond that is never.
public class AnyTimerQueue: @unchecked Sendable {
  // Unchecked because a class with subclasses cannot be checked: both never change.
  package let id: UInt64
  /// The clock of the queue's instants.
  package let timeline: TimerInstant.Timeline

  /// The calls of asynchronous handlers of its timers.
  let calls = RunningCalls()

  /// When a queue in virtual time was shut down; below 0 for one that was not, or is in real time.
  private let lastInstant = Atomic<Int64>(-1)

  package init(_ timeline: TimerInstant.Timeline, _ make: () throws(Status) -> UInt64) throws(ChimeError) {
    id = try ChimeError.of(make)
    self.timeline = timeline
  }

  deinit { _ = QueueCore.release(id) }

  /// The actor on which the queue's handlers run; `nil` if they belong to none.
  package var home: HandlerHome? { nil }

  /// What moves the queue's time, on the kinds of queue that can be virtual.
  package var virtualTime: VirtualTime? { nil }

  // MARK: Timers

  /// Makes an idle timer with handlers as the core calls them.
  package final func makeIdle(
    label: String = "", handler: sending @escaping (ChimeTimer.Tick) -> Void
  ) throws(ChimeError) -> ChimeTimer {
    try makeIdle(label: label, handlers: ChimeTimer.Handlers(tick: handler))
  }

  /// Likewise, with more handlers than one.
  package final func makeIdle(
    label: String, handlers: sending ChimeTimer.Handlers
  ) throws(ChimeError) -> ChimeTimer {
    let box = FullHandlerBox(
      timeline: timeline, home: home, registrationHandler: handlers.registration, cancelHandler: handlers.cancel,
      handlers.tick)
    return ChimeTimer(try HandlerBox.make(on: id, nil, label: label, box), on: self, timeline)
  }

  // MARK: Functions

  /// Runs `body` once, `delay` from now.
  @usableFromInline package final func run(
    after delay: Duration, _ body: sending @escaping () -> Void
  ) throws(ChimeError) {
    let schedule = Schedule(first: delay.nanoseconds)
    try schedule.check(for: timeline)
    _ = try HandlerBox.make(
      on: id, schedule, selfRelease: true, HandlerBox { [self] _ in withExtendedLifetime(self) { body() } })
  }

  /// Runs `body` as soon as possible.
  @usableFromInline package final func run(_ body: sending @escaping () -> Void) throws(ChimeError) {
    try AnyTimerQueue.run(on: id) { [self] in withExtendedLifetime(self) { body() } }
  }

  /// Runs `body` on the queue with that id, which the function does not hold.
  static func run(on id: UInt64, _ body: sending @escaping () -> Void) throws(ChimeError) {
    let box = unsafe Context(ClosureBox.context(body))
    let status = unsafe QueueCore.async(
      id, ContextFunction { unsafe ClosureBox.call($0) }, box, ContextFunction { unsafe ClosureBox.release($0) })
    if status.isFailure {
      unsafe ClosureBox.release(box.pointer)
      throw status.error
    }
  }

  // MARK: Holding back

  /// Holds the queue's callbacks back, until as many calls of `resume`: once it has returned, no tick begins and no function.
  /// Time goes on; what becomes due meanwhile comes after the resume, the missed ticks of a timer as one. The queue's end ends
  /// the suspension, too.
  ///
  /// A call of an asynchronous handler whose tick has begun is not held back, nor are the jobs of an actor on the queue.
  ///
  /// - Returns: done; running while a callback runs, as is always so inside it; ignored by a queue that has ended.
  @discardableResult
  public func suspend() -> ChimeTimer.Outcome { (try? QueueCore.suspend(id).outcome()) ?? .ignored }

  /// Takes one `suspend` back. If it was the last, callbacks begin again.
  ///
  /// - Returns: done; ignored if the queue is not suspended, or has ended.
  @discardableResult
  public func resume() -> ChimeTimer.Outcome { (try? QueueCore.resume(id).outcome()) ?? .ignored }

  // MARK: Looking

  /// The time on the queue's clock, which goes on after the queue's end; virtual time then stands still.
  public var now: TimerInstant { TimerInstant(timeline, nanoseconds: QueueCore.now(id) ?? nowAfterEnd) }

  private var nowAfterEnd: Int64 {
    let last = lastInstant.load(ordering: .acquiring)
    if last >= 0 { return last }
    return switch timeline {
    case .monotonic: Clock.monotonic.now
    case .boottime: Clock.boottime.now
    case .wall: Clock.wall.now
    case .virtual: 0
    }
  }

  /// When the queue next has something to do, on its clock; `nil` for never, and for a queue that has threads or a loop of its
  /// own. Exact on the thread that drives the queue; elsewhere it may be too early (now, for example), never too late.
  public var nextDeadline: TimerInstant? {
    guard let deadline = try? QueueCore.nextDeadline(id), deadline != .max else { return nil }
    return TimerInstant(timeline, nanoseconds: deadline)
  }

  /// The queue's time as a Swift `Clock`. It holds the queue.
  public var clock: TimerQueueClock { TimerQueueClock(queue: self) }

  // MARK: The end

  /// Ends the queue and waits until none of its callbacks runs or will run, and no call of an asynchronous handler. Blocks the
  /// calling thread; no call is cancelled. In a task: `shutdown(timeout:)`.
  ///
  /// - Parameter timeout: less than 0 counts as 0; `nil` for no limit.
  /// - Returns: done; timedOut if a handler is still running; ignored if the queue had ended before.
  /// - Throws: `wouldDeadlock` inside a callback of the queue, in a call of one of its asynchronous handlers, and on the
  ///   actor of such a call that runs: the queue has ended, but the call did not wait.
  @available(*, noasync, message: "in a task, await shutdown: it blocks no thread")
  @discardableResult
  public func blockingShutdown(timeout: Duration? = nil) throws -> ChimeTimer.Outcome {
    let end = ContinuousClock.Instant.end(of: timeout)
    keepLastInstant()
    let status = QueueCore.shutdown(id, timeout: max(0, timeout?.nanoseconds ?? .max))
    if status == .invalidHandle { return .ignored }
    let outcome = try status.outcome()
    return try calls.waitForNone(until: end) ? outcome : .timedOut
  }

  /// Ends the queue and waits until none of its callbacks runs or will run, and no call of an asynchronous handler. Blocks
  /// no thread, and cancels no call.
  ///
  /// - Parameter timeout: in real time; less than 0 counts as 0; `nil` for no limit.
  /// - Returns: done; timedOut if a handler is still running; ignored if the queue had ended before.
  /// - Throws: `CancellationError`, and `wouldDeadlock` in a call of one of its asynchronous handlers: the queue has ended
  ///   then, too, but the call did not wait.
  @discardableResult
  public nonisolated(nonsending) func shutdown(timeout: Duration? = nil) async throws -> ChimeTimer.Outcome {
    let end = ContinuousClock.Instant.end(of: timeout)
    keepLastInstant()
    var outcome = ChimeTimer.Outcome.ignored
    var ending: QueueCore?
    do { ending = try QueueCore.beginShutdown(id) } catch {
      if error != .invalidHandle { outcome = try error.outcome() }
    }
    if let core = ending {
      let limit = max(0, timeout?.nanoseconds ?? .max)
      outcome = core.isOver ? .done : try await Blocking.run(for: id, timeout: limit, core.waitForEnd).outcome()
    }
    return try await calls.waitForNone(until: end) ? outcome : .timedOut
  }

  private func keepLastInstant() {
    if QueueCore.find(id)?.control.isVirtual == true, let now = QueueCore.now(id) {
      lastInstant.store(now, ordering: .releasing)
    }
  }
}

extension AnyTimerQueue: CustomStringConvertible {
  /// Label, clock, and how many timers there are and run: for people.
  ///
  /// - Complexity: O(*n*), where *n* is the number of its timers.
  public var description: String {
    let name = String(describing: type(of: self))
    guard let label = QueueCore.find(id)?.label, let statistics = QueueCore.statistics(id) else {
      return "\(name)(ended)"
    }
    let title = label.isEmpty ? "" : TextWriter.string(foreign: label) + ", "
    return "\(name)(\(title)on \(timeline.name), \(statistics.timers) timers, \(statistics.running) running)"
  }
}

import ChimeCore

/// Swift handlers on their way through the core, which knows only functions and contexts. The timer's context is one
/// reference to this box, which the timer owns: so it needs no finalizer, and no side record for one.
package class HandlerBox {
  private let handler: (Tick) -> Void
  /// The clock of the timer's queue.
  private let timeline: TimerInstant.Timeline

  package init(timeline: TimerInstant.Timeline = .monotonic, _ handler: @escaping (Tick) -> Void) {
    self.handler = handler
    self.timeline = timeline
  }

  private static var function: TickFunction {
    unsafe TickFunction { tick, context in
      let record = unsafe tick.load(as: CoreTick.self)
      if let box = unsafe HandlerBox.of(context) { box.handler(Tick(record, box.timeline)) }
    }
  }

  /// Creates a one-shot with a handler alone and starts it, if the core can do that at once, as nearly always; otherwise
  /// `nil`, with nothing done. Gives its id.
  /// - Parameter box: retained for the timer, which releases it.
  @inline(__always)
  static func makeAtOnce(
    on queue: AnyTimerQueue, after delay: Int64, _ leeway: CompactDuration, _ box: Unmanaged<HandlerBox>
  ) -> UInt64? {
    var id: UInt64 = 0
    let started = unsafe TimerRef.createFast(
      on: queue.id, function, Context(box.toOpaque()), selfRelease: false, ownsContext: true, first: delay,
      firstIsDeadline: false, leeway: leeway, out: &id)
    guard case .done(let status) = started, !status.isFailure else { return nil }
    return id
  }

  /// Creates a timer that calls the box's handlers, and starts it if there is a schedule. Gives its id.
  /// - Parameters:
  ///   - label: for debuggers.
  ///   - box: without the other handlers, which only an idle timer can be made with, if there is a schedule.
  package static func make(
    on queue: UInt64, _ schedule: Schedule?, target: UInt64 = 0, selfRelease: Bool = false, label: String = "",
    _ box: sending HandlerBox
  ) throws(ChimeError) -> UInt64 {
    // The caller's reference becomes the timer's, or goes below.
    let context = Context.retaining(consume box)
    var id: UInt64 = 0
    var started = TimerRef.ShortForm.needsMore
    if target == 0, label.isEmpty, let schedule, schedule.isOneShotOnly,
      let leeway = CompactDuration(short: schedule.leeway)
    {
      started = unsafe TimerRef.createFast(
        on: queue, function, context, selfRelease: selfRelease, ownsContext: true, first: schedule.first,
        firstIsDeadline: schedule.firstIsDeadline, leeway: leeway, out: &id)
    }
    let status =
      if case .done(let status) = started { status } else {
        create(on: queue, schedule, target, selfRelease, label, context, &id)
      }
    if !status.isFailure { return id }
    context.releaseObject()
    throw status.error
  }

  @inline(never)
  private static func create(
    on queue: UInt64, _ schedule: Schedule?, _ target: UInt64, _ selfRelease: Bool, _ label: String,
    _ context: Context, _ id: inout UInt64
  ) -> Status {
    var options = TimerOptions(
      handler: function, context: context, target: target,
      flags: selfRelease ? [.ownsContext, .selfRelease] : .ownsContext)
    if let box = unsafe FullHandlerBox.full(context.pointer) {
      if box.registrationHandler != nil {
        options.registrationHandler = unsafe TickFunction {
          unsafe FullHandlerBox.full($1).map { $0.callAtHome($0.registrationHandler) }
        }
      }
      if box.cancelHandler != nil {
        options.cancelHandler = unsafe TickFunction {
          unsafe FullHandlerBox.full($1).map { $0.callAtHome($0.cancelHandler) }
        }
      }
    }
    return unsafe label.withCString { text in
      if !label.isEmpty { unsafe options.label = unsafe text }
      return unsafe TimerRef.create(on: queue, options, schedule, out: &id)
    }
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> HandlerBox? {
    unsafe context.map { unsafe Unmanaged<HandlerBox>.fromOpaque($0).takeUnretainedValue() }
  }
}

/// One with more handlers than one.
package final class FullHandlerBox: HandlerBox {
  fileprivate let registrationHandler: (() -> Void)?
  fileprivate let cancelHandler: (() -> Void)?
  /// Where these handlers belong; `nil` for wherever the queue calls them.
  private let home: HandlerHome?

  package init(
    timeline: TimerInstant.Timeline, home: HandlerHome? = nil, registrationHandler: (() -> Void)? = nil,
    cancelHandler: (() -> Void)? = nil, _ handler: @escaping (Tick) -> Void
  ) {
    self.registrationHandler = registrationHandler
    self.cancelHandler = cancelHandler
    self.home = home
    super.init(timeline: timeline, handler)
  }

  /// Calls a handler where it belongs. The end of a timer or of its queue may come on any thread: a virtual queue calls what
  /// is left then and there. What belongs to an actor is left to the queue's next pass, which is on the actor, or goes with
  /// the queue if there is none.
  fileprivate func callAtHome(_ handler: (() -> Void)?) {
    guard let handler, let home, !home.isHere() else {
      handler?()
      return
    }
    // SAFETY: the timer has ended, so nothing else calls what the box holds; the queue calls this or releases it.
    nonisolated(unsafe) let call = { [self] in withExtendedLifetime(self) { handler() } }
    try? AnyTimerQueue.run(on: home.queue) { unsafe call() }
  }

  fileprivate static func full(_ context: UnsafeMutableRawPointer?) -> FullHandlerBox? {
    unsafe context.flatMap { unsafe Unmanaged<HandlerBox>.fromOpaque($0).takeUnretainedValue() as? FullHandlerBox }
  }
}

/// An actor on which a queue's handlers run.
package struct HandlerHome: Sendable {
  let queue: UInt64
  /// Whether the caller is on the actor.
  let isHere: @Sendable () -> Bool
}

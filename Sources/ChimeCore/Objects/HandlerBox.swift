/// Swift handlers on their way through the core, which knows only functions and contexts. The timer's context is one
/// reference to this box: whoever frees the timer's slot releases it (see `TimerSlot.handlerBox`), so that a timer of
/// Swift's needs no finalizer, and no side record for one.
package final class HandlerBox {
  private let handler: (Tick) -> Void
  private let registrationHandler: (() -> Void)?
  private let cancelHandler: (() -> Void)?
  /// The clock of the timer's queue.
  private let timeline: TimerInstant.Timeline

  package init(
    timeline: TimerInstant.Timeline = .monotonic, registrationHandler: (() -> Void)? = nil,
    cancelHandler: (() -> Void)? = nil, _ handler: @escaping (Tick) -> Void
  ) {
    self.handler = handler
    self.timeline = timeline
    self.registrationHandler = registrationHandler
    self.cancelHandler = cancelHandler
  }

  /// The handler of every timer whose context is a box, and of no other.
  private static var function: TickFunction {
    unsafe TickFunction { tick, context in
      let record = unsafe tick.load(as: TickRecord.self)
      if let box = unsafe HandlerBox.of(context) { box.handler(Tick(record, box.timeline)) }
    }
  }

  fileprivate static func isContext(of handler: TickFunction?) -> Bool {
    unsafe handler.map { unsafe unsafeBitCast($0.function, to: UInt.self) }
      == unsafeBitCast(function.function, to: UInt.self)
  }

  /// Creates a timer that calls the box's handlers, and starts it if there is a schedule. Gives its id.
  /// - Parameters:
  ///   - label: of an idle timer.
  ///   - box: without the other handlers, which only an idle timer can be made with, if there is a schedule.
  package static func make(
    on queue: UInt64, _ schedule: Schedule?, target: UInt64 = 0, selfRelease: Bool = false, label: String = "",
    _ box: sending HandlerBox
  ) -> Result<UInt64, Status> {
    // SAFETY: the caller's reference becomes the timer's, or goes below.
    let reference = unsafe Unmanaged.passRetained(consume box)
    let context = unsafe Context(reference.toOpaque())
    var id: UInt64 = 0
    var status: Status?
    if target == 0, let schedule, schedule.isPlain, let leeway = CompactDuration(short: schedule.leeway) {
      status = unsafe TimerRef.createPlain(
        on: queue, function, context, selfRelease: selfRelease, first: schedule.first,
        firstIsDeadline: schedule.firstIsDeadline, leeway: leeway, out: &id)
    }
    let result = unsafe status ?? create(on: queue, schedule, target, selfRelease, label, reference, &id)
    if !result.isFailure { return .success(id) }
    unsafe reference.release()
    return .failure(result)
  }

  @inline(never)
  private static func create(
    on queue: UInt64, _ schedule: Schedule?, _ target: UInt64, _ selfRelease: Bool, _ label: String,
    _ reference: Unmanaged<HandlerBox>, _ id: inout UInt64
  ) -> Status {
    let box = unsafe reference.takeUnretainedValue()
    var options = unsafe TimerOptions(
      handler: function, context: Context(reference.toOpaque()), target: target, selfRelease: selfRelease)
    if box.registrationHandler != nil {
      options.registrationHandler = unsafe TickFunction { unsafe HandlerBox.of($1)?.registrationHandler?() }
    }
    if box.cancelHandler != nil {
      options.cancelHandler = unsafe TickFunction { unsafe HandlerBox.of($1)?.cancelHandler?() }
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

extension TimerSlot {
  /// The box that the slot's timer holds a reference to: whoever has freed the slot releases it, after the slot was given
  /// back. That runs code of the host's, which may wait for the queue to end. The caller owns the slot.
  @inline(__always)
  var handlerBox: HandlerBox.Reference? {
    guard HandlerBox.isContext(of: handler), let pointer = unsafe context.pointer else { return nil }
    return unsafe HandlerBox.Reference(Unmanaged.fromOpaque(pointer))
  }
}

extension HandlerBox {
  /// A timer's reference to its box.
  @safe struct Reference {
    // SAFETY: released once, by whoever has freed the timer's slot.
    private let box: Unmanaged<HandlerBox>

    fileprivate init(_ box: Unmanaged<HandlerBox>) { unsafe self.box = box }

    func release() { unsafe box.release() }
  }
}

/// Swift handlers on their way through the core, which knows only functions and contexts. The timer's context is one
/// reference to this box, and the finalizer releases it.
package final class HandlerBox {
  private let handler: (Tick) -> Void
  private let registrationHandler: (() -> Void)?
  private let cancelHandler: (() -> Void)?

  package init(
    registrationHandler: (() -> Void)? = nil, cancelHandler: (() -> Void)? = nil, _ handler: @escaping (Tick) -> Void
  ) {
    self.handler = handler
    self.registrationHandler = registrationHandler
    self.cancelHandler = cancelHandler
  }

  /// Creates a timer that calls the box's handlers, and starts it if there is a schedule. Gives its id.
  package static func start(
    on queue: UInt64, _ schedule: Schedule?, target: UInt64 = 0, selfRelease: Bool = false, _ box: sending HandlerBox
  ) throws(ChimeError) -> UInt64 {
    var options = unsafe TimerOptions(
      handler: TickFunction { tick, context in
        let record = unsafe tick.load(as: TickRecord.self)
        unsafe HandlerBox.of(context)?.handler(Tick(record))
      },
      // SAFETY: the core calls the finalizer exactly once, after the last call of a handler.
      context: Context(Unmanaged.passRetained(box).toOpaque()),
      finalizer: ContextFunction { unsafe HandlerBox.release($0) }, target: target, selfRelease: selfRelease)
    options.flags.insert(.finalizesAnywhere)
    if box.registrationHandler != nil {
      options.registrationHandler = unsafe TickFunction { unsafe HandlerBox.of($1)?.registrationHandler?() }
    }
    if box.cancelHandler != nil {
      options.cancelHandler = unsafe TickFunction { unsafe HandlerBox.of($1)?.cancelHandler?() }
    }
    var id: UInt64 = 0
    let status = unsafe TimerRef.create(on: queue, options, schedule, out: &id)
    if status.isFailure {
      unsafe HandlerBox.release(options.context.pointer)
      throw status.error
    }
    return id
  }

  private static func of(_ context: UnsafeMutableRawPointer?) -> HandlerBox? {
    unsafe context.map { unsafe Unmanaged<HandlerBox>.fromOpaque($0).takeUnretainedValue() }
  }

  private static func release(_ context: UnsafeMutableRawPointer?) {
    if let context = unsafe context { unsafe Unmanaged<HandlerBox>.fromOpaque(context).release() }
  }
}

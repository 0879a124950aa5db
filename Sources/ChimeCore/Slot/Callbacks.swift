internal import CPlatform

/// A handler: a C function that takes the address of a `CoreTick` and the context.
@frozen @safe package struct TickFunction: Sendable {
  package typealias Function = @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Void

  @usableFromInline let function: Function

  @inlinable
  package init(_ function: Function) { unsafe self.function = unsafe function }

  /// Stands for a callback of a timer whose ticks are taken as records; never called.
  package static var record: TickFunction { unsafe TickFunction { _, _ in } }

  /// Calls the handler; false if that has not returned, because it has ended its thread (see `ThreadEnd`).
  @discardableResult
  package func callAsFunction(_ tick: CoreTick) throws(Forked) -> Bool { try self(tick, tick.context) }

  @discardableResult
  func callAsFunction(_ tick: CoreTick, _ context: Context) throws(Forked) -> Bool {
    var tick = tick
    return try call(&tick, context)
  }

  /// The same without a copy of the tick.
  @inline(__always)
  func call(_ tick: inout CoreTick, _ context: Context) throws(Forked) -> Bool {
    ThreadEnd.passGate()
    // What the numbers mean stands in callback_guard.h.
    let called = try Fork.guarded {
      // SAFETY: the tick stays where it is until the handler has returned, as chime.h says: on this stack, or in the queue
      // whose pass this is. The functions differ in what C says of null pointers, not in how they are called.
      let called = unsafe withUnsafePointer(to: &tick) {
        unsafe chime_call_tick(unsafeBitCast(function, to: CFunction.self), UnsafeRawPointer($0), context.pointer)
      }
      if called != 0 { ThreadEnd.wasCaught() }
      return called
    }
    return called != 1
  }

  private typealias CFunction = @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
}

/// A finalizer, or another C function that takes a context.
@frozen @safe package struct ContextFunction: Sendable {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

  @usableFromInline let function: Function

  @inlinable
  package init(_ function: Function) { unsafe self.function = unsafe function }

  /// Stands for the finalizer of a timer whose ticks are taken as records; never called.
  package static var record: ContextFunction { unsafe ContextFunction { _ in } }

  /// Calls the function. This returns even if the function ends its thread (see `ThreadEnd`).
  package func callAsFunction(_ context: Context) throws(Forked) {
    ThreadEnd.passGate()
    try Fork.guarded {
      if unsafe chime_call_function(function, context.pointer) != 0 { ThreadEnd.wasCaught() }
    }
  }
}

/// A context that Chime has accepted. The last holder calls its finalizer; not in a child of a fork, where all that came
/// before is given up (promise 15). Who may be the last, and goes on afterwards, lets go of it in `Fork.guarded`.
package final class OwnedContext: @unchecked Sendable {
  // Unchecked for `finalizer`, which changes only while nobody but its maker knows the object, or at its end.
  package let context: Context
  private var finalizer: ContextFunction?
  private let forkMark = Fork.mark

  package init(_ context: Context, _ finalizer: ContextFunction?) {
    self.context = context
    self.finalizer = finalizer
  }

  /// The end of the context, whoever still holds this. One thread, once.
  func end() throws(Forked) {
    let last = finalizer
    finalizer = nil
    try last?(context)
  }

  /// It was not accepted after all and stays the caller's.
  package func disown() { finalizer = nil }

  deinit { if Fork.mark == forkMark { try? finalizer?(context) } }
}

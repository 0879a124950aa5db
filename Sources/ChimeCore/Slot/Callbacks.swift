/// One delivery, laid out like `chime_tick`; a test compares the two layouts.
package struct CoreTick: Sendable {
  package var timer: UInt64
  package var generation: UInt64
  package var sequence: UInt64
  package var missed: UInt64
  package var scheduled: Int64
  package var actual: Int64
  package var context: Context
  package var target: Context
  package var kind: UInt32
  package var reserved: UInt32 = 0
}

/// A pointer that the host gave for its callbacks. Chime passes it on and never follows it.
@frozen @safe package struct Context: @unchecked Sendable {
  // One callback of a timer at a time uses the pointer (promise 6); what it points to is the host's.
  package let pointer: UnsafeMutableRawPointer?

  @inlinable
  package init(_ pointer: UnsafeMutableRawPointer?) { unsafe self.pointer = unsafe pointer }

  @inlinable package static var none: Context { unsafe Context(nil) }

  /// A reference to an object; `releaseObject` takes it back.
  @inlinable
  package static func retaining(_ object: consuming AnyObject) -> Context {
    unsafe Context(Unmanaged.passRetained(object).toOpaque())
  }

  package func releaseObject() {
    // SAFETY: made by `retaining`, and released once, by whoever owns the context.
    if let pointer = unsafe pointer { unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release() }
  }
}

/// A handler: a C function that takes the address of a `CoreTick` and the context.
@frozen @safe package struct TickFunction: Sendable {
  package typealias Function = @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Void

  @usableFromInline let function: Function

  @inlinable
  package init(_ function: Function) { unsafe self.function = unsafe function }

  /// Stands for a callback of a timer whose ticks are taken as records; never called.
  package static var record: TickFunction { unsafe TickFunction { _, _ in } }
}

/// A finalizer, or another C function that takes a context.
@frozen @safe package struct ContextFunction: Sendable {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

  @usableFromInline let function: Function

  @inlinable
  package init(_ function: Function) { unsafe self.function = unsafe function }

  /// Stands for the finalizer of a timer whose ticks are taken as records; never called.
  package static var record: ContextFunction { unsafe ContextFunction { _ in } }
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

internal import CPlatform

/// A pointer that the host gave for its callbacks. Chime passes it on and never follows it.
@frozen @safe package struct Context: @unchecked Sendable {
  // One callback of a timer at a time uses the pointer (promise 6); what it points to is the host's.
  package let pointer: UnsafeMutableRawPointer?

  @inlinable @inline(__always)
  package init(_ pointer: UnsafeMutableRawPointer?) { unsafe self.pointer = unsafe pointer }

  @inlinable package static var none: Context { unsafe Context(nil) }

  /// A reference to an object; `releaseObject` takes it back.
  package static func retaining(_ object: AnyObject) -> Context {
    unsafe Context(Unmanaged.passRetained(object).toOpaque())
  }

  package func releaseObject() {
    // SAFETY: made by `retaining`, and released once, by whoever owns the context.
    if let pointer = unsafe pointer { unsafe Unmanaged<AnyObject>.fromOpaque(pointer).release() }
  }
}

/// A handler: a C function that takes the address of a `TickRecord` and the context.
@frozen @safe package struct TickFunction: Sendable {
  package typealias Function = @convention(c) (UnsafeRawPointer, UnsafeMutableRawPointer?) -> Void

  @usableFromInline let function: Function

  @inlinable @inline(__always)
  package init(_ function: Function) { unsafe self.function = unsafe function }

  /// Stands for a callback of a timer whose ticks are taken as records; never called.
  package static var record: TickFunction { unsafe TickFunction { _, _ in } }

  /// Calls the handler; false if that has not returned, because it has ended its thread (see `ThreadEnd`).
  @discardableResult
  package func callAsFunction(_ tick: TickRecord) -> Bool { self(tick, tick.context) }

  @discardableResult
  func callAsFunction(_ tick: TickRecord, _ context: Context) -> Bool {
    ThreadEnd.passGate()
    // SAFETY: the tick lives on this stack until the handler has returned, as chime.h says. The functions differ in
    // what C says of null pointers, not in how they are called.
    let called = unsafe withUnsafePointer(to: tick) {
      unsafe chime_call_tick(unsafeBitCast(function, to: CFunction.self), UnsafeRawPointer($0), context.pointer)
    }
    if called != 0 { ThreadEnd.wasCaught() }
    return called != 1
  }

  private typealias CFunction = @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
}

/// A finalizer, or another C function that takes a context.
@frozen @safe package struct ContextFunction: Sendable {
  package typealias Function = @convention(c) (UnsafeMutableRawPointer?) -> Void

  @usableFromInline let function: Function

  @inlinable @inline(__always)
  package init(_ function: Function) { unsafe self.function = unsafe function }

  /// Stands for the finalizer of a timer whose ticks are taken as records; never called.
  package static var record: ContextFunction { unsafe ContextFunction { _ in } }

  /// Calls the function. This returns even if the function ends its thread (see `ThreadEnd`).
  package func callAsFunction(_ context: Context) {
    ThreadEnd.passGate()
    if unsafe chime_call_function(function, context.pointer) != 0 { ThreadEnd.wasCaught() }
  }
}

/// Why a callback is called. The raw values are those of `chime_tick_kind`.
package enum TickKind: Int32, Sendable {
  case due = 0
  case fired = 1
  case armed = 2
  case cancelled = 3
  case finalize = 4
  case function = 5
}

/// One delivery, laid out like `chime_tick`; a test compares the two layouts.
package struct TickRecord: Sendable {
  package var timer: UInt64
  package var generation: UInt64
  package var sequence: UInt64
  package var missed: UInt64
  package var scheduled: Int64
  package var actual: Int64
  package var context: Context
  package var target: Context
  package var kind: Int32
  package var reserved: UInt32 = 0
}

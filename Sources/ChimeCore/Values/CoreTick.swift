/// Why a callback is called. The raw values are those of `chime_tick_kind`.
package enum TickKind: UInt32, Sendable, CaseIterable {
  case due, fired, armed, cancelled, finalize, function
}

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

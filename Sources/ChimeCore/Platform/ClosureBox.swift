/// A closure on its way through a C function, which knows only functions and contexts. A context that is made here is
/// passed to `call` any number of times, and to `release` once.
package final class ClosureBox {
  private let body: () -> Void

  private init(_ body: @escaping () -> Void) { self.body = body }

  /// A context that holds the closure.
  package static func context(_ body: @escaping () -> Void) -> UnsafeMutableRawPointer {
    unsafe Unmanaged.passRetained(ClosureBox(body)).toOpaque()
  }

  /// Calls the closure.
  package static func call(_ context: UnsafeMutableRawPointer?) {
    if let context = unsafe context { unsafe Unmanaged<ClosureBox>.fromOpaque(context).takeUnretainedValue().body() }
  }

  /// Releases the closure.
  package static func release(_ context: UnsafeMutableRawPointer?) {
    if let context = unsafe context { unsafe Unmanaged<ClosureBox>.fromOpaque(context).release() }
  }
}

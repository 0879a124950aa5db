import ChimeCore

/// A Swift function put on a queue, on its way through the core, which knows functions and contexts only.
final class FunctionBox {
  let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }

  static func of(_ context: UnsafeMutableRawPointer?) -> FunctionBox? {
    unsafe context.map { unsafe Unmanaged<FunctionBox>.fromOpaque($0).takeUnretainedValue() }
  }

  static func release(_ context: UnsafeMutableRawPointer?) {
    if let context = unsafe context { unsafe Unmanaged<FunctionBox>.fromOpaque(context).release() }
  }
}

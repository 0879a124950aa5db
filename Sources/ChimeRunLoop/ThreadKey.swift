internal import CPlatform

/// A pointer for each thread, and a function that is called with it when the thread ends.
struct ThreadKey: Sendable {
  private let number: UInt32

  /// `nil`: the process has no more keys.
  init?(_ destructor: @escaping @convention(c) (UnsafeMutableRawPointer?) -> Void) {
    var number: UInt32 = 0
    guard unsafe chime_key_create(&number, destructor) == 0 else { return nil }
    self.number = number
  }

  /// Sets the calling thread's pointer; false without memory.
  @discardableResult
  func set(_ pointer: UnsafeMutableRawPointer?) -> Bool { unsafe chime_key_set(number, pointer) == 0 }
}

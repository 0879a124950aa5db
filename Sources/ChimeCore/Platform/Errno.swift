internal import CPlatform

/// The calling thread's `errno`.
package enum Errno {
  package static var current: CInt {
    get { chime_errno() }
    set { chime_set_errno(newValue) }
  }

  /// Whether an error number says that something is not permitted.
  static func isOfPermission(_ error: CInt) -> Bool { chime_is_error_of_permission(error) }
  /// Whether it says that there is no memory.
  static func isBusy(_ error: CInt) -> Bool { chime_is_error_of_being_busy(error) }
  /// Likewise.
  static func isOfMemory(_ error: CInt) -> Bool { chime_is_error_of_memory(error) }
}

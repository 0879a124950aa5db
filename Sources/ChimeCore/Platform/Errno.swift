internal import CPlatform

/// The calling thread's `errno`.
package enum Errno {
  package static var current: CInt {
    get { chime_errno() }
    set { chime_set_errno(newValue) }
  }
}

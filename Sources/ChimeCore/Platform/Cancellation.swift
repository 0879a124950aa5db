internal import CPlatform

/// Runs a call as no cancellation point: a thread that is to be cancelled ends at the host's next one, not inside,
/// where nothing would undo what has begun.
@inline(__always)
package func withoutCancellation<Result>(_ call: () -> Result) -> Result { withoutCancellation { _ in call() } }

/// Runs a call as no cancellation point, except inside the host's functions that it calls: these can be cancelled as
/// the host has set it.
@inline(__always)
package func withoutCancellation<Result>(_ call: (HostCancellation) -> Result) -> Result {
  let state = chime_defer_cancellation()
  defer { chime_restore_cancellation(state) }
  return call(HostCancellation(state: state))
}

/// Whether the host's thread could be cancelled before `withoutCancellation`.
package struct HostCancellation {
  fileprivate let state: CInt

  /// Runs a function of the host's.
  package func allow(_ function: () -> Void) {
    chime_restore_cancellation(state)
    function()
    _ = chime_defer_cancellation()
  }
}

internal import CPlatform

/// Runs a call as no cancellation point: a thread that is to be cancelled ends at the host's next one, not inside,
/// where nothing would undo what has begun.
@inline(__always)
package func withoutCancellation<Result>(_ call: () -> Result) -> Result { withoutCancellation { _ in call() } }

/// The same for a call that calls the host's functions, which can be cancelled as the host has set it.
@inline(__always)
package func withoutCancellation<Result>(_ call: (HostCancellation) -> Result) -> Result {
  var state: CInt = 0
  unsafe pthread_setcancelstate(CInt(PTHREAD_CANCEL_DISABLE), &state)
  defer { pthread_setcancelstate(state, nil) }
  return call(HostCancellation(state: state))
}

/// Whether the host's thread could be cancelled before `withoutCancellation`.
package struct HostCancellation {
  fileprivate let state: CInt

  /// Runs a function of the host's.
  package func allow(_ function: () -> Void) {
    pthread_setcancelstate(state, nil)
    function()
    pthread_setcancelstate(CInt(PTHREAD_CANCEL_DISABLE), nil)
  }
}

import Glibc

/// Runs a call that is no cancellation point: a thread that is to be cancelled ends at the host's next one, not inside,
/// where nothing would undo what has begun.
@inline(__always)
package func withoutCancellation<Result>(_ call: () -> Result) -> Result {
  var state: CInt = 0
  unsafe pthread_setcancelstate(CInt(PTHREAD_CANCEL_DISABLE), &state)
  defer { pthread_setcancelstate(state, nil) }
  return call()
}

internal import CPlatform

/// The end of a thread inside a callback, by `pthread_exit` or a cancellation (promise 20).
///
/// Every call of a host's function goes through a guard that catches it: the function's own frames are unwound, and
/// Chime goes on as if the function had returned, so that no pass is left half done. On threads of libdispatch and of
/// Chime that is all. A thread of the host's ends after all, at the border of the call that it has made: there the
/// unwinding goes on.
package enum ThreadEnd {
  /// Notes on the calling thread that its end was caught.
  @inline(never)
  static func wasCaught() { ThreadState.obtain()?.hasEnded = true }

  /// Whether the end of the calling thread was caught, since `passOn` began on it.
  package static var isCaught: Bool { ThreadState.existing?.hasEnded == true }

  /// Makes a call of the host's in which its functions may be called, and ends the thread if one of them has.
  package static func passOn<Result>(_ call: () -> Result) -> Result {
    ThreadState.existing?.hasEnded = false
    let result = call()
    if let thread = ThreadState.existing, thread.hasEnded {
      thread.hasEnded = false
      chime_continue_thread_end()
    }
    return result
  }
}

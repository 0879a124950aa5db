internal import CPlatform

/// Threads that Chime creates: detached, named for debuggers, and with all signals blocked, so that the host's signal
/// handlers run on the host's threads.
package enum OwnThread: ProcessState {
  private final class Body {
    let name: String
    let run: @Sendable () -> Void

    init(_ name: String, _ run: @escaping @Sendable () -> Void) {
      self.name = name
      self.run = run
    }
  }

  private static let hooks = Locked<(start: ContextFunction?, end: ContextFunction?, context: Context)>(
    (nil, nil, .none))

  static func makeGlobals() { hooks.withLock { _ in } }
  static func reinitialize() { hooks.reinitialize() }

  /// What threads that are created from now on call first and last.
  package static func setHooks(start: ContextFunction?, end: ContextFunction?, _ context: Context) {
    hooks.withLock { $0 = (start, end, context) }
  }

  /// Whether the system grants so many threads now. Their stacks are kept by libc, and serve the next threads.
  static func canBeMade(_ count: Int) -> Bool {
    var threads: [UInt] = []
    var error: CInt = 0
    // Behind this they wait for each other: else the second would have the stack of the first.
    var gate = unsafe chime_lock()
    unsafe chime_lock_init_plain(&gate)
    unsafe chime_lock_take(&gate)
    unsafe withUnsafeMutablePointer(to: &gate) { gate in
      while threads.count < count, error == 0 {
        var thread: UInt = 0
        error = unsafe chime_thread_create(
          &thread, 0,
          { gate in
            if let gate = unsafe gate?.assumingMemoryBound(to: chime_lock.self) {
              unsafe chime_lock_take(gate)
              unsafe chime_lock_give(gate)
            }
            return nil
          }, gate)
        if error == 0 { threads.append(thread) }
      }
      unsafe chime_lock_give(gate)
      for thread in threads { chime_thread_join(thread) }
      unsafe chime_lock_destroy(gate)
    }
    if error != 0 { _ = noThread(error) }
    return error == 0
  }

  private static func noThread(_ error: CInt) -> Status {
    Status.resource.because("a thread could not be made: %e", Int64(error))
  }

  /// Runs `body` on a new thread.
  /// - Parameter name: cut to the 15 bytes that the system keeps.
  /// - Returns: ok; resource: no thread.
  package static func start(name: String, _ body: @escaping @Sendable () -> Void) -> Status {
    // SAFETY: the reference is taken back by the new thread, or here when there is none.
    let (start, end, hookContext) = hooks.withLock { $0 }
    let context = unsafe Unmanaged.passRetained(
      Body(name) {
        start?(hookContext)
        body()
        end?(hookContext)
      })
    // A new thread inherits its creator's signal mask.
    var all = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
    defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
    var thread: UInt = 0
    let failed = unsafe chime_thread_create(
      &thread, 1,
      { context in
        guard let context = unsafe context else { return nil }
        let body = unsafe Unmanaged<Body>.fromOpaque(context).takeRetainedValue()
        unsafe chime_set_thread_name(String(decoding: body.name.utf8.prefix(15), as: UTF8.self))
        body.run()
        return nil
      }, context.toOpaque())
    if failed != 0 {
      unsafe context.release()
      return noThread(failed)
    }
    return .ok
  }
}

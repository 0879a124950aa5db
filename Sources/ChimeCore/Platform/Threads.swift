internal import CPlatform

/// Threads that Chime creates: detached, and named for debuggers. The host's signal handlers run on the host's threads,
/// but for those of faults. What else such a thread is stands in Sources/Systems.md.
package enum OwnThread {
  /// Whether the system grants so many threads now. Their stacks are kept by libc, and serve the next threads.
  static func canBeMade(_ count: Int) -> Bool {
    var threads: [UInt] = []
    // They wait for each other, and one lets the next go on: else the second would have the stack of the first.
    let gate = WakeUp()
    func pass() {
      gate.wait()
      gate.signal()
    }
    while threads.count < count, let thread = create(isDetached: false, pass) { threads.append(thread) }
    gate.signal()
    for thread in threads { chime_thread_join(thread) }
    return threads.count == count
  }

  /// Runs `body` on a new thread.
  /// - Parameter name: cut to the 15 bytes that the system keeps, between characters.
  /// - Parameter isLikeItsMaker: the thread keeps the scheduling, the processors and the timer slack of the calling thread,
  ///   in whose place it works on; otherwise it has those that the process began with.
  /// - Returns: ok; resource: no thread.
  package static func start(
    name: String, isLikeItsMaker: Bool = false, _ body: @escaping @Sendable () -> Void
  ) -> Status {
    let thread = create(isDetached: true) {
      chime_begin_own_thread()
      if !isLikeItsMaker { chime_schedule_as_usual() }
      unsafe chime_set_thread_name(cut(name))
      body()
    }
    return thread == nil ? .resource : .ok
  }

  static func cut(_ name: String) -> String {
    var kept = name.utf8.prefix(15)
    while kept.endIndex < name.utf8.endIndex, name.utf8[kept.endIndex] & 0xC0 == 0x80 { kept.removeLast() }
    return String(decoding: kept, as: UTF8.self)
  }

  /// Runs `body` on the calling thread, one of libdispatch's, as on one of Chime's own: it can be cancelled inside the
  /// host's functions only.
  @inline(never)
  static func borrow(_ body: () throws(Forked) -> Void) throws(Forked) {
    if chime_is_own_thread() != 0 { return try body() }
    let before = chime_borrow_thread()
    defer { chime_return_thread(before) }
    try body()
  }

  /// A new thread, which runs a closure; `nil`, and the calling thread has the reason, if the system refuses it.
  private static func create(isDetached: Bool, _ body: @escaping () -> Void) -> UInt? {
    var thread: UInt = 0
    let context = unsafe ClosureBox.context(body)
    let error = unsafe chime_thread_create(
      &thread, isDetached ? 1 : 0,
      { context in
        unsafe ClosureBox.call(context)
        unsafe ClosureBox.release(context)
        return nil
      }, context)
    if error == 0 { return thread }
    unsafe ClosureBox.release(context)
    _ = Status.resource.because("a thread could not be made: %e", Int64(error))
    return nil
  }
}

/// Which thread it is: a number of Chime's own, above 0, that no other thread of the process has or will have. What
/// `pthread_self` gives is soon another thread's once a thread has ended.
package enum ThreadNumber {
  package static var current: UInt64 { chime_own_thread_number() }
}

/// Runs a call as no cancellation point: a thread that is to be cancelled ends at the host's next one, not inside,
/// where nothing would undo what has begun.
package func withoutCancellation<Result>(_ call: () -> Result) -> Result { withoutCancellation { _ in call() } }

/// Runs a call as no cancellation point, except inside the host's functions that it calls: these can be cancelled as
/// the host has set it.
package func withoutCancellation<Result>(_ call: (HostCancellation) -> Result) -> Result {
  let state = chime_defer_cancellation()
  defer { chime_restore_cancellation(state) }
  return call(HostCancellation(state: state))
}

/// Whether the host's thread could be cancelled before `withoutCancellation`.
package struct HostCancellation {
  fileprivate let state: CInt

  /// Runs a function of the host's.
  package func allow<Failure>(_ function: () throws(Failure) -> Void) throws(Failure) {
    chime_restore_cancellation(state)
    defer { _ = chime_defer_cancellation() }
    try function()
  }
}

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

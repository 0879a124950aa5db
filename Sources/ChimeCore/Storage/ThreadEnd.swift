internal import CPlatform
import Synchronization

/// The end of a thread inside a callback, by `pthread_exit` or a cancellation (promise 20).
///
/// Every call of a host's function goes through a guard that catches it: the function's own frames are unwound, and
/// Chime goes on as if the function had returned, so that no pass is left half done. On threads of libdispatch that is
/// all. A thread of Chime's ends after its turn, when another has taken its place. A thread of the host's does end, at
/// the boundary of the call that it has made, where the unwinding continues.
package enum ThreadEnd {
  /// Notes that the calling thread's end was caught.
  @inline(never)
  static func wasCaught() {
    if ThreadState.prepare() { ThreadState.obtain()?.hasEnded = true }
    lookForInterpreter()
    passGate()
  }

  /// Whether the end of the calling thread was caught, since `passOn` began on it.
  package static var isCaught: Bool { ThreadState.existing?.hasEnded == true }

  /// Whether the calling thread, one of Chime's own, is to end: a callback has ended it, or somebody has cancelled it
  /// while it waited. It goes on where it cannot be replaced. Called where the thread holds nothing.
  static var isPending: Bool { isCaught || chime_take_cancellation() }

  /// Runs a call that may call the host's functions, and ends the thread if one of them did. Inside another such call,
  /// with no callback between the two, the outer call ends the thread once it has completed.
  package static func passOn<Result, Failure>(_ call: () throws(Failure) -> Result) throws(Failure) -> Result {
    guard let thread = ThreadState.existing, !thread.isAtBoundary, !thread.hasEnded else {
      return try passOnSlow(call)
    }
    let result = try thread.asBoundary(call)
    if thread.hasEnded { goOn() }
    return result
  }

  @inline(never)
  private static func passOnSlow<Result, Failure>(_ call: () throws(Failure) -> Result) throws(Failure) -> Result {
    guard let thread = ThreadState.existing ?? ThreadState.obtainIfPrepared() else {
      let result = try call()
      if isCaught { goOn() }
      return result
    }
    if thread.isAtBoundary { return try call() }
    let before = thread.hasEnded
    // Outside callbacks it was the trace function that ended the thread, in a call that is too quick to check.
    if before, ThreadState.frames.isEmpty { goOn() }
    // A callback before this one in the same pass ended the thread: the outer call passes that on.
    thread.hasEnded = false
    let result = try thread.asBoundary(call)
    if thread.hasEnded { goOn() }
    thread.hasEnded = before
    return result
  }

  private static func goOn() -> Never {
    ThreadState.existing?.hasEnded = false
    chime_continue_thread_end()
  }

  // MARK: An interpreter's end

  /// CPython's question whether its end has begun, as bits of a function pointer; 0 where there is no CPython
  /// (P20). A fork keeps the interpreter.
  private static let question = Atomic<UInt>(0)

  /// Called before the first queue is made, and when the end of a thread was caught, with no lock held.
  static func lookForInterpreter() {
    if question.load(ordering: .relaxed) != 0 { return }
    question.store(unsafe UInt(bitPattern: unsafeBitCast(chime_find_interpreter(), to: Int.self)), ordering: .relaxed)
  }

  /// Called before each callback. While an interpreter is ending, its functions are being freed, so no callback may
  /// begin on any queue.
  static func passGate() {
    if question.load(ordering: .relaxed) != 0, isInterpreterEnding { waitAtGate() }
  }

  private static var isInterpreterEnding: Bool {
    // SAFETY: the bits are those of such a function, which stays mapped.
    unsafe unsafeBitCast(question.load(ordering: .relaxed), to: chime_interpreter_question.self)() != 0
  }

  /// Waits while the interpreter is ending; usually the process ends in the meantime.
  @inline(never)
  private static func waitAtGate() {
    // The main thread is the one that ends the interpreter.
    if chime_is_main_thread() { return }
    let end = Clock.monotonic.now.saturatingAdd(Tunables.interpreterEnd)
    while isInterpreterEnding, Clock.monotonic.now < end {
      withoutCancellation { chime_rest(1000) }
    }
  }
}

extension TickFunction {
  /// Calls the handler; false if that has not returned, because it has ended its thread.
  @discardableResult
  package func callAsFunction(_ tick: CoreTick) throws(Forked) -> Bool { try self(tick, tick.context) }

  @discardableResult
  func callAsFunction(_ tick: CoreTick, _ context: Context) throws(Forked) -> Bool {
    var tick = tick
    return try call(&tick, context)
  }

  /// The same without a copy of the tick.
  @inline(__always)
  func call(_ tick: inout CoreTick, _ context: Context) throws(Forked) -> Bool {
    ThreadEnd.passGate()
    // What the numbers mean stands in callback_guard.h.
    let called = try Fork.guarded {
      // SAFETY: the tick stays where it is until the handler has returned, as chime.h says: on this stack, or in the queue
      // whose pass this is. The functions differ in what C says of null pointers, not in how they are called.
      let called = unsafe withUnsafePointer(to: &tick) {
        unsafe chime_call_tick(unsafeBitCast(function, to: CFunction.self), UnsafeRawPointer($0), context.pointer)
      }
      if called != 0 { ThreadEnd.wasCaught() }
      return called
    }
    return called != 1
  }

  private typealias CFunction = @convention(c) (UnsafeRawPointer?, UnsafeMutableRawPointer?) -> Void
}

extension ContextFunction {
  /// Calls the function. This returns even if the function ends its thread.
  package func callAsFunction(_ context: Context) throws(Forked) {
    ThreadEnd.passGate()
    try Fork.guarded {
      if unsafe chime_call_function(function, context.pointer) != 0 { ThreadEnd.wasCaught() }
    }
  }
}

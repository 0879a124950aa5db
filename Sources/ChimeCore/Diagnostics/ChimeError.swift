/// Why an operation failed. Nothing has changed then, unless the call's comment says otherwise. The cases are the
/// failures of `chime_status`.
public enum ChimeError: Int32, Error, Sendable {
  /// An argument is out of range, or contradicts another.
  case invalidArgument = -1
  /// The queue or timer was released.
  case invalidHandle = -2
  /// A configured or built-in limit is reached.
  case limit = -3
  /// Out of memory.
  case noMemory = -4
  /// Waiting would never end: what the call waits for waits for the caller.
  case wouldDeadlock = -5
  /// Another thread is inside this queue.
  case busy = -6
  /// Only one particular thread may do this, not the caller's.
  case wrongThread = -7
  /// The timer's target no longer exists.
  case targetGone = -8
  /// The queue was shut down during the call.
  case shutDown = -9
  /// Not possible with this kind of queue, clock or platform.
  case unsupported = -10
  /// The operating system denies it.
  case permission = -11
  /// No threads, file descriptors or the like are left.
  case resource = -12
  /// This is a forked child.
  case forked = -13
}

/// What a successful operation answers.
public enum Outcome: Int32, Sendable {
  /// It took effect.
  case done = 0
  /// It means nothing in this state and changed nothing.
  case ignored = 1
  /// It took effect; a handler of this timer that had started has not returned yet.
  case running = 2
  /// The timeout ended before what was waited for; whatever else the call does is in effect.
  case timedOut = 4
}

extension Status {
  /// The status as the Swift interface says it.
  package func outcome() throws(ChimeError) -> Outcome {
    if let outcome = Outcome(rawValue: rawValue) { return outcome }
    throw error
  }

  package var error: ChimeError { ChimeError(rawValue: rawValue) ?? .invalidArgument }
}

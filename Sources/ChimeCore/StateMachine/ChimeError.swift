/// Why an operation could not be done. Nothing has changed then, unless the call's comment says so. The cases are the failures of `chime_status`.
public enum ChimeError: Int32, Error, Sendable {
  /// An argument is out of range, or contradicts another.
  case invalidArgument = -1
  /// The queue or timer was released.
  case invalidHandle = -2
  /// A configured or built-in limit is reached.
  case limit = -3
  /// Memory could not be had.
  case noMemory = -4
  /// Waiting would never end: the caller is what it would wait for.
  case wouldDeadlock = -5
  /// Another thread is inside this queue.
  case busy = -6
  /// Only a certain thread may do this, and it is another one.
  case wrongThread = -7
  /// The timer's target no longer exists.
  case targetGone = -8
  /// The queue was shut down while the call was under way.
  case shutDown = -9
  /// This kind of queue, clock or platform cannot do that.
  case unsupported = -10
  /// The operating system does not permit it.
  case permission = -11
  /// Threads, file descriptors or the like could not be had.
  case resource = -12
  /// This is the child of a fork.
  case forked = -13
}

/// What an operation that took place has to say.
public enum Outcome: Int32, Sendable {
  /// It took effect.
  case done = 0
  /// It means nothing in this state; nothing changed.
  case ignored = 1
  /// It took effect, and a handler of this timer that had started has not returned yet.
  case running = 2
  /// What was waited for had not happened when the timeout ended; what was asked for is in effect.
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

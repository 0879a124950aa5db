import ChimeCore

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// Why an operation failed. Nothing has changed then, unless the call's comment says otherwise.
///
/// There are as many kinds as constants below. Errors of one kind are equal: `catch ChimeError.deadlineExceeded`, and
/// `catch let error as ChimeError { switch error { case .shutDown: … } }`. `description` is for people and logs. Calls that do
/// not `await` throw nothing else, unless they say so.
public struct ChimeError: LocalizedError, Hashable, Sendable, CustomStringConvertible {
  // Public calls are `throws` without this type: Swift 6.3.1 crashes, or does not end, where a catch names some errors of a
  // call that says its type, and the function throws the others. A later version may add the type.

  /// What kind of failure it is.
  package let code: Code

  private let sentence: Sentence

  /// One sentence: which argument was wrong, its value and the bound, or what is missing. The wording may change.
  public var description: String { sentence.text }

  /// The same sentence, for `localizedDescription`. It is in English.
  public var errorDescription: String? { sentence.text }

  package init(_ code: Code, _ description: String) {
    self.code = code
    sentence = Sentence(text: description)
  }

  /// What is said of a failure does not count when two are compared.
  private struct Sentence: Hashable {
    let text: String

    static func == (a: Sentence, b: Sentence) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
  }

  /// An argument is out of range, or contradicts another.
  public static var invalidArgument: ChimeError { ChimeError(.invalidArgument, "an argument is out of range") }
  /// A configured or built-in limit is reached.
  public static var limit: ChimeError { ChimeError(.limit, "a limit is reached") }
  /// Out of memory.
  public static var noMemory: ChimeError { ChimeError(.noMemory, "memory has run out, or its limit is reached") }
  /// Waiting would never end: what the call waits for waits for the caller.
  public static var wouldDeadlock: ChimeError {
    ChimeError(.wouldDeadlock, "what the call would wait for waits for the caller")
  }
  /// Another thread is inside this queue.
  public static var busy: ChimeError { ChimeError(.busy, "another thread is inside the queue") }
  /// Only one particular thread may do this, not the caller's.
  public static var wrongThread: ChimeError { ChimeError(.wrongThread, "another thread drives the queue") }
  /// The queue has ended: it was shut down, before or during the call.
  public static var shutDown: ChimeError { ChimeError(.shutDown, "the queue has ended: it was shut down") }
  /// Not possible with this kind of queue, clock or platform, or in a forked child.
  public static var unsupported: ChimeError { ChimeError(.unsupported, "not possible with this kind of queue") }
  /// The operating system denies it.
  public static var permission: ChimeError { ChimeError(.permission, "the operating system denies it") }
  /// No threads, file descriptors or the like are left.
  public static var resource: ChimeError { ChimeError(.resource, "the system has no thread or descriptor left") }
  /// The time given to an operation was over before it ended: `withTimeout`.
  public static var deadlineExceeded: ChimeError { ChimeError(.deadlineExceeded, "the time that was given is over") }
}

extension ChimeTimer {
  /// What a call that succeeded did.
  public enum Outcome: Sendable {
    /// It took effect.
    case done
    /// It means nothing in this state, or to a timer that has ended, and changed nothing.
    case ignored
    /// It took effect; a handler of this timer that had started has not returned yet.
    case running
    /// Both: it changed nothing, and a handler that had started has not returned yet. A `cancel` then came too late.
    case ignoredRunning
    /// The timeout ended before what was waited for; whatever else the call does is in effect.
    case timedOut
  }
}

extension ChimeTimer.Outcome {
  package var isIgnored: Bool { self == .ignored || self == .ignoredRunning }
  package var isRunning: Bool { self == .running || self == .ignoredRunning }

  /// Once the handler has returned.
  var afterCalls: ChimeTimer.Outcome { isIgnored ? .ignored : .done }

  /// Of a call that did more than the core's.
  ///
  /// - Parameters:
  ///   - hasChanged: whether it has changed anything there.
  ///   - isRunning: whether a handler runs there.
  func with(hasChanged: Bool, isRunning: Bool) -> ChimeTimer.Outcome {
    if self == .timedOut, !isRunning { return self }
    let isIgnored = isIgnored && !hasChanged
    return isRunning || self.isRunning ? isIgnored ? .ignoredRunning : .running : isIgnored ? .ignored : .done
  }
}

extension ChimeError {
  /// Whether an error is of that kind: for `catch ChimeError.shutDown`.
  public static func ~= (kind: ChimeError, error: any Error) -> Bool { (error as? ChimeError) == kind }

  /// What `code` is of.
  package enum Code: Sendable {
    case invalidArgument, limit, noMemory, wouldDeadlock, busy, wrongThread, shutDown, unsupported, permission, resource
    case deadlineExceeded
  }

  /// An argument that is out of range.
  ///
  /// - Parameter sentence: names the argument, says its value and the bound.
  package static func argument(_ sentence: String) -> ChimeError { ChimeError(.invalidArgument, sentence) }
}

extension Status {
  /// The status as the Swift interface says it.
  package func outcome() throws(ChimeError) -> ChimeTimer.Outcome {
    switch self {
    case .ok: return .done
    case .ignored: return .ignored
    case .running: return .running
    case .ignoredRunning: return .ignoredRunning
    case .timedOut, .timeIsOver: return .timedOut
    default: throw error
    }
  }

  /// The failure, with the sentence that the calling thread's last call has left on it.
  package var error: ChimeError {
    guard self != .invalidHandle, ErrorDetail.isOn(self) else { return unexplained }
    let sentence = unsafe String(cString: ErrorDetail.sentence)
    return sentence.isEmpty ? unexplained : ChimeError(unexplained.code, sentence)
  }

  private var unexplained: ChimeError {
    // By their whole names: `.busy` would be the error that is called so, and match no status.
    switch self {
    case Status.invalidHandle, Status.targetGone: .shutDown
    case Status.limit: .limit
    case Status.noMemory: .noMemory
    case Status.wouldDeadlock: .wouldDeadlock
    case Status.busy: .busy
    case Status.wrongThread: .wrongThread
    case Status.shutDown: .shutDown
    case Status.unsupported: .unsupported
    case Status.permission: .permission
    case Status.resource: .resource
    case Status.forked: ChimeError(.unsupported, "this is a forked child")
    default: .invalidArgument  // and .invalidArgument
    }
  }
}

extension ChimeError {
  /// Runs a call of the core; its failure as the Swift interface says it.
  package static func of<Value>(_ call: () throws(Status) -> Value) throws(ChimeError) -> Value {
    do { return try call() } catch { throw error.error }
  }
}

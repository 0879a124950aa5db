import ChimeCore

extension ChimeTimer {
  /// An object whose timers end at once when it goes. Adopt this protocol by storing a token.
  ///
  ///     final class Player: ChimeTimer.Target {
  ///       let targetToken = TargetToken()
  ///     }
  ///
  /// Any other class that is `Sendable` can be a timer's target, too. Its timers say `cancelled` from the moment it goes,
  /// and call nothing. But Linux does not report that moment, so their handlers and memory are freed later: when the timer
  /// would have ticked, when a call touches it, or when timers are created for other targets.
  public protocol Target: AnyObject {
    /// Stored by the object as long as it lives, and not shared with another. One that is computed anew each time is
    /// refused by every call that takes a target.
    var targetToken: TargetToken { get }
  }
}

/// Ends the timers of the object that stores it when that object goes.
public final class TargetToken: Sendable {
  /// The id of a target without an object of its own; 0 when there are no more ids.
  package let id: UInt64

  /// Takes an id from a table of bounded size. If none is left, creating a timer for the object throws `limit`.
  public init() { id = (try? TimerTarget.make(.none, nil, releasesTimers: true)) ?? 0 }

  deinit { _ = TimerTarget.releaseReference(id) }
}

/// A target as a timer holds it.
package final class WeakTarget<Object: AnyObject>: @unchecked Sendable {
  // Unchecked: set in init only; weak references may be read by several threads. The object itself is handed to nothing
  // but the handler that was made for it.
  package private(set) weak var object: Object?
  /// The token's target; 0 when the object stores none.
  package let tokenID: UInt64

  /// Throws `limit` when the object's token has no id, `invalidArgument` when it is computed.
  package init(_ object: Object) throws(ChimeError) {
    self.object = object
    guard let token = (object as? any ChimeTimer.Target)?.targetToken else {
      tokenID = 0
      return
    }
    guard (object as? any ChimeTimer.Target)?.targetToken === token else {
      throw .argument("targetToken of \(Object.self) is another each time: store it")
    }
    if token.id == 0 { throw ChimeError(.limit, "the ids of targets are used up") }
    tokenID = token.id
  }
}

import Synchronization

/// An object whose timers end with it, at once: adopt this protocol by storing a token.
///
///     final class Player: Target {
///       let targetToken = TargetToken()
///     }
///
/// Any other class may be a timer's target, too: its timers say `cancelled` from the moment it goes, and call nothing,
/// but Linux tells nobody of that moment, so that handler and memory are let go later: when the timer would have ticked,
/// when a call touches it, or when timers are made for other targets.
public protocol Target: AnyObject {
  /// Stored by the object for as long as it lives, and shared with no other.
  var targetToken: TargetToken { get }
}

/// Ends the timers of the object that stores it when that object goes.
public final class TargetToken: Sendable {
  /// The id of a target without an object of its own; 0 when there are no more ids.
  package let id: UInt64

  /// Takes an id out of a table of bounded size; without one left, making a timer for the object throws `limit`.
  public init() { id = TimerTarget.make(.none, nil, releasesTimers: true) ?? 0 }

  deinit { _ = TimerTarget.release(id) }
}

/// A target as a timer holds it.
package final class WeakTarget<Object: AnyObject>: @unchecked Sendable {
  // Unchecked: set in init only; weak references may be read by several threads. The object itself is handed to nothing
  // but the handler that was made for it.
  package private(set) weak var object: Object?
  /// The token's target; 0 when the object stores none.
  package let tokenID: UInt64

  /// Throws `limit` when the object's token has no id.
  package init(_ object: Object) throws(ChimeError) {
    self.object = object
    guard let token = (object as? any Target)?.targetToken else {
      tokenID = 0
      return
    }
    if token.id == 0 { throw .limit }
    tokenID = token.id
  }
}

/// Finds timers whose target went without telling: each time a timer is made for such a target, two others are looked
/// at. So what dead targets leave behind is found in time, and never more than timers that were made.
package enum TargetSweep {
  private struct Watched {
    /// Each looks after one timer, and says whether it is done with it.
    var looks: [@Sendable () -> Bool] = []
    var next = 0

    /// Takes one out, another one each time.
    mutating func take() -> (@Sendable () -> Bool)? {
      guard let last = looks.popLast() else { return nil }
      if next >= looks.count {
        next = 0
        return last
      }
      defer {
        looks[next] = last
        next += 1
      }
      return looks[next]
    }
  }

  private static let watched = Locked(Watched())

  static func reinitialize() { watched.reinitialize(Watched()) }
  /// Has the list made.
  static func touch() { watched.withLock { _ in } }

  /// Has `look` called now and then until it says true. It is called with no lock held.
  package static func watch(_ look: @escaping @Sendable () -> Bool) {
    for _ in 0..<2 {
      guard let other = watched.withLock({ $0.take() }) else { break }
      if !other() { watched.withLock { $0.looks.append(other) } }
    }
    watched.withLock { $0.looks.append(look) }
  }

  /// Timers that are being watched.
  package static var count: Int { watched.withLock { $0.looks.count } }
}

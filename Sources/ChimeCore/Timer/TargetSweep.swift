/// Finds timers whose target went without telling: each time a timer is made for such a target, two others are looked
/// at. So what dead targets leave behind is found in time, and never more than timers that were made.
package enum TargetSweep: ProcessState {
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

  static func makeGlobals() { watched.withLock { _ in } }
  static func reinitialize() { watched.reinitialize(Watched()) }

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

/// Finds timers whose target died unnoticed: each time a timer is created for such a target, two others are checked. So
/// what dead targets leave behind is found in time, at a cost in proportion to the timers created.
package enum TargetSweep: ProcessState {
  struct Watched {
    /// Each checks one timer, and says whether it is done with it.
    var looks: [@Sendable () -> Bool] = []
    var next = 0

    /// Takes one out, another one each time.
    mutating func take() -> (@Sendable () -> Bool)? {
      if looks.isEmpty { return nil }
      next = (next + 1) % looks.count
      looks.swapAt(next, looks.count - 1)
      return looks.popLast()
    }
  }

  private static let watched = Locked(Watched())

  static func makeGlobals() { watched.withLock { _ in } }
  static func reinitialize() { watched.reinitialize(Watched()) }

  /// Calls `look` now and then, with no lock held, until it answers true.
  package static func watch(_ look: @escaping @Sendable () -> Bool) {
    for _ in 0..<2 {
      guard let other = watched.withLock({ $0.take() }) else { break }
      if !other() { watched.withLock { $0.looks.append(other) } }
    }
    watched.withLock { $0.looks.append(look) }
  }
}

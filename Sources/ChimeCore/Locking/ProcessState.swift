import Synchronization

/// Variables of the process, and what becomes of them in a forked child. The type that has them says so beside them;
/// the list of all such types is in `Fork`.
protocol ProcessState {
  /// Makes the variables that are otherwise made by the first who asks for them: while one thread did that, another
  /// could fork, and the child would wait for the first for ever.
  static func makeGlobals()

  /// In a forked child, before fork returns there. Takes no lock: who held it is not here.
  static func abandon()

  /// Begins anew, with fresh locks. In a forked child's only thread, called by `Fork.reinitialize`.
  static func reinitialize()
}

extension ProcessState {
  static func abandon() {}
}

/// The seed of hash tables, which is the standard library's and serves a child as it is.
enum HashSeed: ProcessState {
  /// Where a hash goes, so that it is computed.
  private static let sample = Atomic<Int>(0)

  static func makeGlobals() { sample.store(0.hashValue, ordering: .relaxed) }
  static func reinitialize() {}
}

/// Variables of the process, and what happens to them in a forked child. The type that has them says so; `Fork` lists
/// all such types.
protocol ProcessState {
  /// Creates the variables that are otherwise created on first use. If another thread forked during that, the child
  /// would wait for ever.
  static func makeGlobals()

  /// Starts again with fresh locks. In a forked child's only thread, called by `Fork.reinitialize`.
  static func reinitialize()
}

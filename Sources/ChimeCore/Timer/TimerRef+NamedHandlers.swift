/// A timer's named handlers.
extension TimerRef {
  /// Adds a handler with a key; it is called after the timer's own at each tick.
  ///
  /// - Returns: ok; running if a call of the one that had the key has not returned; invalidHandle; unsupported where
  ///   ticks are taken as records; noMemory. On failure the context stays the caller's.
  package func addHandler(
    _ key: String, _ handler: TickFunction, _ context: Context, _ finalizer: ContextFunction?
  ) -> Status {
    if control.givesRecords {
      return word == nil
        ? stale : Status.unsupported.because("the timer's queue gives records, and calls no handlers")
    }
    guard let writing = beginWriting() else { return stale }
    guard let sideRecord = writing.makeSideRecord() else { return writing.abandon(Memory.refusal) }
    let change = sideRecord.makeNamed().add(key, handler, context, finalizer)
    return end(writing, change)
  }

  /// Removes the handler with that key; no call of it starts afterwards.
  /// - Returns: ok; running if a call of it has not returned; ignored if there is none; invalidHandle.
  package func removeHandler(_ key: String) -> Status {
    guard let writing = beginWriting() else { return stale }
    guard let named = writing.sideRecord?.named else { return writing.abandon(.ignored) }
    let change = named.remove(key)
    return end(writing, change)
  }

  private func end(_ writing: consuming Writing, _ change: NamedHandlers.Change) -> Status {
    writing.abandon()
    return change.status  // the last thing the call does is to let go of the old: it may fork
  }
}

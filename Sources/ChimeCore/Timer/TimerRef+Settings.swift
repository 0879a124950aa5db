/// Changes of one setting of a timer. Its state, its generation and its next deadline stay as they are.
extension TimerRef {
  /// Changes the interval, and of leeway and jitter what does not go with it; ignored for a one-shot, and for a timer
  /// without a schedule.
  /// - Parameter interval: above 0.
  package func setInterval(_ interval: Int64) -> Status {
    guard let writing = beginWriting() else { return stale }
    guard slot.flags.contains(.repeating) else { return writing.ignore() }
    guard writing.store(interval: interval) else { return writing.undo(Memory.refusal) }
    let word = writing.before
    let isBusy = writing.finish(word)
    return Trace.noteLast(.rescheduled, self, isBusy ? .running : .ok)
  }

  /// Sets whether `QueueCore.run` waits for the timer.
  package func setBackground(_ isBackground: Bool) -> Status {
    guard let writing = beginWriting() else { return stale }
    if isBackground {
      guard let sideRecord = writing.makeSideRecord() else { return writing.undo(Memory.refusal) }
      control.hasHadBackground = true
      sideRecord.isBackground = true
    } else {
      writing.sideRecord?.isBackground = false
    }
    writing.undo()
    // A sleeper in `run` that waits for this timer's end may wait no longer (P5).
    if isBackground { control.wakeRunIfWatched(slot) }
    return Trace.noteLast(.rescheduled, self, .ok)
  }
}

extension Writing {
  /// Stores the interval of a repeating timer; false if there is no memory. The first delay or deadline stays.
  fileprivate func store(interval: Int64) -> Bool {
    let first = first
    let hasFirst = first != interval || slot.flags.contains(.firstIsDeadline)
    if hasFirst, makeSideRecord() == nil { return false }
    if let sideRecord {
      sideRecord.hasFirst = hasFirst
      sideRecord.first = first
      sideRecord.jitter = min(sideRecord.jitter, interval)
      // The grid goes on from the next tick. A random part is at most an interval of it.
      sideRecord.writerFields.randomPart = min(sideRecord.writerFields.randomPart, interval)
    }
    period = interval
    if leeway.nanoseconds >= interval { leeway = CompactDuration(interval - 1) }
    return true
  }
}

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
    guard let sideRecord = writing.makeSideRecord() else { return writing.undo(Memory.refusal) }
    let change = sideRecord.makeNamed().add(key, handler, context, finalizer)
    return end(writing, change)
  }

  /// Removes the handler with that key; no call of it starts afterwards.
  /// - Returns: ok; running if a call of it has not returned; ignored if there is none; invalidHandle.
  package func removeHandler(_ key: String) -> Status {
    guard let writing = beginWriting() else { return stale }
    guard let named = writing.sideRecord?.named else { return writing.undo(.ignored) }
    let change = named.remove(key)
    return end(writing, change)
  }

  private func end(_ writing: consuming Writing, _ change: NamedHandlers.Change) -> Status {
    writing.undo()
    return change.status  // the last thing the call does is to let go of the old: it may fork
  }
}

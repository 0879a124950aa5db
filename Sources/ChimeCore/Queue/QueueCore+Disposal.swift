/// The end of a released timer: its last callbacks, its finalizer, and its slot.
extension QueueCore {
  /// `dispose` on a thread of a concurrent queue, unless the queue's other timers are just being released: then the closing
  /// pass does it.
  func disposeOrRetire(_ released: consuming Writing, _ frame: CurrentFrame) throws(Forked) {
    if closing.isReleasing { released.retire(control) } else { try dispose(released, frame) }
  }

  /// Runs a released timer's last callbacks, then frees its slot.
  func dispose(_ released: consuming Writing, _ frame: CurrentFrame) throws(Forked) {
    let slot = released.slot
    if let sideRecord = released.sideRecord, !givesRecords {
      frame.slot = slot.index
      // Busy, in case the queue is released in the meantime.
      _ = slot.set(TimerWord.busyBit)
      while !isSuspended, let delivery = popCallback(sideRecord, control.now) {
        let held = sideRecord.target?.retain() == true ? sideRecord.target : nil
        let record = lastRecord(of: slot, delivery.kind, held?.object ?? .none)
        try Trace.noteCall(record)
        try delivery.function(record)
        try Trace.note(.returned, TimerRef(slot: slot, version: slot.version))
        try held?.release()
      }
      if slot.clear(TimerWord.busyBit | TimerWord.waitedBit).isWaited { WaitRegistry.timerEnded(slot.index) }
      if isSuspended {
        // The rest comes after the resume. One that came before this has woken a pass that found nothing.
        frame.slot = nil
        released.retire(control)
        return control.wake()
      }
      try closing.counting { () throws(Forked) in
        try sideRecord.named?.close()
        try sideRecord.writerFields.finalizer?(slot.context)
      }
      frame.slot = nil
    }
    try released.free(control)
  }

  func lastRecord(of slot: TimerSlot, _ kind: TickKind, _ target: Context) -> CoreTick {
    let now = control.wallTime(control.now)
    return CoreTick(
      timer: Handle.id(.timer, index: slot.index.number, version: slot.version), generation: slot.generation(slot.word),
      sequence: 0, missed: 0, scheduled: now, actual: now, context: slot.context, target: target, kind: kind.rawValue)
  }
}

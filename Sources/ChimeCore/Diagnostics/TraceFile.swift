internal import CPlatform
import Synchronization

/// Has what happens to timers written to a file, as Chrome trace events: by call, or from the first queue on where the
/// environment variable CHIME_TRACE names a file. `trace_file.c` has the ring and the writer; here is what an event says.
package enum TraceFile {
  /// Begins a file, in place of the one that is being written.
  /// - Returns: ok; permission; noMemory; limit; resource; forked.
  package static func begin(_ path: UnsafePointer<CChar>) -> Status {
    if Fork.isChild { return .inChild }
    guard Fork.watch() else { return Memory.refusal }
    let error = withoutCancellation { unsafe chime_trace_begin(path) }
    if error != 0 {
      if Errno.isBusy(error) {
        return Status.resource.because(
          "path: another process writes that file; %s in a path stands for the process", of: "%p")
      }
      if Errno.isOfPermission(error) { return Status.permission.because("path: %e", Int64(error)) }
      if Errno.isOfMemory(error) { return Memory.refusal }
      return Status.resource.because("the file, or the thread that writes it, could not be had: %e", Int64(error))
    }
    Trace.fileHasChanged(file)
    QueueControlBlocks.forEachID { id in
      guard let core = QueueCore.find(id) else { return }
      put(core)
      core.control.forEachSlot { slot in
        if slot.word.isLive {
          put(TimerRef(slot: slot, version: slot.version), core, kind: UInt32(CHIME_TRACE_TIMER), record: nil)
        }
      }
    }
    return .ok
  }

  /// Ends the file; what has happened before is in it. Ignored when none is being written.
  package static func end() -> Status {
    if Fork.isChild { return .inChild }
    let wasOpen = withoutCancellation { chime_trace_end() } != 0
    Trace.fileHasChanged(file)
    return wasOpen ? .ok : .ignored
  }

  /// Before the first queue: begins the file that the environment names. If that fails, a line on stderr says so.
  static func beginIfWanted() {
    guard let path = unsafe chime_trace_wanted() else { return }
    if unsafe begin(path) == .ok { return }
    unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { line in
      var text = unsafe TextWriter(line.baseAddress, capacity: line.count)
      text.add("libchime: the file that CHIME_TRACE names cannot be written: ")
      unsafe text.add(foreign: path)
      text.add("; ")
      unsafe text.add(ErrorDetail.sentence)
      text.add("\n")
      unsafe chime_write_error(line.baseAddress, min(text.length, line.count - 1))
    }
  }

  private static var file: Trace.File {
    Trace.File(put: { put($0) }, putQueue: { if let core = $0.core { put(core) } })
  }

  /// A queue was made.
  @inline(never)
  private static func put(_ core: QueueCore) {
    var event = chime_trace_event()
    event.kind = UInt32(CHIME_TRACE_QUEUE)
    event.queue = core.id
    event.now_ns = Clock.monotonic.now
    unsafe core.label.withCString { unsafe chime_trace_set_label(&event, $0) }
    unsafe chime_trace_put(&event)
  }

  /// What the trace reports.
  private static func put(_ record: CoreTick) {
    guard let timer = TimerRef(record.timer), let core = timer.control.core else { return }
    put(timer, core, kind: record.kind, record: record)
    guard record.kind == Trace.Event.activated.rawValue, let snapshot = timer.snapshot, snapshot.hasShortInterval
    else { return }
    var said = record
    said.scheduled = snapshot.period
    put(timer, core, kind: UInt32(CHIME_TRACE_SHORT), record: said)
  }

  private static func put(_ timer: TimerRef, _ core: QueueCore, kind: UInt32, record: CoreTick?) {
    var event = chime_trace_event()
    event.kind = kind
    event.overlaps = core.handOver == nil ? 0 : 1
    event.timer = timer.id
    event.queue = core.id
    event.now_ns = Clock.monotonic.now
    event.scheduled_ns = record?.scheduled ?? .max
    event.actual_ns = record?.actual ?? 0
    event.sequence = record?.sequence ?? 0
    event.missed = record?.missed ?? 0
    event.passes = core.counters.passes.load(ordering: .relaxed)
    event.merged = core.counters.merged.load(ordering: .relaxed)
    unsafe timer.withLabel { label in unsafe chime_trace_set_label(&event, label) }
    unsafe chime_trace_put(&event)
  }
}

internal import CPlatform
import Synchronization

/// A dispatch source, and the closure that it calls until it is closed. Any thread.
@safe final class WorkSource: Runner, @unchecked Sendable {
  // SAFETY: a dispatch object is thread-safe; owned, released in deinit. It owns the closure as its context.
  private nonisolated(unsafe) let raw: UnsafeMutableRawPointer
  /// Orders `run` before the closure that it asks for. libdispatch does so, too, but a sanitizer cannot see it.
  private let requests = Requests()

  private final class Requests: Sendable {
    let count = Atomic<UInt>(0)
  }

  private init(_ raw: UnsafeMutableRawPointer?, _ body: @escaping @Sendable () -> Void) {
    guard let raw = unsafe raw else { invariantFailure("libdispatch gave no source") }
    unsafe self.raw = raw
    let context = unsafe ClosureBox.context { [requests] in
      _ = requests.count.load(ordering: .acquiring)
      body()
    }
    unsafe chime_dispatch_set_context(raw, context) { unsafe ClosureBox.release($0) }
    unsafe chime_dispatch_source_set_handler(raw) { unsafe ClosureBox.call($0) }
    unsafe chime_dispatch_activate(raw)
  }

  deinit { unsafe chime_dispatch_release(raw) }

  /// Calls the closure at the time that it is set for.
  static func timer(on queue: WorkQueue, _ body: @escaping @Sendable () -> Void) -> WorkSource {
    unsafe WorkSource(chime_dispatch_timer_source(queue.raw), body)
  }

  /// Calls the closure when `run` was called.
  static func runs(on queue: WorkQueue, _ body: @escaping @Sendable () -> Void) -> WorkSource {
    unsafe WorkSource(chime_dispatch_merge_source(queue.raw), body)
  }

  func run() {
    requests.count.add(1, ordering: .releasing)
    unsafe chime_dispatch_source_merge(raw)
  }

  /// Sets a timer for one time on libdispatch's clock, in place of any before; `Int64.max` for none.
  func set(_ time: Int64) {
    unsafe chime_dispatch_source_set_timer(raw, time >= WorkSource.endOfTime ? .max : UInt64(max(time, 1)))
  }

  /// libdispatch takes 0 for now, and what does not fit in 62 bits for never or for a time on another clock.
  private static var endOfTime: Int64 { 0x3fff_ffff_ffff_ffff }

  func close() { unsafe chime_dispatch_source_cancel(raw) }
}

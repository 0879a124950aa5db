internal import CPlatform
import Synchronization

/// A `dispatch_queue_t`, Chime's or the host's; retained as long as this object lives. Any thread.
@safe package final class WorkQueue: Sendable {
  // SAFETY: a dispatch object is thread-safe; owned, released in deinit.
  nonisolated(unsafe) let raw: UnsafeMutableRawPointer

  /// Takes over a reference of the caller's.
  private init(owning raw: UnsafeMutableRawPointer?) {
    guard let raw = unsafe raw else { invariantFailure("libdispatch gave no queue") }
    unsafe self.raw = raw
  }

  /// A queue of the host's.
  package init(_ queue: UnsafeMutableRawPointer) {
    unsafe raw = queue
    unsafe chime_dispatch_retain(queue)
  }

  package convenience init(label: String, qos: QualityOfService = .unspecified, isConcurrent: Bool = false) {
    unsafe self.init(
      owning: label.withCString {
        unsafe chime_dispatch_queue_create($0, isConcurrent ? 1 : 0, qos.number, qos.relativePriority)
      })
  }

  /// A serial queue that runs its blocks on another one.
  convenience init(label: String, on target: WorkQueue) {
    unsafe self.init(owning: label.withCString { unsafe chime_dispatch_queue_create_on($0, target.raw) })
  }

  deinit { unsafe chime_dispatch_release(raw) }

  static var main: WorkQueue { unsafe WorkQueue(owning: chime_dispatch_main_queue()) }

  package func async(_ body: @escaping @Sendable () -> Void) {
    unsafe chime_dispatch_async(raw, ClosureBox.context(body)) {
      unsafe ClosureBox.call($0)
      unsafe ClosureBox.release($0)
    }
  }

  package func makeWorker(_ body: @escaping @Sendable () throws(Forked) -> Void) -> any Worker {
    // In a child libdispatch runs nothing more: there is nobody to tell.
    WorkSource.runs({ try? body() }, on: self)
  }

  /// Runs a closure on the calling thread, in the queue's turn.
  func sync(_ body: () -> Void) {
    withoutActuallyEscaping(body) { body in
      let context = unsafe ClosureBox.context(body)
      unsafe chime_dispatch_sync(raw, context) { unsafe ClosureBox.call($0) }
      unsafe ClosureBox.release(context)
    }
  }

  // MARK: Standing on it

  /// Makes `isCurrent` recognise blocks of this queue.
  package func mark() {
    unsafe chime_dispatch_set_specific(raw, chime_queue_key(), raw)
    ExecutionContexts.hasDispatchQueues.store(true, ordering: .relaxed)
  }

  package var isCurrent: Bool { unsafe chime_dispatch_specific(chime_queue_key()) == raw }

  var executionContext: ExecutionContext { .dispatchQueue(unsafe UInt(bitPattern: raw)) }

  // MARK: What it is

  package var isMain: Bool { unsafe raw == chime_dispatch_main_queue() }

  /// Whether its blocks can run at the same time, according to the type object that libdispatch gives its queues.
  package var isConcurrentQueue: Bool {
    let type = unsafe WorkQueue.type(of: raw)
    let own = WorkQueue(label: "", isConcurrent: true)
    let global = unsafe WorkQueue(owning: chime_dispatch_global_queue(QualityOfService.default.number))
    return unsafe type == WorkQueue.type(of: own.raw) || type == WorkQueue.type(of: global.raw)
  }

  /// Whether the object was made by the libdispatch that Chime uses: its type object lies in the same loaded file.
  static func isOurs(_ pointer: UnsafeMutableRawPointer) -> Bool {
    let own = WorkQueue(label: "")
    guard let file = unsafe chime_file_of(type(of: pointer)) else { return false }
    return unsafe file == chime_file_of(type(of: own.raw))
  }

  /// The first word of every dispatch object points to its type.
  private static func type(of object: UnsafeMutableRawPointer) -> UnsafeRawPointer? {
    unsafe object.load(as: UnsafeRawPointer?.self)
  }
}

/// A dispatch source, traps included, and the closure that it calls. Used through a machine, or set up once and left
/// alone. Any thread.
@safe final class WorkSource: MachineTimer, Worker, @unchecked Sendable {
  // SAFETY: a dispatch object is thread-safe; owned, released in deinit. It owns the closure as its context.
  private nonisolated(unsafe) let raw: UnsafeMutableRawPointer
  /// Orders `run` before the closure that it asks for. libdispatch does so, too, but a sanitizer cannot see it.
  private let requests = Requests()

  private final class Requests: Sendable {
    let count = Atomic<UInt>(0)
  }

  private init(_ raw: UnsafeMutableRawPointer?) {
    guard let raw = unsafe raw else { invariantFailure("libdispatch gave no source") }
    unsafe self.raw = raw
  }

  deinit { unsafe chime_dispatch_release(raw) }

  /// - Parameter queue: where the handler runs.
  static func timer(_ queue: WorkQueue) -> WorkSource { unsafe WorkSource(chime_dispatch_timer_source(queue.raw)) }

  /// Calls the closure when `run` was called.
  static func runs(_ body: @escaping @Sendable () -> Void, on queue: WorkQueue) -> WorkSource {
    let source = unsafe WorkSource(chime_dispatch_merge_source(queue.raw))
    source.setEventHandler { [requests = source.requests] in
      _ = requests.count.load(ordering: .acquiring)
      body()
    }
    source.activate()
    return source
  }

  func run() {
    requests.count.add(1, ordering: .releasing)
    unsafe chime_dispatch_source_merge(raw)
  }
  func close() { cancel() }

  func setEventHandler(_ handler: @escaping @Sendable () -> Void) {
    unsafe chime_dispatch_set_context(raw, ClosureBox.context(handler)) { unsafe ClosureBox.release($0) }
    unsafe chime_dispatch_source_set_handler(raw) { unsafe ClosureBox.call($0) }
  }

  func schedule(deadline: Int64, interval: Int64, leeway: Int64) {
    unsafe chime_dispatch_source_set_timer(
      raw, deadline >= WorkSource.endOfTime ? .max : UInt64(max(deadline, 1)),
      interval == .max ? .max : UInt64(interval), UInt64(leeway))
  }

  /// libdispatch takes 0 for now, and what does not fit in 62 bits for never or for a time on another clock.
  private static var endOfTime: Int64 { 0x3fff_ffff_ffff_ffff }

  func activate() { unsafe chime_dispatch_activate(raw) }
  func suspend() { unsafe chime_dispatch_suspend(raw) }
  func resume() { unsafe chime_dispatch_resume(raw) }
  func cancel() { unsafe chime_dispatch_source_cancel(raw) }
}

/// Makes the timer sources of one queue.
final class WorkSourceFactory: MachineTimerFactory {
  private let queue: WorkQueue

  init(_ queue: WorkQueue) { self.queue = queue }

  func makeTimer() -> any MachineTimer { WorkSource.timer(queue) }
  func submit(_ body: @escaping @Sendable () -> Void) { queue.async(body) }
  var now: Int64 { Clock.monotonic.now }
}

/// A machine's source: the verbs of a dispatch timer source and their rules. It starts inactive, is activated once, is
/// resumed only after a `suspend`, and is last released only when it is activated, not suspended, and cancelled.
///
/// The machine makes the calls of one source one at a time, from any thread, **with its lock held**: no verb may call the
/// machine, run the event handler inline, or wait for it.
public protocol MachineTimer: AnyObject, Sendable {
  /// Replaces the schedule, also while suspended; ignored after `cancel`. Nanoseconds.
  ///
  /// - Parameters:
  ///   - deadline: of the first tick, on the clock of the source; never 0. `Int64.max` disarms.
  ///   - interval: 1 or more; `Int64.max` for a one-shot.
  ///   - leeway: how late a tick may be; 0 or more.
  func schedule(deadline: Int64, interval: Int64, leeway: Int64)

  /// Sets what runs at each tick; called once, before `activate`. The source releases it some time after `cancel`.
  ///
  /// The handler may be called too often, or late: the machine decides what is due. It must be called at least once
  /// at or after each deadline at which the source is neither suspended nor cancelled.
  ///
  /// - Parameter handler: kept until some time after `cancel`.
  func setEventHandler(_ handler: @escaping @Sendable () -> Void)

  /// Lets the first tick come.
  func activate()

  /// Holds ticks back until `resume`; a handler that is running goes on.
  func suspend()

  /// Undoes one `suspend`.
  func resume()

  /// Ends ticks for good. Not called while suspended.
  func cancel()
}

/// Makes a machine's sources and knows where their handlers run. Called with the machine's lock held.
package protocol MachineTimerFactory: AnyObject, Sendable {
  func makeTimer() -> any MachineTimer
  /// Runs a closure where handlers run, later.
  func submit(_ body: @escaping @Sendable () -> Void)
  /// The clock that deadlines are on.
  var now: Int64 { get }
}

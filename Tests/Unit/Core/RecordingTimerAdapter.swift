import Chime
import ChimeCompat
import ChimeCore
import ChimeTestSupport
import Dispatch
import Synchronization

/// A `TimerAdapter` that never ticks by itself: it writes down every call, notes each one that libdispatch would
/// punish, and delivers when the test says so. Its factory is the test's clock.
final class RecordingTimerAdapter: TimerAdapter {
  private struct Source {
    var hasHandler = false
    var isActivated = false
    var isSuspended = false
    var isCancelled = false
  }

  private let factory: RecordingTimerAdapterFactory
  private let source = Locked(Source())

  fileprivate init(_ factory: RecordingTimerAdapterFactory) {
    self.factory = factory
    factory.calls.add("make")
  }

  deinit {
    factory.calls.add("release")
    source.withLock {
      forbid(!$0.isActivated, "released and never activated")
      forbid($0.isSuspended, "released while suspended")
      forbid(!$0.isCancelled, "released and not cancelled")
    }
  }

  private func forbid(_ condition: Bool, _ what: String) { if condition { factory.violations.add(what) } }

  /// Logged as deadline, `/` interval and `~` leeway.
  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval) {
    let deadline = deadline.uptimeNanoseconds
    var text = deadline == .max ? "never" : "\(deadline)"
    forbid(deadline == 0, "deadline 0")
    if case .nanoseconds(let count) = repeating {
      forbid(count < 1, "interval \(count)")
      text += "/\(count)"
    }
    if case .nanoseconds(let count) = leeway, count != 0 {
      forbid(count < 0, "leeway \(count)")
      text += "~\(count)"
    }
    factory.calls.add(text)
    source.withLock { forbid($0.isCancelled, "schedule after cancel") }
  }

  func setEventHandler(_ handler: @escaping @Sendable () -> Void) {
    change("handler") {
      forbid($0.hasHandler, "second event handler")
      forbid($0.isActivated, "event handler after activate")
      $0.hasHandler = true
    }
    factory.handlers.add(handler)
  }

  func activate() {
    change("activate") {
      forbid($0.isActivated, "activated twice")
      $0.isActivated = true
    }
  }

  func suspend() {
    change("suspend") {
      forbid($0.isSuspended, "suspended twice")
      forbid($0.isCancelled, "suspend after cancel")
      $0.isSuspended = true
    }
  }

  func resume() {
    change("resume") {
      forbid(!$0.isSuspended, "resume while running")
      $0.isSuspended = false
    }
  }

  func cancel() {
    change("cancel") {
      forbid($0.isCancelled, "cancelled twice")
      forbid($0.isSuspended, "cancel while suspended")
      $0.isCancelled = true
    }
    _ = factory.handlers.take()
  }

  private func change(_ call: String, _ body: (inout Source) -> Void) {
    factory.calls.add(call)
    source.withLock { body(&$0) }
  }
}

/// Makes recording adapters, one at a time; `now` begins at 1000 and moves only by the test's hand.
final class RecordingTimerAdapterFactory: TimerAdapterFactory {
  let calls = Log<String>()
  let violations = Log<String>()
  fileprivate let handlers = Log<@Sendable () -> Void>()
  private let time = Atomic<UInt64>(1000)

  func makeTimer(queue: DispatchQueue?) -> any TimerAdapter { RecordingTimerAdapter(self) }

  var now: DispatchTime { DispatchTime(uptimeNanoseconds: time.load(ordering: .sequentiallyConsistent)) }

  func setNow(_ nanoseconds: UInt64) { time.store(nanoseconds, ordering: .sequentiallyConsistent) }

  /// The event handler as libdispatch would have it in hand, to be called now or, as a stale one, later; does nothing if
  /// there is none.
  var delivery: @Sendable () -> Void {
    let handler = handlers.all.last
    return { handler?() }
  }

  func deliver(at nanoseconds: UInt64) {
    setNow(nanoseconds)
    delivery()
  }
}

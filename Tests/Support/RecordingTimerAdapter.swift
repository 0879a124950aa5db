import Chime
import ChimeCore
import Dispatch
import Synchronization

/// A `TimerAdapter` that never ticks by itself: it writes down every call, notes each one that libdispatch would
/// punish, and delivers when the test says so. Its factory is the test's clock.
package final class RecordingTimerAdapter: TimerAdapter {
  private struct Source {
    var handler: (@Sendable () -> Void)?
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
  package func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval) {
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

  package func setEventHandler(_ handler: @escaping @Sendable () -> Void) {
    change("handler") {
      forbid($0.handler != nil, "second event handler")
      forbid($0.isActivated, "event handler after activate")
      $0.handler = handler
    }
  }

  package func activate() {
    change("activate") {
      forbid($0.isActivated, "activated twice")
      $0.isActivated = true
    }
  }

  package func suspend() {
    change("suspend") {
      forbid($0.isSuspended, "suspended twice")
      forbid($0.isCancelled, "suspend after cancel")
      $0.isSuspended = true
    }
  }

  package func resume() {
    change("resume") {
      forbid(!$0.isSuspended, "resume while running")
      $0.isSuspended = false
    }
  }

  package func cancel() {
    let handler = change("cancel") { source in
      forbid(source.isCancelled, "cancelled twice")
      forbid(source.isSuspended, "cancel while suspended")
      source.isCancelled = true
      defer { source.handler = nil }
      return source.handler
    }
    withExtendedLifetime(handler) {}
  }

  private func change<Result>(_ call: String, _ body: (inout Source) -> Result) -> Result {
    factory.calls.add(call)
    return source.withLock { source in body(&source) }
  }

  fileprivate var delivery: @Sendable () -> Void {
    let handler = source.withLock { $0.handler }
    return { handler?() }
  }
}

/// Makes recording adapters; `now` begins at 1000 and moves only by the test's hand.
package final class RecordingTimerAdapterFactory: TimerAdapterFactory {
  private struct Last { weak var adapter: RecordingTimerAdapter? }

  package let calls = Log<String>()
  package let violations = Log<String>()
  private let last = Locked(Last())
  private let time = Atomic<UInt64>(1000)

  package init() {}

  package func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
    let adapter = RecordingTimerAdapter(self)
    last.withLock { $0.adapter = adapter }
    return adapter
  }

  package var now: DispatchTime { DispatchTime(uptimeNanoseconds: time.load(ordering: .sequentiallyConsistent)) }

  package func setNow(_ nanoseconds: UInt64) { time.store(nanoseconds, ordering: .sequentiallyConsistent) }

  /// The event handler of the latest adapter as libdispatch would have it in hand, to be called now or, as a stale one,
  /// later; does nothing if there is none.
  package var delivery: @Sendable () -> Void { last.withLock { $0.adapter }?.delivery ?? {} }

  package func deliver(at nanoseconds: UInt64) {
    setNow(nanoseconds)
    delivery()
  }
}

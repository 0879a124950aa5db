import Dispatch
import Synchronization

@testable import Chime
@testable import ChimeCore

/// A `TimerAdapter` that never ticks by itself: it writes down every call, notes each one that libdispatch would
/// punish, and delivers when the test says so. Its factory is the test's clock.
final class RecordingTimerAdapter: TimerAdapter {
  enum Call: Equatable {
    case make
    case schedule(deadline: UInt64, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval)
    case setEventHandler, activate, suspend, resume, cancel, release
  }

  private struct Source {
    var handler: (@Sendable () -> Void)?
    var isActivated = false
    var suspensions = 0
    var isCancelled = false
  }

  private let log: RecordingTimerAdapterFactory.Log
  private let source = Locked(Source())

  init(log: RecordingTimerAdapterFactory.Log) {
    self.log = log
    log.note(.make)
  }

  deinit {
    log.note(.release)
    source.withLock {
      log.forbid(!$0.isActivated, "released and never activated")
      log.forbid($0.suspensions > 0, "released while suspended")
      log.forbid(!$0.isCancelled, "released and not cancelled")
    }
  }

  func schedule(deadline: DispatchTime, repeating: DispatchTimeInterval, leeway: DispatchTimeInterval) {
    log.note(.schedule(deadline: deadline.uptimeNanoseconds, repeating: repeating, leeway: leeway))
    log.forbid(deadline.uptimeNanoseconds == 0, "deadline 0")
    if case .nanoseconds(let count) = repeating { log.forbid(count < 1, "interval \(count)") }
    if case .nanoseconds(let count) = leeway { log.forbid(count < 0, "leeway \(count)") }
    source.withLock { log.forbid($0.isCancelled, "schedule after cancel") }
  }

  func setEventHandler(_ handler: @escaping @Sendable () -> Void) {
    log.note(.setEventHandler)
    source.withLock {
      log.forbid($0.handler != nil, "second event handler")
      log.forbid($0.isActivated, "event handler after activate")
      $0.handler = handler
    }
  }

  func activate() {
    log.note(.activate)
    source.withLock {
      log.forbid($0.isActivated, "activated twice")
      $0.isActivated = true
    }
  }

  func suspend() {
    log.note(.suspend)
    source.withLock {
      log.forbid($0.suspensions > 0, "suspended twice")
      log.forbid($0.isCancelled, "suspend after cancel")
      $0.suspensions += 1
    }
  }

  func resume() {
    log.note(.resume)
    source.withLock {
      log.forbid($0.suspensions == 0, "resume while running")
      $0.suspensions -= 1
    }
  }

  func cancel() {
    log.note(.cancel)
    let handler = source.withLock {
      log.forbid($0.isCancelled, "cancelled twice")
      log.forbid($0.suspensions > 0, "cancel while suspended")
      $0.isCancelled = true
      let handler = $0.handler
      $0.handler = nil
      return handler
    }
    withExtendedLifetime(handler) {}
  }

  /// The event handler as libdispatch would have it in hand, to be called now or, as a stale one, later.
  var delivery: @Sendable () -> Void {
    let handler = source.withLock { $0.handler }
    return { handler?() }
  }
}

/// Makes recording adapters; `now` moves only by the test's hand.
final class RecordingTimerAdapterFactory: TimerAdapterFactory {
  final class Log: Sendable {
    private let entries = Locked((calls: [RecordingTimerAdapter.Call](), violations: [String]()))

    func note(_ call: RecordingTimerAdapter.Call) { entries.withLock { $0.calls.append(call) } }
    func forbid(_ condition: Bool, _ what: String) { if condition { entries.withLock { $0.violations.append(what) } } }

    var violations: [String] { entries.withLock { $0.violations } }
    var calls: [RecordingTimerAdapter.Call] { entries.withLock { $0.calls } }

    /// The calls since the last look.
    func take() -> [RecordingTimerAdapter.Call] {
      entries.withLock { entries in
        defer { entries.calls = [] }
        return entries.calls
      }
    }
  }

  private struct Last { weak var adapter: RecordingTimerAdapter? }

  let log = Log()
  private let last = Locked(Last())
  private let time = Atomic<UInt64>(1000)

  func makeTimer(queue: DispatchQueue?) -> any TimerAdapter {
    let adapter = RecordingTimerAdapter(log: log)
    last.withLock { $0.adapter = adapter }
    return adapter
  }

  var now: DispatchTime { DispatchTime(uptimeNanoseconds: time.load(ordering: .sequentiallyConsistent)) }

  func setNow(_ nanoseconds: UInt64) { time.store(nanoseconds, ordering: .sequentiallyConsistent) }

  /// A call of the event handler of the latest adapter, as libdispatch has it in hand; does nothing if there is none.
  var delivery: @Sendable () -> Void { last.withLock { $0.adapter }?.delivery ?? {} }
}

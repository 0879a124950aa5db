import Chime
import ChimeCore

/// What happens to all timers of the process, for logs and metrics, and what they hold.
public enum ChimeDiagnostics {
  /// Something that happened to a timer.
  public struct Event: Sendable, Hashable, CustomStringConvertible {
    /// What can happen.
    public enum Kind: Sendable, CaseIterable {
      /// A tick that was due is about to be delivered.
      case due
      /// A tick that `fire` requested is about to be delivered.
      case fired
      /// The registration handler is about to be called.
      case armed
      /// The cancel handler is about to be called.
      case cancelHandler
      /// The timer's context is about to be released by its finalizer.
      case finalize
      /// The timer was made.
      case created
      /// The timer was started, or started anew.
      case started
      /// The timer was suspended.
      case suspended
      /// The timer was resumed.
      case resumed
      /// The timer was rescheduled.
      case rescheduled
      /// The timer was postponed.
      case postponed
      /// A tick was requested by `fire`.
      case fireRequested
      /// The last tick is about to be delivered.
      case finished
      /// The timer was cancelled, by a call or because its target has gone.
      case cancelled
      /// The timer was released.
      case released
      /// A handler of the timer has returned.
      case returned
    }

    /// What happened.
    public let kind: Kind
    /// To which timer.
    public let timer: ChimeTimer.ID
    /// The timer's label; empty for one without.
    public let label: String
    /// Counts the ticks of an activation from 1; 0 for what is no tick.
    public let sequence: UInt64
    /// How many due times got no tick of their own.
    public let missed: UInt64
    /// How late a tick is; `nil` for what is no tick.
    public let lateness: Duration?

    /// The event in words: for people.
    public var description: String {
      "timer \(timer)\(label.isEmpty ? "" : " \"\(label)\""): \(kind)" + (sequence > 0 ? ", tick \(sequence)" : "")
        + (missed > 0 ? ", \(missed) missed" : "")
        + (lateness.map { ", late by \($0)" } ?? "")
    }
  }

  /// Calls `observer` for everything that happens to any timer, from Swift or C, as long as the observation is held.
  ///
  /// The observer is called on the thread that causes the event, with no lock held: it should be short. What it does to
  /// timers itself is not reported. Several observers hear of each event in the order in which they came.
  ///
  /// - Parameter observer: for what happens from now on.
  /// - Returns: the observation, which ends when its last reference goes, or by its `end`.
  public static func observe(_ observer: @escaping @Sendable (Event) -> Void) -> Observation {
    Observation(observers.withLock { observers in observers.add(observer) })
  }

  /// An observer that is told of events.
  public final class Observation: Sendable {
    private let number: Int

    fileprivate init(_ number: Int) { self.number = number }

    deinit { end() }

    /// Ends the observation. An event that another thread is just reporting may still be heard of.
    public func end() { ChimeDiagnostics.observers.withLock { observers in observers.remove(number) } }
  }

  private struct Observers {
    var all: [(number: Int, body: @Sendable (Event) -> Void)] = []
    var count = 0

    mutating func add(_ body: @escaping @Sendable (Event) -> Void) -> Int {
      count += 1
      all.append((count, body))
      Trace.setObserver(ChimeDiagnostics.report)
      return count
    }

    mutating func remove(_ number: Int) {
      all.removeAll { $0.number == number }
      if all.isEmpty {
        Trace.setObserver(nil)
        ChimeDiagnostics.labels.withLock { $0 = [:] }
      }
    }
  }

  private static let observers = Locked(Observers())

  private static var report: TickFunction {
    unsafe TickFunction { record, _ in
      let record = unsafe record.load(as: CoreTick.self)
      guard let event = Event(record, ChimeDiagnostics.label(record)) else { return }
      // A copy, so that each may begin and end observations.
      for observer in ChimeDiagnostics.observers.withLock({ $0.all }) { observer.body(event) }
    }
  }

  /// Labels of timers that have had an event, which their release ends: then the core knows them no more.
  private static let labels = Locked<[UInt64: String]>([:])

  private static func label(_ record: CoreTick) -> String {
    var label = ""
    unsafe TimerRef(record.timer)?.withLabel { unsafe label = String(cString: $0) }
    let handle = record.timer
    return labels.withLock { labels in
      if record.kind == Trace.Event.released.rawValue { return labels.removeValue(forKey: handle) ?? label }
      if !label.isEmpty { labels[handle] = label }
      return label.isEmpty ? labels[handle] ?? "" : label
    }
  }

  /// How many bytes Chime holds in pages of its own: those of timers, touched or not, but what ended queues have given back.
  /// Objects of Swift's runtime, as queues and handlers are, are not in it.
  public static var memoryUsed: UInt64 { Memory.held }

  /// Limits the memory of timers, as `memoryUsed` counts it. A call that would need more throws `limit`; ticks, and timers
  /// that there are, go on. A limit below what is already held takes nothing away.
  ///
  /// - Parameter bytes: 0 counts as 1, which is less than any timer needs; `nil` for no limit.
  public static func limitMemory(to bytes: UInt64?) { Memory.setLimit(bytes.map { max(1, $0) } ?? 0) }

  /// The description of every queue in the process, from Swift or C, with all its timers: `TimerQueue.dump` of each.
  ///
  /// - Complexity: O(*n*), where *n* is the number of all timers.
  public static var queues: [String] {
    var ids: [UInt64] = []
    QueueControlBlocks.forEachID { ids.append($0) }
    return ids.compactMap { id in TextWriter.string { QueueCore.dump(id, into: &$0) } }
  }
}

extension ChimeDiagnostics.Event.Kind {
  fileprivate init(_ event: Trace.Event) {
    switch event {
    case .created: self = .created
    case .activated, .restarted: self = .started
    case .suspended: self = .suspended
    case .resumed: self = .resumed
    case .rescheduled: self = .rescheduled
    case .postponed: self = .postponed
    case .fired: self = .fireRequested
    case .finished: self = .finished
    case .cancelled: self = .cancelled
    case .released: self = .released
    case .returned: self = .returned
    }
  }
}

extension ChimeDiagnostics.Event {
  fileprivate init?(_ record: CoreTick, _ label: String) {
    switch TickKind(rawValue: record.kind) {
    case .due: kind = .due
    case .fired: kind = .fired
    case .armed: kind = .armed
    case .cancelled: kind = .cancelHandler
    case .finalize: kind = .finalize
    case .function: return nil
    case nil:
      guard let event = Trace.Event(rawValue: record.kind) else { return nil }
      kind = Kind(event)
    }
    timer = ChimeTimer.ID(handle: record.timer)
    self.label = label
    sequence = record.sequence
    missed = record.missed
    let isTick = kind == .due || kind == .fired
    lateness = isTick ? .nanoseconds(record.actual.saturatingSubtract(record.scheduled)) : nil
  }
}

import Chime
import ChimeTestSupport
import Dispatch
import Foundation
import Testing

/// One-shots, and the ways to call one off: nested timers, deferred invocation, cancellable one-shot, identity check
/// and generation count, single queue synchronized.

@Suite("Nested timers", .serialized) struct NestedTimers {
  /// In the original the children are released at once, and never fire.
  @Test func aRepeatingTimerStartsAOneShotForEachElementForEver() throws {
    let queue = try VirtualTimerQueue()
    let seen = Log<String>()
    let captured = Counter()
    let lamps = ["red", "green", "blue"]
    let timer = try queue.schedule(every: .seconds(1)) { [unowned queue] _ in
      for (index, lamp) in lamps.enumerated() {
        try? queue.perform(after: .milliseconds(100 * index)) { [capture = Counted(captured)] in
          withExtendedLifetime(capture) { seen.add("\(seconds(queue.now)) \(lamp)") }
        }
      }
    }
    let first = ["1.0 red", "1.1 green", "1.2 blue", "2.0 red", "2.1 green"]
    #expect(try seen.during(.milliseconds(2150), on: queue) == first && captured.value == 1)
    #expect(try seen.during(.seconds(1000), on: queue).count == 1 + 999 * 3 + 2)
    timer.cancel()
    #expect(try seen.during(.seconds(1), on: queue).count == 1 && captured.value == 0)
  }
}

@Suite("Deferred invocation", .serialized) struct DeferredInvocation {
  /// With `asyncAfter` the deletion that was meant for the first resource hits the second. What is tied to the
  /// resource goes with it.
  @Test func itDoesNotDeleteTheResourceThatTookTheFirstOnesPlace() throws {
    final class Resource: ChimeTimer.Target, Sendable {
      let targetToken = TargetToken()
      let name: String
      init(_ name: String) { self.name = name }
    }
    let queue = try VirtualTimerQueue()
    let deleted = Log<String>()
    func expire(_ resource: Resource) throws -> ChimeTimer {
      try queue.schedule(.once(after: .seconds(10)), target: resource) { resource, _ in deleted.add(resource.name) }
    }
    var resource = Resource("first")
    var expiry = try expire(resource)
    try queue.advanceTimers(by: .seconds(6))
    resource = Resource("second")
    #expect(expiry.state == .cancelled)
    expiry = try expire(resource)
    #expect(try deleted.during(.seconds(6), on: queue) == [])
    #expect(try deleted.during(.seconds(4), on: queue) == ["second"])
  }
}

@Suite("Cancellable one-shot", .serialized) struct CancellableOneShot {
  /// A file that is deleted after a time, unless it is deleted or replaced before.
  final class TemporaryFile {
    private let deletion: ChimeTimer

    init(_ name: String, on queue: TimerQueue, _ deleted: Log<String>) throws {
      deletion = try queue.schedule(after: .seconds(5)) { _ in deleted.add(name) }
    }
  }

  @Test func theTimerIsCancelledWithTheResourceThatHoldsIt() throws {
    let queue = try VirtualTimerQueue()
    let deleted = Log<String>()
    let kept = try TemporaryFile("kept", on: queue, deleted)
    var dropped: TemporaryFile? = try TemporaryFile("dropped", on: queue, deleted)
    try queue.advanceTimers(by: .seconds(4))
    #expect(dropped != nil)
    dropped = nil
    #expect(try deleted.during(.seconds(4), on: queue) == ["kept"])
    withExtendedLifetime(kept) {}
  }
}

/// That no tick of a cancelled or rescheduled timer starts: the C suite, on every kind of queue.
@Suite("Identity check and generation count", .serialized) struct IdentityCheck {
  /// A handler that has started may be overtaken; it finds out under the mutex that guards the resource. The original
  /// writes this twice at each use, and its published reset has the guard the wrong way round.
  @Test func aHandlerThatWasOvertakenFindsOutUnderTheCallersMutex() async throws {
    let queue = try TimerQueue()
    let entered = DispatchSemaphore(value: 0), mayGoOn = DispatchSemaphore(value: 0)
    let mutex = NSLock()
    let results = Log<Bool>()
    let timer = try queue.makeTimer { tick in
      entered.signal()
      mayGoOn.wait()
      mutex.withLock { results.add(tick.isCurrent) }
      entered.signal()
    }
    try await onAThread {
      for isOvertaken in [true, false] {
        try timer.restart(.once(after: .zero))
        entered.wait()
        if isOvertaken { _ = try mutex.withLock { try timer.restart(.once(after: .seconds(3600))) } }
        mayGoOn.signal()
        entered.wait()
        #expect(results.take() == [!isOvertaken])
      }
    }
  }
}

@Suite("Single queue synchronized", .serialized) struct SingleQueueSynchronized {
  /// Resource and timer live on one serial queue, which is the mutex.
  actor Cache {
    private let queue: SerialTimerQueue
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe queue.asUnownedSerialExecutor() }

    private var entries: [String: Int] = [:]
    private var expiry: ChimeTimer?

    init() throws { queue = try SerialTimerQueue(label: "cache") }

    func put(_ key: String, _ value: Int) throws {
      entries[key] = value
      if let expiry, try expiry.postpone(by: .milliseconds(1)) != .ignored { return }
      expiry = try queue.schedule(.once(after: .milliseconds(1)), target: self) { cache, _ in
        // No waiting, no hop: the handler is on the actor already, or this would end the program.
        cache.assumeIsolated { $0.entries = [:] }
      }
    }

    var count: Int { entries.count }
  }

  @Test func theQueueOfTheTimerIsTheMutexOfTheResource() async throws {
    let cache = try Cache()
    await withTaskGroup(of: Void.self) { group in
      for task in 0..<8 {
        group.addTask {
          for round in 0..<50 {
            try? await cache.put("\(task)", round)
            if round % 10 == 0 { try? await Task.sleep(for: .milliseconds(2)) }
          }
        }
      }
    }
    try await cache.put("last", 1)
    let end = Date(timeIntervalSinceNow: patience)
    while await cache.count > 0, Date() < end { try await Task.sleep(for: .milliseconds(1)) }
    #expect(await cache.count == 0)
  }
}

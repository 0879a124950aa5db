import Chime
import ChimeCore
import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#endif

/// What the Swift tests share: counters and logs of many threads, objects that are counted, threads, waiting, and
/// random numbers that a seed repeats.

/// A number that threads count together.
package final class Counter: Sendable {
  private let count = Atomic<Int>(0)
  package init() {}
  package var value: Int { count.load(ordering: .sequentiallyConsistent) }

  /// Adds and gives the sum.
  @discardableResult
  package func add(_ amount: Int = 1) -> Int { count.add(amount, ordering: .sequentiallyConsistent).newValue }
}

/// Counts its instances.
open class Counted: @unchecked Sendable {
  // Unchecked as a class that is not final; it has a constant only.
  package let alive: Counter

  package init(_ alive: Counter) {
    self.alive = alive
    alive.add()
  }

  deinit { alive.add(-1) }
}

/// The same, and ends its timers at once.
package final class Tokened: Counted, ChimeTimer.Target, @unchecked Sendable {
  package let targetToken = TargetToken()
}

/// A handler that does nothing, and holds an object as long as it lives itself.
package func capturing<each Argument>(_ alive: Counter) -> @Sendable (repeat each Argument) -> Void {
  { [capture = Counted(alive)] (_: repeat each Argument) in withExtendedLifetime(capture) {} }
}

/// What handlers have seen, in order, from any thread.
package final class Log<Element: Sendable>: Sendable {
  private let elements = Locked<[Element]>([])
  package init() {}
  package var all: [Element] { elements.withLock { $0 } }
  package var count: Int { elements.withLock { $0.count } }
  package func add(_ element: Element) { elements.withLock { $0.append(element) } }

  /// What was added since the last look.
  package func take() -> [Element] {
    elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
  }
}

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers for the same seed everywhere.
package struct SplitMix64: RandomNumberGenerator {
  private var state: UInt64
  package init(seed: UInt64) { state = seed }

  package mutating func next() -> UInt64 {
    state &+= 0x9e37_79b9_7f4a_7c15
    var z = state
    z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
    z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
    return z ^ (z >> 31)
  }

  /// Below 2^k for a k from 0 to `bits`, each k as likely: short and long distances alike.
  package mutating func distance(bits: Int) -> Int64 {
    Int64(truncatingIfNeeded: next() & ((1 << UInt64.random(in: 0...UInt64(bits), using: &self)) - 1))
  }

  package mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }
}

// MARK: Waiting and threads

/// Seconds to wait for what must come: long enough for any machine.
package let patience: TimeInterval = 90

/// Waits in real time until the condition holds. False if it does not in time, nor in as many looks: on a busy machine
/// the tasks that it waits for have their turns as seldom as this one.
package nonisolated(nonsending) func soon(_ isOver: () -> Bool) async -> Bool {
  let end = Date(timeIntervalSinceNow: patience)
  var looks = 0
  while !isOver() {
    if Date() > end, looks > 3000 { return false }
    looks += 1
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}

/// Runs `body` on a new thread, whose run loop is nobody else's, and gives its result. Swift's own threads have no run
/// loops to block.
package func onAThread<Result: Sendable>(_ body: sending @escaping () throws -> Result) async throws -> Result {
  // SAFETY: called once, on the new thread.
  nonisolated(unsafe) let body = body
  return try await withCheckedThrowingContinuation { continuation in
    pthread_detach(newThread { continuation.resume(with: Swift.Result { unsafe try body() }) })
  }
}

/// Runs `body` on that many new threads at once and returns when they have ended, with all they kept.
package func onNewThreads(_ count: Int = 1, _ body: @escaping @Sendable (Int) -> Void) {
  for thread in (0..<count).map({ number in newThread { body(number) } }) { pthread_join(thread, nil) }
}

/// Waits for a thread where the machine has none to give.
private func newThread(_ body: @escaping () -> Void) -> pthread_t {
  final class Box {
    let body: () -> Void
    init(_ body: @escaping () -> Void) { self.body = body }
  }
  // SAFETY: the thread takes the one reference.
  let box = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
  let end = Date(timeIntervalSinceNow: patience)
  var thread = pthread_t()
  while true {
    let error = unsafe pthread_create(
      &thread, nil,
      { box in
        unsafe Unmanaged<Box>.fromOpaque(box!).takeRetainedValue().body()
        return nil
      }, box)
    if error == 0 { return thread }
    precondition(error == EAGAIN && Date() < end, "no thread: \(error)")
    usleep(10_000)
  }
}

import Chime
import Dispatch
import Foundation
import Testing

/// What the tests of the systems share. Each suite has the name of a system that people know from elsewhere, writes its
/// usual calls with Chime, and checks that what is wrong with the original is not wrong here.

extension Tag {
  @Tag static var promise1AnyOrder: Self
  @Tag static var promise2Linearizable: Self
  @Tag static var promise3NeverEarly: Self
  @Tag static var promise4NoDrift: Self
  @Tag static var promise5NoStorm: Self
  @Tag static var promise6NoOverlap: Self
  @Tag static var promise7NoStaleTick: Self
  @Tag static var promise8OneFinalizer: Self
  @Tag static var promise9Handlers: Self
  @Tag static var promise11Targets: Self
  @Tag static var promise13Leeway: Self
  @Tag static var promise14Bounded: Self
}

/// What handlers have seen, in order, from any thread.
final class Log<Element: Sendable>: Sendable {
  private let elements = Locked<[Element]>([])
  var all: [Element] { elements.withLock { $0 } }
  var count: Int { elements.withLock { $0.count } }
  func add(_ element: Element) { elements.withLock { $0.append(element) } }

  /// What was added since the last look.
  func take() -> [Element] {
    elements.withLock { elements in
      defer { elements = [] }
      return elements
    }
  }
}

/// A number that threads count together.
final class Counter: Sendable {
  private let count = Locked(0)
  var value: Int { count.withLock { $0 } }
  func add(_ amount: Int = 1) { count.withLock { $0 += amount } }
}

/// A value behind a lock that several closures share.
final class Guarded<Value: Sendable>: Sendable {
  private let value: Locked<Value>
  init(_ value: Value) { self.value = Locked(value) }
  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result { try value.withLock(body) }
}

/// Counts its instances.
class Counted: @unchecked Sendable {
  // Unchecked as a class that is not final; it has a constant only.
  let alive: Counter
  init(_ alive: Counter) {
    self.alive = alive
    alive.add()
  }
  deinit { alive.add(-1) }
}

/// Long enough for any machine.
let patience: TimeInterval = 30

/// Waits in real time until the condition holds. False if it does not in time.
nonisolated(nonsending) func soon(_ isOver: () -> Bool) async -> Bool {
  let end = Date(timeIntervalSinceNow: patience)
  while !isOver() {
    if Date() > end { return false }
    try? await Task.sleep(for: .milliseconds(1))
  }
  return true
}

/// Runs `body` on a new thread, whose run loop is nobody else's, and gives its result.
func onAThread<Result: Sendable>(_ body: sending @escaping () throws -> Result) async throws -> Result {
  // SAFETY: called once, on the new thread.
  nonisolated(unsafe) let body = body
  return try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread { continuation.resume(with: Swift.Result { unsafe try body() }) }
  }
}

/// Runs the calling thread's loop in a mode until the condition holds. False if it does not in time.
func run(_ mode: RunLoop.Mode = .default, until isOver: () -> Bool) -> Bool {
  let end = Date(timeIntervalSinceNow: patience)
  while !isOver() {
    if Date() > end { return false }
    run(mode, for: 2)
  }
  return true
}

/// Runs the calling thread's loop in a mode for so many milliseconds.
func run(_ mode: RunLoop.Mode = .default, for milliseconds: Int) {
  let end = Date(timeIntervalSinceNow: Double(milliseconds) / 1000)
  // Without anything in that mode the loop returns at once.
  repeat { if !RunLoop.current.run(mode: mode, before: end) { usleep(500) } } while Date() < end
}

/// Seconds of a queue's clock.
func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds) / 1e9 }

import Chime
import CoreFoundation
import Foundation
import Synchronization

/// What the tests on run loops share: a thread of their own each, waits that cannot be early, and counted objects.

/// Runs `body` on a new thread, whose run loop is nobody else's, and gives its result. Swift's own threads have no run
/// loops to block.
func onAThread<Result: Sendable>(_ body: sending @escaping () throws -> Result) async throws -> Result {
  // The body is called once, on the new thread.
  nonisolated(unsafe) let body = body
  return try await withCheckedThrowingContinuation { continuation in
    Thread.detachNewThread {
      let result = autoreleased { unsafe Swift.Result { try body() } }
      continuation.resume(with: result)
    }
  }
}

private func autoreleased<Result>(_ body: () -> Result) -> Result { body() }

/// Long enough for any machine.
let patience: TimeInterval = 30

/// Runs the calling thread's loop until the condition holds. False if it does not in time.
func run(_ mode: RunLoop.Mode = .default, until isOver: () -> Bool) -> Bool {
  let end = Date(timeIntervalSinceNow: patience)
  while !isOver() {
    if Date() > end { return false }
    turn(mode, until: Date(timeIntervalSinceNow: 0.001))
  }
  return true
}

/// Runs the calling thread's loop for that long, and once at least.
func run(_ mode: RunLoop.Mode = .default, for milliseconds: Int64) {
  let end = Date(timeIntervalSinceNow: Double(milliseconds) / 1e3)
  repeat { turn(mode, until: end) } while Date() < end
}

/// `RunLoop` returns after an input source, and at once when nothing is in the mode.
private func turn(_ mode: RunLoop.Mode, until end: Date) {
  if !RunLoop.current.run(mode: mode, before: end) { Thread.sleep(until: end) }
}

/// Makes a mode one of the common modes of the calling thread's loop, which Foundation has no call for.
func addCommonMode(_ mode: RunLoop.Mode) {
  // SAFETY: on Linux NSString has the layout of CFString; Foundation itself converts it like this.
  CFRunLoopAddCommonMode(
    CFRunLoopGetCurrent(), unsafe unsafeBitCast(NSString(string: mode.rawValue), to: CFRunLoopMode.self))
}

/// Counts, from any thread.
final class Counter: Sendable {
  private let count = Atomic<Int>(0)
  var value: Int { count.load(ordering: .sequentiallyConsistent) }
  func add(_ amount: Int = 1) { count.add(amount, ordering: .sequentiallyConsistent) }
}

/// Counts its instances.
class Counted: @unchecked Sendable {
  let alive: Counter
  init(_ alive: Counter) {
    self.alive = alive
    alive.add()
  }
  deinit { alive.add(-1) }
}

/// The same, and ends its timers at once.
final class Tokened: Counted, Target, @unchecked Sendable {
  let targetToken = TargetToken()
}

extension RunLoop.Mode {
  static let tracking = RunLoop.Mode("tracking")
}

import Chime
import ChimeTestSupport
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

/// A value behind a lock that several closures share.
final class Guarded<Value: Sendable>: Sendable {
  private let value: Locked<Value>
  init(_ value: Value) { self.value = Locked(value) }
  func withLock<Result>(_ body: (inout Value) throws -> Result) rethrows -> Result { try value.withLock(body) }
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

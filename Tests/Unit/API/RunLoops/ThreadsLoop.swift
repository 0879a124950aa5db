import ChimeTestSupport
import CoreFoundation
import Foundation

/// What the tests on run loops share: running the loop of a thread of their own.

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

extension RunLoop.Mode {
  static let tracking = RunLoop.Mode("tracking")
}

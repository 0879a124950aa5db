import Dispatch
import Foundation

/// A shared library of somebody else's, with the Swift runtime of the toolchain: a timer of its own libdispatch, and some
/// Foundation.
private nonisolated(unsafe) var timer: (any DispatchSourceTimer)?

@_cdecl("beat_start")
public func beatStart(_ count: UnsafeMutablePointer<Int32>) {
  nonisolated(unsafe) let count = count
  let made = DispatchSource.makeTimerSource(queue: DispatchQueue(label: "beat"))
  made.schedule(deadline: .now(), repeating: .milliseconds(1))
  made.setEventHandler { count.pointee += 1 }
  made.activate()
  timer = made
}

@_cdecl("beat_stop")
public func beatStop() -> Int32 {
  timer?.cancel()
  timer = nil
  return Int32("\(Date(timeIntervalSince1970: 0))".components(separatedBy: "-").count)
}

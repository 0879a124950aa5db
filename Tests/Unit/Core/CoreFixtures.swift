@testable import Chime
@testable import ChimeCore

/// What the tests of the core share: queues and timers whose handlers do not matter.
extension QueueCore {
  /// A virtual queue, to be released by the test.
  static func makeForTest(timerLimit: UInt64 = 0, honoursLeeway: Bool = false) throws -> QueueCore {
    var options = QueueOptions()
    options.timerLimit = timerLimit
    options.honoursLeeway = honoursLeeway
    let id = try makeVirtual(options)
    guard let core = find(id) else { throw Status.invalidHandle }
    return core
  }

  /// An idle timer's id.
  func makeTimer() throws(Status) -> UInt64 {
    var timer: UInt64 = 0
    let status = unsafe TimerRef.create(on: id, TimerOptions(handler: TickFunction { _, _ in }), nil, out: &timer)
    guard status == .ok else { throw status }
    return timer
  }

  func release() { _ = QueueCore.release(id) }
}

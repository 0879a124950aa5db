import Chime
import ChimeCore
import Foundation

/// Timer queues on run loops.
extension TimerQueue {
  /// A queue whose handlers run on the thread of `runLoop`, while it runs in one of `modes`.
  ///
  /// Timers wait while the loop runs in another mode, or not at all; the ticks they miss come as one tick that says how
  /// many. A handler that runs the loop again, in a mode of the queue, holds up the queue's other handlers until it
  /// returns.
  ///
  /// One Foundation `Timer` serves all timers of the queue. Foundation on Linux never frees a `Timer`, so each queue
  /// leaves about 350 bytes behind (twice that in several modes or the common ones): make few queues with many timers.
  ///
  /// - Parameters:
  ///   - runLoop: any thread's.
  ///   - modes: one or more; `.common` means all common modes of the loop.
  ///   - label: for debuggers.
  /// - Throws: `invalidArgument` without a mode, `shutDown` if the loop's thread has ended, `limit`,
  ///   `noMemory`, `resource`.
  public convenience init(
    runLoop: RunLoop, modes: [RunLoop.Mode] = [.default], label: String = ""
  ) throws {
    try self.init { () throws(Status) in
      try FoundationLoop.of(runLoop).makeQueue(in: Set(modes), QueueOptions(label: label))
    }
  }
}

extension FoundationLoop {
  /// Whether CoreFoundation can open what it needs for a loop with that many modes; if it cannot, it ends the process.
  private static func canHave(modes: Int) -> Bool {
    Descriptors.prepareDispatch() && Descriptors.areLeft(4 + 2 * modes)
  }

  /// Makes a queue on the loop and gives its id.
  package func makeQueue(in modes: Set<RunLoop.Mode>, _ options: QueueOptions) throws(Status) -> UInt64 {
    guard !modes.isEmpty, !modes.contains(RunLoop.Mode("")) else {
      throw Status.invalidArgument.because("modes is empty, or one of them is")
    }
    guard !hasEnded else { throw hasEndedStatus }
    guard FoundationLoop.canHave(modes: modes.count) else { throw .resource }
    let made = try QueueCore.make(options) { core in FoundationLoopDriver(core, self, modes) }
    // A thread that ended meanwhile may not have seen the new queue.
    if hasEnded {
      _ = QueueCore.release(made)
      throw hasEndedStatus
    }
    return made
  }
}

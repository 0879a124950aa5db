import ChimeCore
import Dispatch

/// Runs tasks on a timer queue, in turn with the handlers of its timers.
///
///     try await withTaskExecutorPreference(TimerQueueExecutor(queue)) { await work() }
///
/// On a serial queue the tasks' code and the handlers exclude each other between two suspensions. A virtual or a
/// host-driven queue runs it inside the calls that drive it. Once the queue has ended, tasks go on elsewhere.
public final class TimerQueueExecutor: TaskExecutor {
  private let queue: TimerQueue

  /// An executor that keeps its queue.
  ///
  /// - Parameter queue: any kind but one that is driven by records.
  public init(_ queue: TimerQueue) { self.queue = queue }

  /// Called by Swift: runs a part of a task on the queue.
  ///
  /// - Parameter job: the part.
  public func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let run: @Sendable () -> Void = { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    do {
      try queue.perform(run)
    } catch {
      // A job has to run, whatever becomes of the queue.
      DispatchQueue.global().async(execute: run)
    }
  }
}

import ChimeCore
import Dispatch

extension TimerQueue {
  /// Runs tasks on the queue, in turn with the handlers of its timers.
  ///
  ///     try await withTaskExecutorPreference(queue.executor) { await work() }
  ///
  /// On a serial queue the tasks' code and the handlers exclude each other between two suspensions. A virtual or a
  /// host-driven queue runs it inside the calls that drive it. Once the queue has ended, tasks go on elsewhere. The
  /// executor keeps its queue.
  public var executor: any TaskExecutor { TimerQueueExecutor(self) }
}

private final class TimerQueueExecutor: TaskExecutor {
  private let queue: TimerQueue

  init(_ queue: TimerQueue) { self.queue = queue }

  func enqueue(_ job: consuming ExecutorJob) {
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

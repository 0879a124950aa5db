import ChimeCore

/// Where tasks begin for somebody who is not there any more: with the task-local values, and the priority, that were in force
/// where this object was made. Any thread.
///
/// Only a task keeps task-local values, and only its own code passes them on. So there is one that does nothing but begin
/// others. It runs on the thread that calls `start`, inside that call: nothing waits for it, and what it begins may be
/// isolated to whom that thread belongs.
final class TaskOrigin<Occasion: Sendable>: Sendable {
  private let starts: Starts

  /// - Parameter begin: begins a task; gets what `start` was given. Called inside `start`, or where another thread's `start`
  ///   goes on; released with this object.
  init(_ begin: @escaping @Sendable (Occasion) -> Void) {
    // The task does not hold this object, which ends it.
    let starts = Starts()
    self.starts = starts
    Task(executorPreference: InlineExecutor.shared) {
      while let occasion = await starts.next() { begin(occasion) }
    }
  }

  /// Begins a task; once more only after that one has begun.
  func start(_ occasion: Occasion) { starts.change { $0.occasion = occasion } }

  deinit { starts.change { $0.hasEnded = true } }

  /// A call of `start` on its way to the task.
  private final class Starts: Sendable {
    struct State {
      /// What the call was given; `nil` if there is none.
      var occasion: Occasion?
      var hasEnded = false
      var waiting: CheckedContinuation<Occasion?, Never>?

      /// The task, if there is something to tell it: of a call, or that none will come.
      mutating func takeReady() -> (CheckedContinuation<Occasion?, Never>, Occasion?)? {
        guard let continuation = waiting, hasEnded || occasion != nil else { return nil }
        defer { (waiting, occasion) = (nil, nil) }
        return (continuation, occasion)
      }
    }

    private let state = Locked(State())

    func change(_ body: (inout State) -> Void) {
      let ready = state.withLock { state in
        body(&state)
        return state.takeReady()
      }
      if let (continuation, occasion) = ready { continuation.resume(returning: occasion) }
    }

    nonisolated(nonsending) func next() async -> Occasion? {
      await withCheckedContinuation { continuation in change { $0.waiting = continuation } }
    }
  }
}

/// Runs jobs where they are enqueued.
private final class InlineExecutor: TaskExecutor {
  static let shared = InlineExecutor()

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    // Seen like any other, so that virtual time knows whose the tasks are that the job begins.
    RunnableJobs.enqueue(job, isOwn: true, on: { $0() }) {
      unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
    }
  }
}

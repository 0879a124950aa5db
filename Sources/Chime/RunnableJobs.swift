internal import CSwiftTasks
import ChimeCore
import Dispatch
import Synchronization

/// Counts what Swift's tasks can do at this moment: the jobs that wait for a thread of the global executor, or for an actor
/// on a `SerialTimerQueue`, and those that run. When there are none, everything that could happen
/// at an instant of virtual time has happened.
///
/// The runtime's hook gives every job to Chime from the first virtual queue on. It then runs where the runtime would have
/// run it, on libdispatch's threads of its priority, and is counted until it ends. A task that yields gives its job to the
/// executor that it runs on, past the hook; here that is Chime's.
///
/// The main actor's jobs go to the main queue past all hooks. That queue is in order: once a mark that was put there has
/// had its turn, so has all that was there before. A wait puts a mark there again and again, and starts anew when a job was
/// counted meanwhile.
///
/// Jobs of other executors are not seen: those of an event loop, of dispatch queues that are executors, of tasks that sleep
/// in real time.
///
/// Time is cut into rounds. A job belongs to the round in which it became runnable, so that a round's end can be waited
/// for whatever begins later: a task that yields for ever does not hold up who waits, and no job is overtaken by a wait.
enum RunnableJobs {
  private struct State {
    /// How many jobs of each round have not ended, from the oldest round that has any.
    var rounds = [0]
    /// The number of the first of them.
    var first = 0
    var waiters: [Waiter] = []
    var isWatched = false
    /// How many jobs have been counted.
    var begun: UInt64 = 0
    /// Whether the main queue has held up a mark for longer than a job may take: nobody drains it.
    var mainStands = false

    var last: Int { first + rounds.count - 1 }

    /// Takes the waiters whose round is over, each with what it gets.
    mutating func takeReady() -> [(CheckedContinuation<Bool, Never>, Bool)] {
      while rounds.count > 1, rounds[0] == 0 {
        rounds.removeFirst()
        first += 1
      }
      if waiters.isEmpty { return [] }
      let isQuiet = rounds.count == 1 && rounds[0] == 0
      let ready = waiters.filter { isQuiet || $0.round < first }
      if ready.isEmpty { return [] }
      waiters.removeAll { isQuiet || $0.round < first }
      return ready.map { ($0.continuation, isQuiet && (mainStands || begun == $0.begun)) }
    }
  }

  private struct Waiter {
    let round: Int
    let since: ContinuousClock.Instant
    /// How many jobs had been counted when the wait began.
    let begun: UInt64
    /// Gets whether nothing is left to run, and no job was counted since the wait began.
    let continuation: CheckedContinuation<Bool, Never>
  }

  private static let state = Locked(State())
  private static let counts = Atomic<Bool>(false)

  /// How many rounds a wait takes part in while there are jobs all the time.
  private static var mostRounds: Int { 1000 }
  /// How often a mark goes through the main queue: jobs there that only lead to each other are seen up to that many.
  private static var marks: Int { 100 }
  /// A job that takes longer than that is taken to be one that waits, for real time or for somebody else.
  private static var patience: Duration { .seconds(10) }

  // MARK: Counting

  /// Has jobs counted from now on, if the runtime's hooks are free.
  static func count() {
    if counts.load(ordering: .acquiring), chime_swift_has_jobs() != 0 { return }
    let taken = unsafe chime_swift_take_jobs { job in
      if let job = unsafe job { unsafe RunnableJobs.run(UnownedJob(chimeJob: job)) }
    }
    if taken != 0 { counts.store(true, ordering: .releasing) }
  }

  /// Where jobs run that are counted. What runs on it and yields comes back to it.
  private final class Executor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { RunnableJobs.run(UnownedJob(job)) }
  }

  private static let executor = Executor()

  private static func run(_ job: UnownedJob) {
    let round = begin()
    DispatchQueue.global(qos: job.qualityOfService).async {
      unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor())
      end(round)
    }
  }

  /// Counts a job that Chime itself runs. Gives its round; `nil` if jobs are not counted.
  static func beginOwn() -> Int? { counts.load(ordering: .relaxed) ? begin() : nil }

  private static func begin() -> Int {
    state.withLock { state in
      state.rounds[state.rounds.count - 1] += 1
      state.begun += 1
      return state.last
    }
  }

  static func end(_ round: Int) {
    change { state in state.rounds[round - state.first] -= 1 }
  }

  // MARK: Waiting

  /// Returns when no job can run but the caller's, or a thousand times as many have run as there were.
  nonisolated(nonsending) static func settle() async {
    guard counts.load(ordering: .acquiring), chime_swift_has_jobs() != 0 else { return await yield() }
    for _ in 0..<mostRounds {
      if await endOfRound() { return }
    }
  }

  /// Goes through the main queue that many times, and is a job as long as it does.
  private static func mark(_ count: Int, _ round: Int) {
    DispatchQueue.main.async {
      if count > 1 { return mark(count - 1, round) }
      change { state in
        state.mainStands = false
        state.rounds[round - state.first] -= 1
      }
    }
  }

  /// Waits for the jobs that there are. Answers whether nothing is left.
  private nonisolated(nonsending) static func endOfRound() async -> Bool {
    await withCheckedContinuation { continuation in
      var (marked, watches): (Int?, Bool) = (nil, false)
      change { state in
        state.waiters.append(
          Waiter(round: state.last, since: .now, begun: state.begun, continuation: continuation))
        if !state.mainStands {
          marked = state.last
          state.rounds[state.rounds.count - 1] += 1
        }
        state.rounds.append(0)
        watches = !state.isWatched
        state.isWatched = true
      }
      if let marked { mark(marks, marked) }
      if watches { watch() }
    }
  }

  /// Changes the state, and has those go on whose waiting is over then.
  private static func change(_ body: (inout State) -> Void) {
    let ready: [(CheckedContinuation<Bool, Never>, Bool)] = state.withLock { state in
      body(&state)
      return state.takeReady()
    }
    for (continuation, isStill) in ready { continuation.resume(returning: isStill) }
  }

  /// Lets go of waiters whose round does not end because a job blocks its thread.
  private static func watch() {
    DispatchQueue.global().asyncAfter(deadline: .now() + 1) {
      let now = ContinuousClock.now
      let (late, goesOn) = state.withLock { state in
        let late = state.waiters.filter { now - $0.since > patience }
        state.waiters.removeAll { now - $0.since > patience }
        if !late.isEmpty { state.mainStands = true }
        state.isWatched = !state.waiters.isEmpty
        return (late, state.isWatched)
      }
      for waiter in late { waiter.continuation.resume(returning: true) }
      if goesOn { watch() }
    }
  }

  /// The next best, where the hooks are not to be had: others get many turns.
  private nonisolated(nonsending) static func yield() async {
    for _ in 0..<50 {
      await Task.detached(priority: .background) { await Task.yield() }.value
      await Task.yield()
    }
  }
}

extension UnownedJob {
  // SAFETY: a job is one pointer to the runtime's object.
  fileprivate init(chimeJob: UnsafeMutableRawPointer) { self = unsafe unsafeBitCast(chimeJob, to: UnownedJob.self) }

  /// The class of libdispatch's threads that the runtime runs it on.
  fileprivate var qualityOfService: DispatchQoS.QoSClass {
    switch priority.rawValue {
    case 0x21...: .userInteractive
    case 0x19...: .userInitiated
    case 0x15...: .default
    case 0x11...: .utility
    case 0x09...: .background
    default: .default
    }
  }
}

internal import CSwiftTasks
import ChimeCore
import Dispatch
import Synchronization

/// Counts what Swift's tasks can do at this moment: the jobs that wait for a thread, or for an actor on a
/// `SerialTimerQueue`, and those that run. When there are none, everything that could happen at an instant of virtual time
/// has happened.
///
/// Two hooks of the runtime give every job to Chime from the first virtual queue on: those of the global executor, and those
/// of the main actor. A job then runs where the runtime would have run it, on libdispatch's threads of its priority or on the
/// main queue, and is counted until it ends.
///
/// A task that yields gives its job to the executor that it runs on, past the hooks. Off actors that is Chime's. On an actor,
/// and after a hop from one, the runtime knows of none and takes its default executor, which gets Chime's methods for that
/// (`takeDefault`). The job waits at the task's priority, on a busy machine for long, and nothing else of the task is counted.
///
/// Where the main actor's hook is not to be had, marks that go through the main queue stand in for its jobs: that queue is in
/// order, so once a mark that was put there has had its turn, so has all that was there before.
///
/// Jobs of other executors are not seen: those of an event loop, of dispatch queues that are executors, of tasks that sleep
/// in real time.
enum RunnableJobs {
  private typealias Waiting = CheckedContinuation<QuietEnd, Never>

  private struct State {
    var census = JobCensus<Waiting>()
    var tasks = TaskScopes()
    var isWatched = false
    /// How many marks are on their way through the main queue.
    var marks = 0
  }

  private static let state = Locked(State(), inherits: false)
  private static let counts = Atomic<Bool>(false)
  private static let seesMain = Atomic<Bool>(false)

  // MARK: Counting

  /// Has jobs counted from now on, if the runtime's hooks are free.
  static func count() {
    if counts.load(ordering: .acquiring), chime_swift_has_jobs() != 0 { return }
    // SAFETY: a task is one reference to the runtime's object, which is a job.
    let newest = unsafe chime_swift_task_number(unsafeBitCast(Task {}, to: UnsafeRawPointer.self))
    state.withLock { $0.tasks.enter(after: newest) }
    let taken = unsafe chime_swift_take_jobs { job in
      if let job = unsafe job { unsafe RunnableJobs.run(UnownedJob(chimeJob: job)) }
    }
    if taken == 0 { return }
    takeDefault()
    if takeMain() { seesMain.store(true, ordering: .releasing) }
    counts.store(true, ordering: .releasing)
  }

  /// Has the jobs of tasks that yield on an actor counted, too: Swift 6.3 gives them to its default executor, past the hook.
  private static func takeDefault() {
    guard let identity = unsafe chime_swift_default_executor() else { return }
    // SAFETY: the runtime's executors are objects of Swift classes.
    let object = unsafe Unmanaged<AnyObject>.fromOpaque(identity).takeUnretainedValue()
    guard String(describing: type(of: object)) == "DispatchGlobalTaskExecutor" else { return }
    // SAFETY: a reference to an executor is two pointers, to the object and to how it is one.
    let reference = unsafe unsafeBitCast(executor.asUnownedTaskExecutor(), to: chime_swift_executor.self)
    unsafe chime_swift_take_default(reference.table)
  }

  /// Has the main actor's jobs counted, too, if the main queue runs them, and nothing else.
  private static func takeMain() -> Bool {
    guard let main = unsafe chime_swift_main_executor() else { return false }
    if chime_swift_has_main() != 0 { return true }
    // SAFETY: the runtime's executors are objects of Swift classes.
    let executor = unsafe Unmanaged<AnyObject>.fromOpaque(main).takeUnretainedValue()
    guard String(describing: type(of: executor)) == "DispatchMainExecutor" else { return false }
    // SAFETY: a reference to an executor is two pointers, to the object and to how it is one.
    let reference = unsafe unsafeBitCast(
      mainExecutor.asUnownedSerialExecutor(), to: chime_swift_executor.self)
    return unsafe chime_swift_take_main(reference) != 0
  }

  /// Where jobs run that are counted. What runs on it and yields comes back to it. Its methods stand in for those of the
  /// runtime's own executor, too, and must not use `self`.
  private final class Executor: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) { RunnableJobs.run(UnownedJob(job)) }
  }

  private static let executor = Executor()

  private static func run(_ job: UnownedJob) {
    let queue = DispatchQueue.global(qos: job.qualityOfService)
    enqueue(job, on: { queue.async(execute: $0) }) { unsafe job.runSynchronously(on: executor.asUnownedTaskExecutor()) }
  }

  /// The main actor's executor: the main queue, and counted.
  private final class MainExecutor: SerialExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
      let job = UnownedJob(job)
      RunnableJobs.enqueue(job, on: { DispatchQueue.main.async(execute: $0) }) {
        unsafe job.runSynchronously(on: self.asUnownedSerialExecutor())
      }
    }

    func asUnownedSerialExecutor() -> UnownedSerialExecutor { unsafe UnownedSerialExecutor(ordinary: self) }

    func checkIsolated() { dispatchPrecondition(condition: .onQueue(.main)) }
  }

  private static let mainExecutor = MainExecutor()

  /// Has a job run by `put`. What can still run is what has come here and has not ended; whose it is, `TaskScopes` knows.
  @inline(__always)
  static func enqueue(
    _ job: UnownedJob, on put: (@escaping @Sendable () -> Void) -> Void, _ run: @escaping @Sendable () -> Void
  ) {
    if !counts.load(ordering: .relaxed) { return put(run) }
    let number = begin(job)
    put {
      state.withLock { $0.census.run(number) }
      running(.job(number), run)
      change { state in ((), state.census.end(number)) }
    }
  }

  private static func begin(_ job: UnownedJob) -> Int {
    let task = unsafe chime_swift_task_number(job.chimeJob)
    let current = unsafe chime_swift_task_number(chime_swift_current_task())
    let thread = JobThread(number: chime_swift_thread_number())
    return change { state in
      let maker: JobMaker =
        switch thread {
        case .other: .unknown
        case .job(let job): state.census.maker(of: job)
        case .handlers(let number): .scope(JobScope(number: number, isCertain: true))
        }
      let scope = state.tasks.scopeOfJob(of: task, by: current, on: maker)
      return state.census.begin(scope, task: task, on: thread.job)
    }
  }

  /// Runs a job, so that what it puts on executors is known to come from it.
  private static func running(_ thread: JobThread, _ body: () -> Void) {
    let previous = chime_swift_set_thread_number(thread.number)
    body()
    _ = chime_swift_set_thread_number(previous)
  }

  // MARK: Whose

  /// The tests whose jobs a virtual queue waits for: of the task that made it, and of those that move its time.
  final class Tests: Sendable {
    fileprivate let numbers: Locked<[UInt32]>

    /// - Parameter isVirtual: whether there will ever be somebody who waits.
    init(isVirtual: Bool) {
      if !isVirtual {
        numbers = Locked([])
        return
      }
      let task = unsafe chime_swift_task_number(chime_swift_current_task())
      numbers = Locked([state.withLock { $0.tasks.test(of: task) }])
    }

    /// Adds the calling task's.
    fileprivate func join() -> [UInt32] {
      let own = adopt()
      return numbers.withLock { numbers in
        if !numbers.contains(own) { numbers.append(own) }
        return numbers
      }
    }

    /// Takes the calling task for one of the first test's, unless it is known to be another's. Gives the test that it is of.
    @discardableResult
    fileprivate func adopt() -> UInt32 {
      let task = unsafe chime_swift_task_number(chime_swift_current_task())
      let numbers = numbers.withLock { $0 }
      return state.withLock { state in
        if let scope = state.tasks.scope(of: task), scope.number != 0,
          scope.isCertain || numbers.contains(scope.number)
        {
          return scope.number
        }
        state.tasks.set(task, numbers[0])
        return numbers[0]
      }
    }

    /// Runs a part of an advance on a thread that runs no task.
    func running(_ body: () -> Void) {
      RunnableJobs.running(.handlers(of: numbers.withLock { $0[0] }), body)
    }
  }

  /// A task is about to sleep on a queue.
  static func sleep(on queue: AnyTimerQueue) {
    if counts.load(ordering: .relaxed) { queue.virtualTime?.testsOfTasks?.adopt() }
  }

  // MARK: Waiting

  /// Returns when no job can run but the caller's. Gives an error if that cannot be had.
  nonisolated(nonsending) static func settle(_ tests: Tests) async -> ChimeError? {
    guard counts.load(ordering: .acquiring), chime_swift_has_jobs() != 0 else {
      await yield()
      return nil
    }
    let scopes = tests.join()
    let seesMain = seesMain.load(ordering: .acquiring) && chime_swift_has_main() != 0
    for _ in 0..<mostRounds {
      if !seesMain { mark() }
      let ending = await withCheckedContinuation { continuation in
        let watches = change { state in
          defer { state.isWatched = true }
          return (!state.isWatched, state.census.wait(for: scopes, continuation))
        }
        if watches { watch() }
      }
      switch ending {
      case .quiet(let begun): if seesMain || begun == 0 { return nil }
      case .endless:
        let most = JobCensus<Never>.most
        return ChimeError(
          .limit, "more than \(most) jobs led to each other at one instant of virtual time, without end")
      case .stuck:
        return ChimeError(
          .limit, "a task has held its thread, or waited for one, for 10 s at one instant of virtual time")
      }
    }
    return ChimeError(.limit, "tasks led to each other through the main queue \(mostRounds) times, without end")
  }

  /// Changes the state, and has those go on whose waiting is over then.
  @discardableResult
  private static func change<Value>(_ body: (inout State) -> (Value, [(Waiting, QuietEnd)])) -> Value {
    let (value, ready) = state.withLock { body(&$0) }
    if ready.isEmpty { return value }
    // They go on by themselves, not for the job that happened to be the last.
    let previous = chime_swift_set_thread_number(0)
    for (continuation, ending) in ready { continuation.resume(returning: ending) }
    _ = chime_swift_set_thread_number(previous)
    return value
  }

  /// A thread that no job can hold up.
  private static let watching = DispatchQueue(label: "chime.jobs", qos: .userInitiated)

  /// Lets go of those who wait for what does not end.
  private static func watch() {
    watching.asyncAfter(deadline: .now() + .milliseconds(JobCensus<Never>.tick)) {
      let goesOn = change { state in
        let ready = state.census.passTick()
        state.isWatched = state.census.isWaitedFor
        return (state.isWatched, ready)
      }
      if goesOn { watch() }
    }
  }

  // MARK: Without the hooks

  /// How many times a wait goes on while marks go through the main queue and jobs come from there.
  private static var mostRounds: Int { 1000 }
  /// How often a mark goes through the main queue: jobs there that only lead to each other are seen up to that many.
  private static var turns: Int { 100 }
  /// Anybody waits for it.
  private static var markScope: JobScope { JobScope(number: .max, isCertain: false) }

  /// Goes through the main queue, and is a job as long as it does. One at a time while nobody drains that queue.
  private static func mark() {
    let job: Int? = change { state in
      if state.marks > 1000 { return (nil, []) }
      state.marks += 1
      // Like a task of whom nobody knows where it has been.
      let (job, ready) = state.census.begin(markScope, task: .max)
      return (job, ready)
    }
    if let job { mark(job, turns) }
  }

  private static func mark(_ job: Int, _ count: Int) {
    DispatchQueue.main.async {
      if count > 1 { return mark(job, count - 1) }
      change { state in
        state.marks -= 1
        return ((), state.census.end(job))
      }
    }
  }

  /// The next best, where no hook is to be had: others get many turns.
  private nonisolated(nonsending) static func yield() async {
    for _ in 0..<50 {
      await Task.detached(priority: .background) { await Task.yield() }.value
      await Task.yield()
    }
  }
}

/// What a thread runs, as it is kept in the thread.
private enum JobThread {
  case other
  case job(Int)
  case handlers(of: UInt32)

  init(number: UInt64) {
    switch number & 3 {
    case 1: self = .job(Int(number >> 2))
    case 2: self = .handlers(of: UInt32(number >> 2))
    default: self = .other
    }
  }

  /// 0 is none.
  var number: UInt64 {
    switch self {
    case .other: 0
    case .job(let job): UInt64(job) << 2 | 1
    case .handlers(let number): UInt64(number) << 2 | 2
    }
  }

  var job: Int? { if case .job(let job) = self { job } else { nil } }
}

extension UnownedJob {
  // SAFETY: a job is one pointer to the runtime's object.
  fileprivate init(chimeJob: UnsafeMutableRawPointer) { self = unsafe unsafeBitCast(chimeJob, to: UnownedJob.self) }

  // SAFETY: as above.
  fileprivate var chimeJob: UnsafeRawPointer { unsafe unsafeBitCast(self, to: UnsafeRawPointer.self) }

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

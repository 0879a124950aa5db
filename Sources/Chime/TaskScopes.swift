/// What a thread runs, as far as its jobs are concerned.
package enum JobMaker: Hashable, Sendable {
  case unknown
  /// A job of this task, or what an actor that the task has left goes on with on its thread.
  case task(UInt64)
  /// An actor's job, or handlers.
  case scope(JobScope)
}

/// Knows which test began a task: that of the task that made it, and so on up to the one that made a virtual queue.
///
/// A task is entered when its first job is seen, on the thread of the task that makes it. The table has a fixed size; what
/// falls out of it counts as anybody's.
package struct TaskScopes {
  private struct Entry {
    var task: UInt64 = 0
    var scope = JobScope(number: 0, isCertain: false)
  }

  private var entries: [Entry] = []
  /// The last task that began before tasks were entered, and the last one that was.
  private var (last, newest): (UInt64, UInt64) = (0, 0)
  private var numbers: UInt32 = 0

  package init() {}

  private static var size: UInt64 { 1 << 15 }

  /// - Parameter task: the last one so far.
  package mutating func enter(after task: UInt64) {
    if entries.isEmpty { entries = Array(repeating: Entry(), count: Int(Self.size)) }
    if last == 0 { (last, newest) = (task, max(newest, task)) }
  }

  package func scope(of task: UInt64) -> JobScope? {
    if task == 0 || entries.isEmpty { return nil }
    let entry = entries[Int(task % Self.size)]
    if entry.task == task { return entry.scope }
    return task <= last ? JobScope(number: 0, isCertain: true) : nil
  }

  /// The scope of a job that is about to be queued.
  ///
  /// - Parameters:
  ///   - task: the one it is a part of; 0 for none.
  ///   - current: the task that the thread runs, which is the creator if `task` is new; 0 for none.
  ///   - thread: whose job the thread runs.
  package mutating func scopeOfJob(of task: UInt64, by current: UInt64, on thread: JobMaker) -> JobScope {
    if let known = scope(of: task) { return known }
    let maker = scopeOfMaker(current, on: thread)
    // A new task has the largest number so far. Others have been out of sight, on an actor, say: this thread may be just
    // the one that wakes them.
    let isNew = task > newest && maker.isCertain
    let scope = JobScope(number: maker.number, isCertain: isNew)
    enter(task, scope)
    return scope
  }

  /// The scope of what makes a job, certain if it makes its own work only.
  private mutating func scopeOfMaker(_ current: UInt64, on thread: JobMaker) -> JobScope {
    if let known = scope(of: current) { return known }
    let nobody = JobScope(number: 0, isCertain: false)
    switch thread {
    case .scope(let scope) where current == 0: return scope
    case .unknown where current == 0: return nobody
    case .unknown: return enter(current, nobody)
    case .scope(let scope): return enter(current, JobScope(number: scope.number, isCertain: false))
    case .task(let task):
      // A task that has begun inside of the thread's, at once, and has not been seen; or one that an actor went on with.
      let scope = JobScope(number: scope(of: task)?.number ?? 0, isCertain: false)
      return current == 0 ? scope : enter(current, scope)
    }
  }

  @discardableResult
  private mutating func enter(_ task: UInt64, _ scope: JobScope) -> JobScope {
    newest = max(newest, task)
    if task != 0, !entries.isEmpty { entries[Int(task % Self.size)] = Entry(task: task, scope: scope) }
    return scope
  }

  /// The test that a task belongs to from now on, with all the tasks that it makes: the one it has, or a new one.
  package mutating func test(of task: UInt64) -> UInt32 {
    if let scope = scope(of: task), scope.number != 0 { return scope.number }
    numbers += 1
    set(task, numbers)
    return numbers
  }

  package mutating func set(_ task: UInt64, _ number: UInt32) {
    if task == 0 || entries.isEmpty { return }
    newest = max(newest, task)
    entries[Int(task % Self.size)] = Entry(task: task, scope: JobScope(number: number, isCertain: true))
  }
}

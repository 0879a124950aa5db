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
  ///   - creator: the task that the thread runs, which is the creator if `task` is new.
  ///   - thread: the scope of what else the thread runs.
  package mutating func scopeOfJob(of task: UInt64, by creator: UInt64, on thread: JobScope?) -> JobScope {
    if let known = scope(of: task) { return known }
    let around = scope(of: creator) ?? (creator == 0 ? thread : nil)
    let hint = around ?? thread ?? JobScope(number: 0, isCertain: false)
    // A new task has the largest number so far. Others have been out of sight, on an actor, say: this thread may be just
    // the one that wakes them.
    let isNew = task > newest && around?.isCertain == true
    newest = max(newest, task)
    let scope = JobScope(number: hint.number, isCertain: isNew)
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

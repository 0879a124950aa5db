/// Who began a job.
package struct JobScope: Hashable, Sendable {
  /// The test; 0 for none.
  package var number: UInt32
  /// Whether no other test's work can be in the job. An actor's job can have anybody's.
  package var isCertain: Bool

  package init(number: UInt32, isCertain: Bool) { (self.number, self.isCertain) = (number, isCertain) }
}

/// How a wait ends.
package enum QuietEnd: Equatable {
  /// No job is live. So many began meanwhile, whoever began them.
  case quiet(begun: Int)
  /// The waiter's jobs led to each other, without end.
  case endless
  /// One of the waiter's jobs blocks its thread, or never gets one.
  case stuck
}

/// Counts the jobs that wait for a thread or run, by the test that began them, and says whose waiting is over: the pure part
/// of `RunnableJobs`, which has a lock around it.
///
/// A wait is over when none of the waiter's jobs is live, and no job of others is left in which work of the waiter's may be
/// hidden. Work hides where an actor is: a task that comes to an actor while another job runs that waits there, and nothing
/// else shows it. So others' jobs count, each since a moment:
/// - a task's of another test since it runs, because only a running task has an actor;
/// - an actor's own, and those of tasks of whom it is not known whether they are the waiter's, from when they begin, since the
///   moment of the job on whose thread they were begun: what that had, an actor for one, may have gone on to them.
///
/// What counts since a later moment than the last at which one of the waiter's jobs was live holds nothing of the waiter's:
/// others that go on and on are not waited for. A task that leaves one actor for another, unseen, may come to a job that
/// counts since later. So that last moment is moved to the end of what was waited for, `rounds` times, or `quickRounds` times
/// while no tick has passed.
///
/// Others' jobs that have gone on for `patience` are not waited for, nor what is left after `longest`; the waiter's own are
/// reported when they block for `blocks`.
///
/// Tests side by side begin and end jobs all the time, so none of this may cost more the more tests there are: others' jobs
/// stand in the order of their moments, and waiters are looked at only when the first of those can make one ready.
package struct JobCensus<Waiting> {
  /// Names a live job.
  package typealias Index = Int

  private struct Job {
    let scope: JobScope
    let task: UInt64
    /// The moment since which it counts for others.
    var since = 0
    /// The tick at which that began.
    var start = 0
    /// For how many ticks the jobs had gone on that led to it.
    var age = 0
    /// Whether it is in the list of those that count for others.
    var isLinked = false
    var previous = -1
    var next = -1
  }

  private struct Share {
    var live = 0
    /// How many of them are known to block their threads.
    var stuck = 0
    /// How many began since the last wait for them did.
    var begun = 0
    /// For how many ticks none has begun or ended.
    var pause = 0
    var waiters = 0
    /// When the last one ended.
    var idle = 0
  }

  private struct Waiter {
    let scopes: [UInt32]
    /// How many jobs had begun before.
    let begun: Int
    let waiting: Waiting
    /// The last moment at which work of the waiter's may have hidden.
    var start: Int
    var rounds = 0
    var hasSeenOthers = false
    /// In ticks.
    var age = 0
  }

  private var jobs: [Job] = []
  private var free: [Index] = []
  /// Those that count for others, by `since`.
  private var (first, last) = (-1, -1)
  private var shares: [UInt32: Share] = [:]
  private var waiters: [Waiter] = []
  /// No waiter that only waits for others' jobs waits for those since a later moment than this.
  private var soonest = Int.max
  private var (moment, ticks, begun) = (0, 0, 0)

  package init() {}

  /// Real time between two ticks, in milliseconds.
  package static var tick: Int { 20 }
  /// For how many ticks another test's job is waited for, or a row of jobs that lead to each other: longer than a thread waits
  /// for its processor.
  package static var patience: Int { 150 }
  /// How many ticks a job may take and still be a part of such a row.
  package static var short: Int { 5 }
  /// For how many ticks a wait lasts because of others.
  package static var longest: Int { 300 }
  /// How many times a waiter's work may move from one job of others to another, unseen.
  package static var rounds: Int { 3 }
  /// The same while that takes next to no time.
  package static var quickRounds: Int { 30 }
  /// After how many ticks in which no job of the waiter's begins or ends they are taken to block: 10 s.
  package static var blocks: Int { 500 }
  /// How many of its own jobs a wait may see.
  package static var most: Int { 1_000_000 }

  package var isWaitedFor: Bool { !waiters.isEmpty }

  // MARK: Jobs

  /// What the thread runs that runs a job.
  package func maker(of job: Index) -> JobMaker {
    jobs[job].task == 0 ? .scope(jobs[job].scope) : .task(jobs[job].task)
  }

  /// - Parameters:
  ///   - task: the one that it is a part of; 0 for none.
  ///   - thread: the job that runs on the thread; `nil` for none.
  package mutating func begin(
    _ scope: JobScope, task: UInt64, on thread: Index? = nil
  ) -> (job: Index, ready: [(Waiting, QuietEnd)]) {
    begun += 1
    moment += 1
    let job = free.popLast() ?? jobs.count
    if job == jobs.count {
      jobs.append(Job(scope: scope, task: task))
    } else {
      jobs[job] = Job(scope: scope, task: task)
    }
    if countsAtOnce(job) { count(job, from: thread) }
    var share = shares[scope.number] ?? Share()
    share.live += 1
    share.pause = 0
    share.begun += 1
    shares[scope.number] = share
    return (job, share.begun == Self.most + 1 ? takeReady() : [])
  }

  /// Whether it may have anybody's work in it before it runs. The tasks of no test may be of one that has not waited so far.
  private func countsAtOnce(_ job: Index) -> Bool { !jobs[job].scope.isCertain || jobs[job].scope.number == 0 }

  private mutating func count(_ job: Index, from thread: Index?) {
    (jobs[job].since, jobs[job].start) = (moment, ticks)
    guard let thread else { return link(job) }
    jobs[job].since = jobs[thread].since
    // Short jobs that lead to each other without end are one that goes on. After a long one, others begin anew; so does
    // what comes out of an actor, or into one: it is not what has kept the actor busy.
    let length = ticks - jobs[thread].start
    if length < Self.short, jobs[job].scope.isCertain || jobs[job].task == jobs[thread].task {
      jobs[job].age = jobs[thread].age + length
    }
    if jobs[job].age < Self.patience { link(job, after: thread) }
  }

  /// The job begins to run.
  package mutating func run(_ job: Index) {
    if countsAtOnce(job) { return }
    moment += 1
    (jobs[job].since, jobs[job].start) = (moment, ticks)
    link(job)
  }

  package mutating func end(_ job: Index) -> [(Waiting, QuietEnd)] {
    moment += 1
    let number = jobs[job].scope.number
    if jobs[job].isLinked { takeOut(job) }
    free.append(job)
    guard var share = shares[number], share.live > 0 else { preconditionFailure("no such job") }
    share.live -= 1
    share.pause = 0
    share.stuck = min(share.stuck, share.live)
    share.idle = moment
    shares[number] = share.live == 0 && share.waiters == 0 ? nil : share
    if share.waiters > 0, share.live <= share.stuck { return takeReady() }
    return first < 0 || jobs[first].since > soonest ? takeReady() : []
  }

  private mutating func link(_ job: Index, after thread: Index = -1) {
    let since = jobs[job].since
    var previous = last
    if thread >= 0, jobs[thread].isLinked {
      previous = thread
    } else if last >= 0, jobs[last].since > since {
      // What is older than all that has come since has gone on outside of the list.
      previous = -1
      var next = first
      while jobs[next].since <= since { (previous, next) = (next, jobs[next].next) }
    }
    let next = previous < 0 ? first : jobs[previous].next
    jobs[job].isLinked = true
    (jobs[job].previous, jobs[job].next) = (previous, next)
    if previous < 0 { first = job } else { jobs[previous].next = job }
    if next < 0 { last = job } else { jobs[next].previous = job }
  }

  private mutating func takeOut(_ job: Index) {
    let (previous, next) = (jobs[job].previous, jobs[job].next)
    if previous < 0 { first = next } else { jobs[previous].next = next }
    if next < 0 { last = previous } else { jobs[next].previous = previous }
    jobs[job].isLinked = false
  }

  // MARK: Waiting

  /// - Parameter scopes: the numbers of those whose jobs are the waiter's.
  package mutating func wait(for scopes: [UInt32], _ waiting: Waiting) -> [(Waiting, QuietEnd)] {
    var waiter = Waiter(scopes: scopes, begun: begun, waiting: waiting, start: moment)
    for scope in scopes { shares[scope]?.begun = 0 }
    if let end = end(of: &waiter) { return [(waiting, end)] }
    for scope in scopes { shares[scope, default: Share()].waiters += 1 }
    waiters.append(waiter)
    return []
  }

  /// Real time goes by, while somebody waits.
  package mutating func passTick() -> [(Waiting, QuietEnd)] {
    ticks += 1
    for number in shares.keys {
      shares[number]!.pause += 1
      if shares[number]!.pause >= Self.blocks { shares[number]!.stuck = shares[number]!.live }
    }
    var next = first
    while next >= 0 {
      let job = next
      next = jobs[job].next
      if ticks - jobs[job].start + jobs[job].age >= Self.patience { takeOut(job) }
    }
    for index in waiters.indices { waiters[index].age += 1 }
    return takeReady()
  }

  private mutating func takeReady() -> [(Waiting, QuietEnd)] {
    var ready: [(Waiting, QuietEnd)] = []
    var others: [Waiter] = []
    soonest = .max
    for var waiter in waiters {
      guard let end = end(of: &waiter) else {
        others.append(waiter)
        continue
      }
      ready.append((waiter.waiting, end))
      for scope in waiter.scopes {
        shares[scope]!.waiters -= 1
        if shares[scope]!.live == 0, shares[scope]!.waiters == 0 { shares[scope] = nil }
      }
    }
    waiters = others
    return ready
  }

  private mutating func end(of waiter: inout Waiter) -> QuietEnd? {
    var isStuck = false
    var hidden = waiter.start
    for scope in waiter.scopes {
      guard let share = shares[scope] else { continue }
      if share.begun > Self.most { return .endless }
      if share.live > share.stuck { return nil }
      if share.live > 0 { isStuck = true }
      hidden = max(hidden, share.idle)
    }
    if isStuck { return .stuck }
    while waiter.age < Self.longest {
      if first >= 0, jobs[first].since <= hidden {
        waiter.hasSeenOthers = true
        soonest = min(soonest, hidden)
        return nil
      }
      let most = waiter.age == 0 ? Self.quickRounds : Self.rounds
      if !waiter.hasSeenOthers || waiter.rounds >= most { break }
      waiter.hasSeenOthers = false
      waiter.rounds += 1
      waiter.start = moment
      hidden = moment
    }
    return .quiet(begun: begun - waiter.begun)
  }
}

/// Who began a job.
package struct JobScope: Equatable, Sendable {
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
/// A wait is over at the first moment at which no job is live, whoever began it. At such a moment nothing can be hidden: a
/// task that waits for an actor is as live as the job that the actor runs. Tests side by side hold each other up no longer
/// than their work takes, since each of them comes to its own wait.
///
/// Two kinds of jobs are not waited for: those that another test began and that have been live without a pause for
/// `patience`, and those that block a thread, which the wait reports.
package struct JobCensus<Waiting> {
  private struct Share {
    let scope: JobScope
    var live = 1
    /// How many of them are known to block their threads.
    var stuck = 0
    /// How many began since the last wait for them did.
    var begun = 1
    /// For how many ticks there has been one at every moment.
    var age = 0
    /// For how many ticks none has begun or ended.
    var pause = 0
  }

  private struct Waiter {
    let scopes: [UInt32]
    /// How many jobs had begun before.
    let begun: Int
    let waiting: Waiting
  }

  /// Of each scope that has live jobs.
  private var shares: [Share] = []
  private var waiters: [Waiter] = []
  private var begun = 0

  package init() {}

  /// Real time between two ticks, in milliseconds.
  package static var tick: Int { 20 }
  /// For how many ticks another test's jobs are waited for: longer than a thread waits for its processor, so that an actor
  /// that tests share is let go of by then.
  package static func patience(with scope: JobScope) -> Int { scope.isCertain ? 10 : 50 }
  /// After how many ticks in which no job of the waiter's begins or ends they are taken to block: 10 s.
  package static var blocks: Int { 500 }
  /// How many of its own jobs a wait may see.
  package static var most: Int { 1_000_000 }

  package var isWaitedFor: Bool { !waiters.isEmpty }

  package mutating func begin(_ scope: JobScope) -> [(Waiting, QuietEnd)] {
    begun += 1
    guard let index = shares.firstIndex(where: { $0.scope == scope }) else {
      shares.append(Share(scope: scope))
      return []
    }
    shares[index].live += 1
    shares[index].begun += 1
    shares[index].pause = 0
    return shares[index].begun == Self.most + 1 ? takeReady() : []
  }

  package mutating func end(_ scope: JobScope) -> [(Waiting, QuietEnd)] {
    guard let index = shares.firstIndex(where: { $0.scope == scope }) else { preconditionFailure("no such job") }
    shares[index].live -= 1
    shares[index].pause = 0
    shares[index].stuck = min(shares[index].stuck, shares[index].live)
    if shares[index].live > shares[index].stuck { return [] }
    if shares[index].live == 0 { shares.remove(at: index) }
    return takeReady()
  }

  /// - Parameter scopes: the numbers of those whose jobs are the waiter's.
  package mutating func wait(for scopes: [UInt32], _ waiting: Waiting) -> [(Waiting, QuietEnd)] {
    for index in shares.indices where scopes.contains(shares[index].scope.number) { shares[index].begun = 0 }
    waiters.append(Waiter(scopes: scopes, begun: begun, waiting: waiting))
    return takeReady()
  }

  /// Real time goes by, while somebody waits.
  package mutating func passTick() -> [(Waiting, QuietEnd)] {
    for index in shares.indices {
      shares[index].age += 1
      shares[index].pause += 1
      if shares[index].pause >= Self.blocks { shares[index].stuck = shares[index].live }
    }
    return takeReady()
  }

  private mutating func takeReady() -> [(Waiting, QuietEnd)] {
    if waiters.isEmpty { return [] }
    var ready: [(Waiting, QuietEnd)] = []
    var others: [Waiter] = []
    for waiter in waiters {
      if let end = end(of: waiter) { ready.append((waiter.waiting, end)) } else { others.append(waiter) }
    }
    if !ready.isEmpty { waiters = others }
    return ready
  }

  private func end(of waiter: Waiter) -> QuietEnd? {
    var (isStuck, waits) = (false, false)
    for share in shares {
      if waiter.scopes.contains(share.scope.number) {
        if share.begun > Self.most { return .endless }
        if share.live > share.stuck { waits = true }
        isStuck = true
      } else if share.age < Self.patience(with: share.scope) {
        waits = true
      }
    }
    if waits { return nil }
    return isStuck ? .stuck : .quiet(begun: begun - waiter.begun)
  }
}

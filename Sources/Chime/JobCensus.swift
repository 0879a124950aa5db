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
/// A wait is over at the first moment at which no job is live, whoever began it. At such a moment nothing can be hidden: a
/// task that waits for an actor is as live as the job that the actor runs. Tests side by side hold each other up no longer
/// than their work takes, since each of them comes to its own wait.
///
/// Two kinds of jobs are not waited for: those that another test began and that have been live without a pause for
/// `patience`, and those that block a thread, which the wait reports.
///
/// Tests side by side begin and end jobs all the time, so neither may cost more the more tests there are: a share is found
/// by its scope, and waiters are looked at only when so few shares are young that one of them can be ready.
package struct JobCensus<Waiting> {
  private struct Share {
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
  private var shares: [JobScope: Share] = [:]
  /// How many of them other tests wait for: those whose age is below `patience`.
  private var young = 0
  private var waiters: [Waiter] = []
  /// The largest number of scopes that a waiter has.
  private var widest = 0
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
    guard var share = shares[scope] else {
      shares[scope] = Share()
      young += 1
      return []
    }
    share.live += 1
    share.begun += 1
    share.pause = 0
    shares[scope] = share
    return share.begun == Self.most + 1 ? takeReady() : []
  }

  package mutating func end(_ scope: JobScope) -> [(Waiting, QuietEnd)] {
    guard var share = shares[scope] else { preconditionFailure("no such job") }
    share.live -= 1
    share.pause = 0
    share.stuck = min(share.stuck, share.live)
    if share.live > 0 {
      shares[scope] = share
    } else {
      shares[scope] = nil
      if share.age < Self.patience(with: scope) { young -= 1 }
    }
    // A waiter is ready when no share is young but its own, of which there are two for each of its scopes.
    return share.live > share.stuck || young > 2 * widest ? [] : takeReady()
  }

  /// - Parameter scopes: the numbers of those whose jobs are the waiter's.
  package mutating func wait(for scopes: [UInt32], _ waiting: Waiting) -> [(Waiting, QuietEnd)] {
    let waiter = Waiter(scopes: scopes, begun: begun, waiting: waiting)
    for scope in own(waiter) { shares[scope]?.begun = 0 }
    if let end = end(of: waiter) { return [(waiting, end)] }
    waiters.append(waiter)
    widest = max(widest, scopes.count)
    return []
  }

  /// Real time goes by, while somebody waits.
  package mutating func passTick() -> [(Waiting, QuietEnd)] {
    for (scope, var share) in shares {
      share.age += 1
      share.pause += 1
      if share.pause >= Self.blocks { share.stuck = share.live }
      if share.age == Self.patience(with: scope) { young -= 1 }
      shares[scope] = share
    }
    return takeReady()
  }

  private mutating func takeReady() -> [(Waiting, QuietEnd)] {
    var ready: [(Waiting, QuietEnd)] = []
    var others: [Waiter] = []
    for waiter in waiters {
      if let end = end(of: waiter) { ready.append((waiter.waiting, end)) } else { others.append(waiter) }
    }
    if ready.isEmpty { return [] }
    waiters = others
    if others.isEmpty { widest = 0 }
    return ready
  }

  /// The scopes of the waiter's own jobs that have live ones.
  private func own(_ waiter: Waiter) -> [JobScope] {
    var scopes: [JobScope] = []
    for number in waiter.scopes {
      for isCertain in [true, false] {
        let scope = JobScope(number: number, isCertain: isCertain)
        if shares[scope] != nil { scopes.append(scope) }
      }
    }
    return scopes
  }

  private func end(of waiter: Waiter) -> QuietEnd? {
    var othersYoung = young
    var (isStuck, waits) = (false, false)
    for scope in own(waiter) {
      guard let share = shares[scope] else { continue }
      if share.begun > Self.most { return .endless }
      if share.live > share.stuck { waits = true }
      if share.age < Self.patience(with: scope) { othersYoung -= 1 }
      isStuck = true
    }
    if waits || othersYoung > 0 { return nil }
    return isStuck ? .stuck : .quiet(begun: begun - waiter.begun)
  }
}
